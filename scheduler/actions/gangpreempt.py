"""gangpreempt: makes room for whole gangs at the cost of jobs of lower priority in their queue (scheduler.md 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.evicting.gangrelief import GangRelief, Rules
from scheduler.evicting.settling import starving_jobs
from scheduler.fairness.ordering import RankedQueue

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job


def gangpreempt(session: Session) -> None:
    """Serve the starving jobs of each queue in order."""

    def belongs(victim: Job, job: Job) -> bool:
        return victim is not job and victim.queue == job.queue and victim.priority < job.priority

    ranking = session.job_ranking()

    def last_first(left: Job, right: Job, _: Job) -> int:
        return ranking.compare(right, left)

    relief = GangRelief(session, Rules(Kind.GANG_PREEMPT, belongs, last_first, lambda _: True))
    turns = session.turns("gangpreempt")
    jobs = turns.among(starving_jobs(session))
    for queue in session.queue_ranking().sorted(session.cluster.queues[name] for name in jobs):
        waiting = RankedQueue(session.job_ranking(), jobs[queue.name])
        while waiting and not session.expired():
            job = waiting.pop()
            turns.take(job.id)
            with session.nominations.lifted(job.id):
                relief.serve(job)
