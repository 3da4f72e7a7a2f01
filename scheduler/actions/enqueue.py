"""enqueue: lets pending jobs into their queues, as far as the plugins allow (scheduler.md 11.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.fairness.ordering import RankedQueue
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job

_STANDING = (Status.BOUND, Status.BINDING, Status.RUNNING)
"""A job with such pods was let in before, whatever became of its phase: asking again would count them twice."""


def enqueue(session: Session) -> None:
    """Give each admitted job the phase Inqueue; a refused one is not asked again in this cycle."""
    waiting: dict[str, RankedQueue[Job]] = {}
    ranking = session.job_ranking()
    refused = session.memory.refused
    refused.begin(session)
    for job in session.open_jobs():
        if session.is_pending(job) and job.id not in refused:
            waiting.setdefault(job.queue, RankedQueue(ranking)).push(job)
    queues = RankedQueue(session.queue_ranking(), (session.cluster.queues[name] for name in sorted(waiting)))
    while queues:
        queue = queues.pop()
        jobs = waiting[queue.name]
        if not jobs:
            continue
        job = jobs.pop()
        if not job.asks_for_minimum or job.count(_STANDING) or refused.ask(session, job):
            session.job_enqueued(job)
            session.phases[job.id] = "Inqueue"
        queues.push(queue)
