"""How the job's queue stands, and the queues above it, by the figures of the plugin that divides the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scheduler.explain import wording
from scheduler.explain.report import QueueStanding

if TYPE_CHECKING:
    from scheduler.explain.shared import Shared
    from scheduler.fairness.shares import QueueFigures
    from scheduler.plugin import Plugin
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue


def standings(shared: Shared, job: Job) -> tuple[QueueStanding, list[QueueStanding]]:
    """The job's queue, and those above it, nearest first. A parent that is missing, or a circle, ends the way up."""
    session = shared.session
    found: list[QueueStanding] = []
    name, seen = job.queue, set[str]()
    while name and name not in seen:
        seen.add(name)
        queue = session.cluster.queues.get(name)
        if queue is None or queue.object is None:
            found.append(QueueStanding(name=name, exists=False, is_open=False))
            break
        found.append(_standing(session, queue, shared.divider, shared.figures.get(name)))
        name = queue.parent if _is_known(session, queue.parent) or len(found) == 1 else ""
    if not found:
        return QueueStanding(name=job.queue, exists=False, is_open=False), []
    above = [standing for standing in found[1:] if standing.exists]
    return found[0], above


def _is_known(session: Session, name: str) -> bool:
    queue = session.cluster.queues.get(name)
    return queue is not None and queue.object is not None


def share_of(session: Session, job: Job) -> float | None:
    """The job's dominant share, by the plugin that orders jobs by it; None without one."""
    plugin: Plugin | None = next((found for found in session.plugins if hasattr(found, "share_of")), None)
    if plugin is None:
        return None
    teller: Any = plugin
    return round(float(teller.share_of(job)), 6)


def _standing(session: Session, queue: Queue, plugin: str, figures: QueueFigures | None) -> QueueStanding:
    dimensions, limits = session.cluster.dimensions, queue.limits
    known: dict[str, Any] = {}
    if figures is not None:
        rows = {
            "allocated": figures.allocated,
            "request": figures.request,
            "inqueue": figures.inqueue,
            "deserved": figures.deserved,
            "real_capability": figures.real_capacity,
        }
        known = {name: wording.row(dimensions, row) for name, row in rows.items() if row is not None}
        known |= {"plugin": plugin, "share": round(figures.share, 6), "is_overused": figures.is_overused}
    else:
        known["allocated"] = wording.row(dimensions, queue.claimed)
        known["request"] = wording.row(dimensions, queue.wanted)
        known["inqueue"] = wording.row(dimensions, queue.reserved)
    return QueueStanding(
        name=queue.name,
        state=queue.object.status.state if queue.object is not None else "",
        is_open=limits.is_open,
        parent=queue.parent,
        weight=limits.weight,
        priority=limits.priority,
        waiting_jobs=sum(bool(job.pending) for job in queue.jobs.values()),
        capability=wording.amounts(limits.capability or {}),
        guarantee=wording.amounts(limits.guarantee),
        **known,
    )
