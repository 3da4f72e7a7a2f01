"""Who comes before a job: the queues that are served before its own, and the jobs before it in its queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scheduler.contract.points import Point
from scheduler.explain.report import Competition, Competitor
from scheduler.explain.standing import share_of

if TYPE_CHECKING:
    from scheduler.explain.shared import Shared
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue

MOST = 10
"""So many are named; the rest is counted."""
_FIRST, _OLDER = "plugin {plugin} puts it first", "it is older"


def competition(shared: Shared, job: Job) -> Competition:
    """The waiting jobs and queues before a job that takes part, by the orders of this session."""
    place = shared.place(job)
    if place is None:
        return Competition()
    session = shared.session
    own, rivals = session.queue_of(job), shared.ranked(job.queue)
    before = rivals[:place]
    earlier = shared.queues[: shared.queues.index(own)]
    return Competition(
        position=place + 1,
        waiting=len(rivals),
        jobs_before=len(before),
        queues_before=len(earlier),
        jobs=[Competitor(name=other.id, why=_why_job(session, other, job)) for other in before[:MOST]],
        queues=[Competitor(name=queue.name, why=_why_queue(shared, queue, own)) for queue in earlier[:MOST]],
    )


def _why_job(session: Session, first: Job, second: Job) -> str:
    def describe(plugin: str) -> str:
        if plugin == "priority":
            return f"priority {first.priority} against {second.priority}"
        if plugin == "gang":
            return "it is not whole yet, this one is"
        if plugin == "drf":
            return f"it holds less: share {share_of(session, first)} against {share_of(session, second)}"
        return _FIRST.format(plugin=plugin)

    return _why(session.points.named(Point.JOB_ORDER), first, second, describe)


def _why_queue(shared: Shared, first: Queue, second: Queue) -> str:
    figures = shared.figures

    def describe(plugin: str) -> str:
        if first.limits.priority != second.limits.priority:
            return f"priority {first.limits.priority} against {second.limits.priority}"
        if first.name in figures and second.name in figures:
            shares = figures[first.name].share, figures[second.name].share
            if shares[0] < shares[1]:
                return f"it has used less of its part: {shares[0]:.3g} against {shares[1]:.3g}"
        return _FIRST.format(plugin=plugin)

    return _why(shared.session.points.named(Point.QUEUE_ORDER), first, second, describe)


def _why(orders: Sequence[tuple[str, Any]], first: object, second: object, describe: Callable[[str], str]) -> str:
    """The words for the first plugin that tells the two apart; where none does, age decides."""
    plugin = next((name for name, order in orders if order.compare(first, second)), "")
    return describe(plugin) if plugin else _OLDER
