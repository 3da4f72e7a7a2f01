"""
allocate: places the pending tasks of jobs, a job as a whole until it is ready (scheduler.md 11.2).

Identical tasks that follow each other are placed as one run; the outcome is that of one task after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from scheduler.fiterrors import FitErrors, everywhere
from scheduler.ordering import RankedQueue
from scheduler.placement import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.statement import Statement


def allocate(session: Session) -> None:
    """Go through queues and jobs in order, until none can take more in this cycle."""
    Allocation(session).run()


class Worksheet:
    """The tasks of a job that are still to be placed in this cycle, first one first."""

    __slots__ = ("_place", "_tasks", "job")

    def __init__(self, job: Job, tasks: Sequence[Task]) -> None:
        self.job = job
        self._tasks = tasks
        self._place = 0

    def __bool__(self) -> bool:
        return self._place < len(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks) - self._place

    def peek(self, limit: int) -> Sequence[Task]:
        """The next tasks, at most `limit`."""
        return self._tasks[self._place : self._place + limit]

    def skip(self, count: int) -> None:
        """These are dealt with."""
        self._place += count


class Allocation:
    """One run of the action."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.worksheets: dict[str, Worksheet] = {}
        self.failed_roles: dict[str, set[str]] = {}
        self.in_one_go = False
        """Whether the job in turn would be in turn again after each task, until it has no more."""

    def run(self) -> None:
        """Serve queues by rank; within one, jobs by rank."""
        session = self.session
        jobs = self._jobs_by_queue()
        queues = RankedQueue(session.queue_ranking(), (session.cluster.queues[name] for name in sorted(jobs)))
        while queues and not session.expired():
            queue = queues.pop()
            waiting = jobs[queue.name]
            if session.overused(queue) or not waiting:
                continue
            job = waiting.pop()
            self.in_one_go = queues.stays_first(queue) and waiting.stays_first(job)
            if self._place_job(queue, job) and self.worksheets[job.id]:
                waiting.push(job)
            queues.push(queue)

    def _jobs_by_queue(self) -> dict[str, RankedQueue[Job]]:
        session = self.session
        jobs: dict[str, list[Job]] = {}
        for job in session.open_jobs():
            if session.is_pending(job):
                if "enqueue" in session.configuration.actions:
                    continue
                session.phases[job.id] = "Inqueue"
            if not job.pending or session.job_valid(job) is not None:
                continue
            tasks = [task for task in job.pending.values() if not task.is_best_effort and not task.is_gated]
            if tasks:
                self.worksheets[job.id] = Worksheet(job, session.sorted_tasks(tasks))
                jobs.setdefault(job.queue, []).append(job)
        ranking = session.job_ranking()
        return {name: RankedQueue(ranking, members) for name, members in jobs.items()}

    def _place_job(self, queue: Queue, job: Job) -> bool:
        """Place what one visit of a job may; whether its plan was committed."""
        session = self.session
        statement = session.statement()
        self._place_tasks(queue, job, statement)
        if session.job_ready(job):
            statement.commit()
            return True
        if session.job_pipelined(job):
            statement.keep()
        else:
            statement.discard()
        return False

    def _place_tasks(self, queue: Queue, job: Job, statement: Statement) -> None:
        """Place tasks until the job is ready, or until a failure makes going on useless."""
        sheet = self.worksheets[job.id]
        while sheet:
            first = sheet.peek(1)[0]
            refusal = self._refusal(queue, first)
            if refusal is not None:
                sheet.skip(1)
                self.session.set_fit_error(first, refusal.errors)
                if refusal.is_failure and not self._fail(job, first):
                    return
                continue
            placed = self._place_run(self._run_of(sheet, first), statement)
            sheet.skip(max(1, placed))
            if not placed and not self._fail(job, first):
                return
            if placed and self.session.job_ready(job):
                return

    def _refusal(self, queue: Queue, task: Task) -> _Refusal | None:
        """What is against a task before any node is looked at."""
        session = self.session
        if not session.allocatable(queue, task):
            return _Refusal(FitErrors(base=session.queue_message(queue, task)), is_failure=False)
        if task.role and task.role in self.failed_roles.get(task.job, ()):
            text = f"Task {task.name} with role spec {task.role} has already predicated failed, skip"
            return _Refusal(FitErrors(base=text), is_failure=False)
        reason = session.pre_predicate(task)
        if reason is not None:
            return _Refusal(everywhere(reason, len(session.nodes)), is_failure=True)
        return None

    def _run_of(self, sheet: Worksheet, first: Task) -> Sequence[Task]:
        """The next tasks that are identical and may be placed without asking anything in between."""
        session = self.session
        if session.asks_each_task:
            return sheet.peek(1)
        whole = self.in_one_go and session.job_ready(sheet.job)
        limit = len(sheet) if whole else session.ready_deficit(sheet.job)
        if limit == 1:
            return sheet.peek(1)
        template = session.template(first)
        following = sheet.peek(limit)
        return list(takewhile(lambda task: task.role == first.role and session.template(task) is template, following))

    def _place_run(self, tasks: Sequence[Task], statement: Statement) -> int:
        """Place the first of some identical tasks, and as many after it as go at once; how many were placed."""
        session = self.session
        first = tasks[0]
        template = session.template(first)
        choice = choose(template, tasks, loose=session.loose)
        placed = len(choice.rows)
        if not placed:
            session.set_fit_error(first, session.examine(template, first))
            return 0
        nodes = [session.nodes[row] for row in choice.rows]
        refusal = statement.place(tasks[:placed], nodes, choice.status)
        if refusal is None:
            return placed
        # A handler refused the batch: find out with the first task alone which one it meant.
        if placed > 1:
            return self._place_run(tasks[:1], statement)
        session.set_fit_error(first, FitErrors({refusal: 1}, 1))
        return 0

    def _fail(self, job: Job, task: Task) -> bool:
        """Note that a task found no node; whether the rest of its job is still worth trying."""
        roles = self.failed_roles.setdefault(job.id, set())
        roles.add(task.role)
        if job.min_available >= len(job.tasks):
            return False
        if job.min_available < sum(job.role_minimum.values()):
            open_tasks = sum(role_task.role not in roles for role_task in job.pending.values())
            return job.ready_count + open_tasks >= job.min_available
        return not any(job.role_minimum.get(role, 0) > job.role_ready_count(role) for role in roles)


@dataclass(frozen=True, slots=True)
class _Refusal:
    errors: FitErrors
    is_failure: bool
    """Whether the task was tried; a task that is only passed over doesn't end its job's turn."""
