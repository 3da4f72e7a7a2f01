"""
reclaim: takes back from other queues what they borrowed, for starving jobs of queues that are owed it (scheduler.md 11.5).

As in preempt nothing is evicted before the placement is proved, and nobody leaves who needn't.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.evicting.relief import Relief
from scheduler.evicting.settling import starving_jobs
from scheduler.evicting.victims import Pool, pool_of
from scheduler.fairness.ordering import RankedQueue

if TYPE_CHECKING:
    from scheduler.session import Session


def reclaim(session: Session) -> None:
    """Serve the queues that aren't over their share in order, each until its starving jobs are used up."""
    relief = Relief(session, Kind.RECLAIM)
    turns = session.turns("reclaim")
    jobs = turns.among(starving_jobs(session))
    queues = RankedQueue(session.queue_ranking(), (session.cluster.queues[name] for name in sorted(jobs)))
    while queues and not session.expired():
        queue = queues.pop()
        if session.overused(queue):
            turns.take(*(job.id for job in jobs[queue.name]))
            continue
        others = (other for other in session.cluster.queues.values() if other is not queue and other.reclaimable)
        pool = Pool(pool_of(session, (job for other in others for job in other.jobs.values())))
        waiting = RankedQueue(session.job_ranking(), jobs[queue.name])
        while waiting and not session.expired():
            job = waiting.pop()
            turns.take(job.id)
            with session.nominations.lifted(job.id):
                relief.serve(job, queue, pool, partial(session.preemptive, queue))
