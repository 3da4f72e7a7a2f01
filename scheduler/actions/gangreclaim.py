"""gangreclaim: takes back room for whole gangs from other queues (scheduler.md 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.evicting.gangrelief import GangRelief, Rules
from scheduler.evicting.settling import starving_jobs
from scheduler.fairness.ordering import RankedQueue

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue


def gangreclaim(session: Session) -> None:
    """Serve the starving jobs of each queue that isn't over its share, in order."""
    turns = session.turns("gangreclaim")
    jobs = turns.among(starving_jobs(session))
    for queue in session.queue_ranking().sorted(session.cluster.queues[name] for name in jobs):
        if session.overused(queue):
            turns.take(*(job.id for job in jobs[queue.name]))
            continue
        relief = GangRelief(session, _rules(session, queue))
        waiting = RankedQueue(session.job_ranking(), jobs[queue.name])
        while waiting and not session.expired():
            job = waiting.pop()
            turns.take(job.id)
            with session.nominations.lifted(job.id):
                relief.serve(job)


def _rules(session: Session, queue: Queue) -> Rules:
    queues = session.cluster.queues

    def belongs(victim: Job, job: Job) -> bool:
        return victim.queue != job.queue and queues[victim.queue].reclaimable

    def compare(left: Job, right: Job, _: Job) -> int:
        if left.queue == right.queue:
            return 0
        answer = session.compare_victim_queues(queues[left.queue], queues[right.queue], queue)
        other = session.compare_victim_queues(queues[right.queue], queues[left.queue], queue)
        # An order that contradicts itself decides nothing.
        return answer if answer * other < 0 else 0

    return Rules(Kind.GANG_RECLAIM, belongs, compare, lambda task: session.preemptive(queue, task))
