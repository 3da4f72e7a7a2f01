"""
allocate: places the pending tasks of jobs, a job as a whole until it is ready (scheduler.md 11.2).

Identical tasks that follow each other are placed as one run; the outcome is that of one task after the other. Jobs
that limit how far apart their pods may lie, or have sub-groups, go by the search among domains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.decisions import Evict
from scheduler.fairness.ordering import RankedQueue
from scheduler.gates import is_behind_queue
from scheduler.placing.fiterrors import FitErrors
from scheduler.placing.interleaving import Interleaving
from scheduler.placing.placer import Placer
from scheduler.statement import Placement, operation_job
from scheduler.topology.nomination import redeem
from scheduler.topology.search import Search
from scheduler.topology.worksheet import JobSheet, Worksheet, can_be_placed, in_turn, job_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.statement import Operation, Statement
    from scheduler.topology.search import Plan


def allocate(session: Session) -> None:
    """Go through queues and jobs in order, until none can take more in this cycle."""
    Allocation(session).run()


class Allocation:
    """One run of the action."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.placer = Placer(session)
        self.search = Search(session, self.placer)
        self.worksheets: dict[str, Worksheet] = {}
        self.divided: dict[str, JobSheet] = {}
        """The worksheets of jobs that are placed by the search among domains."""
        self.visited: dict[str, Job] = {}
        """The undivided jobs that had their turn."""
        self.turns = session.turns("allocate")

    def run(self) -> None:
        """Serve all jobs but those that sleep, and those that had their turn in an earlier cycle of a round."""
        session, dormancy = self.session, self.session.memory.dormancy
        began, decided = len(session.discarded), len(session.decisions)
        taken_up = self._take_up()
        dormancy.wake((*taken_up, *session.phases, *session.newly_tried()))
        dormancy.begin(session)
        self._serve(
            self._jobs_by_queue(
                job
                for job in session.open_jobs()
                if job.id not in dormancy and (self.turns.may(job) or job.id in taken_up)
            )
        )
        is_quiet = len(session.decisions) == decided and not session.kept
        dormancy.settle(session, self.visited.values(), began, is_quiet=is_quiet)
        session.pass_over(self.visited, began)

    def _serve(self, jobs: dict[str, JobQueue]) -> None:
        """Serve queues by rank; within one, jobs by rank."""
        session = self.session
        queues = RankedQueue(session.queue_ranking(), (session.cluster.queues[name] for name in sorted(jobs)))
        interleaving = Interleaving(session, self.worksheets, self.placer.has_failed)
        while queues and not session.expired():
            decided = len(session.decisions)
            if interleaving.place(queues, lambda name: jobs[name].by_rank):
                self.turns.take(*{decision.task.job for decision in session.decisions[decided:]})
                continue
            queue = queues.pop()
            waiting = jobs[queue.name]
            if not waiting:
                continue
            if session.overused(queue):
                self._hold_back(queue, waiting)
                continue
            job = waiting.pop()
            self.placer.in_one_go = queues.stays_first(queue) and waiting.stays_first(job)
            if self._give_turn(queue, job):
                waiting.push(job)
            queues.push(queue)

    def _hold_back(self, queue: Queue, waiting: JobQueue) -> None:
        """Tell the jobs of a queue that is over its share that they get nothing in this cycle, for that reason."""
        while waiting:
            job = waiting.pop()
            self.turns.take(job.id)
            if job.id not in self.divided:
                self.visited[job.id] = job
            for task in filter(can_be_placed, job.pending.values()):
                self.session.set_fit_error(task, FitErrors(base=self.session.queue_message(queue, task)))

    # The jobs.

    def _take_up(self) -> set[str]:
        """
        Make pods pending again that actions before this one put where nobody has to leave for them; their jobs.

        These actions only keep room, and would keep it anew in every cycle: nothing would ever start (see `kept`).
        """
        session = self.session
        served = {decision.beneficiary for decision in session.decisions if isinstance(decision, Evict)}
        put_aside: list[Operation] = []
        others: list[Operation] = []
        for operation in session.kept:
            is_free = isinstance(operation, Placement) and operation_job(operation) not in served
            (put_aside if is_free else others).append(operation)
        session.kept[:] = others
        for operation in reversed(put_aside):
            session.take_back(operation)
        session.settle_journal()
        jobs = {operation_job(operation) for operation in put_aside}
        for job in sorted(jobs):
            session.nominations.keep_again(job)
        return jobs

    def _jobs_by_queue(self, waiting: Iterable[Job]) -> dict[str, JobQueue]:
        session = self.session
        jobs: dict[str, list[Job]] = {}
        for job in waiting:
            if session.is_pending(job):
                if "enqueue" in session.configuration.actions:
                    continue
                session.phases[job.id] = "Inqueue"
            if not job.pending or session.job_valid(job) is not None:
                continue
            if self._lay_out(job):
                jobs.setdefault(job.queue, []).append(job)
        for members in jobs.values():
            self.turns.wait(members)
        return {name: JobQueue(session, members) for name, members in jobs.items()}

    def _lay_out(self, job: Job) -> bool:
        """Make the worksheet of a job; whether there is anything to be placed."""
        session = self.session
        if session.topology.concerns(job):
            obstacle = session.topology.obstacle(job)
            if obstacle:
                session.job_messages[job.id] = obstacle
                return False
            session.topology.grouping(job)
            sheet = job_sheet(session, job)
            self.divided[job.id] = sheet
            return bool(sheet) or any(map(is_behind_queue, job.pending.values()))
        tasks = [task for task in job.pending.values() if can_be_placed(task)]
        if tasks:
            self.worksheets[job.id] = Worksheet(job, in_turn(session, tasks))
        return bool(tasks)

    # One visit.

    def _give_turn(self, queue: Queue, job: Job) -> bool:
        """
        Visit a job; whether it is to be visited again.

        A visit may try a single task. The job had its turn when it got something, or when nothing is left to be tried,
        or when it makes the action fail: else those of its tasks that come first could keep the others waiting for ever.
        """
        session, goes_on = self.session, False
        decided = len(session.decisions)
        try:
            if not session.memory.dormancy.doze_off(session, job):
                with session.nominations.lifted(job.id):
                    goes_on = self._visit(queue, job)
        finally:
            if not goes_on or len(session.decisions) > decided:
                self.turns.take(job.id)
        return goes_on

    def _visit(self, queue: Queue, job: Job) -> bool:
        """Place what one visit of a job may; whether it is to be visited again."""
        divided = self.divided.get(job.id)
        if divided is not None:
            self.placer.in_one_go = False
            self._let_in(queue, job)
            if not divided:
                return False
            plan = self.search.place_job(queue, job, divided)
            return plan is not None and self._conclude_plan(job, plan) and bool(divided)
        sheet = self.worksheets[job.id]
        self.visited[job.id] = job
        if job.grouping is not None and self._redeem(queue, job, sheet):
            return bool(sheet)
        statement = self.session.statement()
        self.placer.place(queue, sheet, statement)
        return self._conclude(job, statement) and bool(sheet)

    def _let_in(self, queue: Queue, job: Job) -> None:
        """Have those of a divided job's pods let in that wait for their queue alone."""
        gated = [task for task in job.pending.values() if is_behind_queue(task) and can_be_placed(task)]
        for task in self.session.sorted_tasks(gated) if gated else ():
            self.placer.let_in(queue, task)

    def _conclude(self, job: Job, statement: Statement) -> bool:
        """Commit the plan of a job that is whole, keep that of one that will be; whether it was committed."""
        session = self.session
        if session.job_ready(job):
            statement.commit()
            return True
        if session.job_pipelined(job):
            statement.keep()
        else:
            statement.discard()
        return False

    def _conclude_plan(self, job: Job, plan: Plan) -> bool:
        """The same for the plan of a search; of a committed one the places are remembered."""
        if not self._conclude(job, plan.statement):
            return False
        view = self.session.topology.view
        grouping = self.session.topology.grouping(job)
        grouping.allocated = view.common(grouping.allocated, plan.hyper_node)
        for uid, place in plan.places.items():
            sub_job = grouping.sub_jobs[uid]
            sub_job.allocated = view.common(sub_job.allocated, place)
            sub_job.nominated = ""
        return True

    def _redeem(self, queue: Queue, job: Job, sheet: Worksheet) -> bool:
        """Use the room that evictions made for an undivided job; whether the job is placed by that."""
        session = self.session
        sub_job = session.topology.grouping(job).sub_jobs.get(job.id)
        if sub_job is None or not sub_job.nominated:
            return False
        before = sub_job.allocated
        trial = sheet.copy()
        plan = redeem(session, queue, trial, sub_job)
        if plan is None:
            return False
        sub_job.allocated = before
        if not session.job_ready(job):
            # The victims are still leaving: what is promised stays promised.
            plan.keep()
            sheet.take(trial)
            return True
        plan.commit()
        sub_job.nominated = ""
        sheet.take(trial)
        return True


class JobQueue:
    """The waiting jobs of a queue: those that evictions made room for first, then by rank."""

    def __init__(self, session: Session, jobs: list[Job]) -> None:
        ranking = session.job_ranking()
        promised = {nomination.job for nomination in session.nominations.by_task.values()}
        first = {job.id for job in jobs if job.id in promised or _is_nominated(job)}
        self._nominated = ranking.sorted(job for job in jobs if job.id in first)[::-1]
        self._others = RankedQueue(ranking, (job for job in jobs if job.id not in first))

    def __bool__(self) -> bool:
        return bool(self._nominated or self._others)

    @property
    def by_rank(self) -> RankedQueue[Job] | None:
        """The jobs by rank; None while there are others that come before these."""
        return self._others if not self._nominated else None

    def push(self, job: Job) -> None:
        """Give one back."""
        self._others.push(job)

    def stays_first(self, job: Job) -> bool:
        """See `RankedQueue.stays_first`."""
        return not self._nominated and self._others.stays_first(job)

    def pop(self) -> Job:
        """Take the first one."""
        return self._nominated.pop() if self._nominated else self._others.pop()


def _is_nominated(job: Job) -> bool:
    return job.grouping is not None and any(sub_job.nominated for sub_job in job.grouping.sub_jobs.values())
