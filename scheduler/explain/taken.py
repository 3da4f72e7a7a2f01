"""What `taken` in a refusal consists of: what runs, and what is kept for jobs that were let in and have not started."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from scheduler.explain.report import KeptFor, Taken
from scheduler.explain.wording import quantity
from scheduler.state.dimensions import MIN_RESOURCE
from scheduler.state.reservation import minimum_row

if TYPE_CHECKING:
    from scheduler.explain.shared import Shared
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue

MOST = 5
"""So many jobs are named for each resource; the rest is counted."""
_REFUSED = "insufficient {name} (asked "
_HOPS = 16


def taken(shared: Shared, job: Job, plugin: str, text: str) -> list[Taken]:
    """
    The parts of what is taken, for each resource that a refused admission names in `text` and of which something is taken.

    Within a queue pods hold a part of it. A plugin that counts by the whole cluster has taken off what pods hold
    before: for it all that is taken is kept.
    """
    cluster = shared.session.cluster
    is_by_queue = plugin == shared.divider
    queues = _within(shared, _refusing(shared, job)) if is_by_queue else list(cluster.queues.values())
    jobs = [other for queue in queues if queue.object is not None for other in queue.jobs.values()]
    found = []
    for name in job.minimum or {}:
        column = cluster.dimensions.get(name)
        if column is None or _REFUSED.format(name=name) not in text:
            continue
        used = sum(float(queue.claimed[column] - queue.elastic[column]) for queue in queues) if is_by_queue else 0.0
        part = _taken(name, column, used, jobs)
        if part.kept_jobs or used >= MIN_RESOURCE:
            found.append(part)
    return found


def _taken(name: str, column: int, used: float, jobs: Iterable[Job]) -> Taken:
    kept = [(float(job.reserved[column]), job.id) for job in jobs if job.reserved[column] >= MIN_RESOURCE]
    kept.sort(key=lambda each: (-each[0], each[1]))
    return Taken(
        resource=name,
        used=quantity(name, used),
        kept=quantity(name, sum(amount for amount, _ in kept)),
        jobs=[KeptFor(name=job, amount=quantity(name, amount)) for amount, job in kept[:MOST]],
        kept_jobs=len(kept),
    )


def _refusing(shared: Shared, job: Job) -> str:
    """The first queue on the way up that has no room for the job's minimum; its own where none says so."""
    cluster, minimum, name = shared.session.cluster, minimum_row(shared.session.cluster, job), job.queue
    for _ in range(_HOPS if shared.has_tree else 0):
        figures = shared.figures.get(name)
        if figures is None or figures.real_capacity is None:
            break
        elastic = sum((queue.elastic for queue in _within(shared, name)), start=minimum * 0.0)
        used = figures.allocated + figures.inqueue - elastic
        if ((minimum > 0.0) & (used + minimum > figures.real_capacity)).any():
            return name
        name = cluster.queues[name].parent
    return job.queue


def _within(shared: Shared, name: str) -> list[Queue]:
    """A queue and those below it; itself alone where the plugin has no tree."""
    queues = shared.session.cluster.queues
    if not shared.has_tree:
        return [queues[name]] if name in queues else []
    return [queue for queue in queues.values() if _is_below(shared, queue.name, name)]


def _is_below(shared: Shared, name: str, above: str) -> bool:
    for _ in range(_HOPS):
        queue = shared.session.cluster.queues.get(name)
        if name == above:
            return True
        if queue is None or not name:
            return False
        name = queue.parent
    return False
