"""
preempt: makes room for starving jobs in their own queue, between jobs and within one (scheduler.md 11.4).

A node that takes the task without any eviction comes first; only then are nodes cleared, the best-scored first, of as
few pods as will do, and only when the task then passes everything that is asked of a placement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.arguments import Arguments
from scheduler.contract.contexts import Kind
from scheduler.evicting.rehearsal import Rehearsal
from scheduler.evicting.relief import Relief
from scheduler.evicting.settling import settle, starving_jobs, waiting_tasks
from scheduler.evicting.victims import Pool, pool_of
from scheduler.fairness.ordering import RankedQueue

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue


def preempt(session: Session) -> None:
    """Serve the queues in order: first jobs against each other, then each job's tasks among themselves."""
    Preemption(session).run()


class Preemption:
    """One run of the action."""

    def __init__(self, session: Session) -> None:
        self.session = session
        arguments = Arguments(session.configuration.action_arguments.get("preempt", {}))
        rehearsal = Rehearsal.of(arguments) if arguments.bool("enableTopologyAwarePreemption", False) else None
        self.turns = session.turns("preempt, between jobs")
        self.relief = Relief(session, Kind.PREEMPT, rehearsal)

    def run(self) -> None:
        """Go through the queues."""
        session, turns = self.session, self.session.turns("preempt, within jobs")
        starving = starving_jobs(session)
        jobs, others = turns.among(starving), self.turns.among(starving)
        for queue in session.queue_ranking().sorted(
            session.cluster.queues[name] for name in sorted(jobs.keys() | others)
        ):
            if queue.name in others:
                self._between_jobs(queue, others[queue.name])
            for job in session.job_ranking().sorted(jobs.get(queue.name, ())):
                if session.expired():
                    return
                turns.take(job.id)
                with session.nominations.lifted(job.id):
                    self._within_job(queue, job)

    def _between_jobs(self, queue: Queue, jobs: list[Job]) -> None:
        session = self.session
        givers = pool_of(session, queue.jobs.values())
        waiting = RankedQueue(session.job_ranking(), jobs)
        while waiting and not session.expired():
            job = waiting.pop()
            self.turns.take(job.id)
            with session.nominations.lifted(job.id):
                self.relief.serve(job, queue, Pool(givers, without=job.id))

    def _within_job(self, queue: Queue, job: Job) -> None:
        """Place tasks of a job at the cost of others of the same job; the first that fails ends its turn."""
        session = self.session
        self.relief.begin()
        pool = Pool(pool_of(session, (job,)))
        for task in waiting_tasks(session, job):
            statement = session.statement()
            placed = self.relief.place(task, queue, statement, pool)
            if not settle(session, job, statement, Kind.PREEMPT) or not placed:
                return
