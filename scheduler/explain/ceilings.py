"""
What no waiting will bring: more than a queue may ever hold, or than the cluster has in all.

Such a request is not told to wait for others to end, but what would have to be raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.explain import wording
from scheduler.explain.places import minimum_of
from scheduler.fairness import shares
from scheduler.state.reservation import minimum_row

if TYPE_CHECKING:
    from scheduler.explain.shared import Shared
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue

MINIMUM_ASKS, _PODS_ASK = "its minResources ask for", "the pods that it needs ask for"
_MORE_ASKS = "what it holds and the pods that wait ask together for"
_NODES = "add nodes"
_OTHERS = "add nodes, or lower what other queues are guaranteed"
_ABOVE_ALL = 16
"""Queues are looked at so far up: deep enough for any tree, and a circle ends there."""


class _Ceiling(msgspec.Struct, frozen=True):
    """A limit that stands however empty the cluster is. `limit` is `(dims,)`."""

    holder: str
    limit: Floats
    own: Mapping[str, str]
    """By resource of which the holder itself sets the limit: what to raise."""


def minimum_beyond(shared: Shared, job: Job, plugin: str) -> str:
    """Why a job's minResources that a plugin refuses can never be let in, and what to raise; empty where they can."""
    asked = minimum_row(shared.session.cluster, job)
    # Whoever refuses it now: the queue's limit would keep it out afterwards.
    found = _told(shared, asked, MINIMUM_ASKS, _of_queues(shared, job.queue))
    if found or plugin == shared.divider:
        return found
    return _told(shared, asked, MINIMUM_ASKS, (_of_cluster(shared, plugin),))


def pods_beyond(shared: Shared, job: Job) -> str:
    """The same for the pods that the job has and those that it still needs; asked outside of a trial."""
    cluster = shared.session.cluster
    wanted = minimum_of(shared.session, job)
    if not wanted or not shared.divider:
        return ""
    asked = shares.row_of(cluster.dimensions, wanted)
    # What it holds of other resources is no matter of the pods that wait.
    beginning = _MORE_ASKS if (job.allocated[asked > 0.0] > 0.0).any() else _PODS_ASK
    asked = np.where(asked > 0.0, asked + job.allocated, 0.0)
    return _told(shared, asked, beginning, _of_queues(shared, job.queue))


def _told(shared: Shared, asked: Floats, beginning: str, ceilings: Iterable[_Ceiling]) -> str:
    dimensions = shared.session.cluster.dimensions
    broken = [
        (ceiling, beyond)
        for ceiling in ceilings
        if (beyond := shares.names(dimensions, shares.lacking(asked, ceiling.limit, asked)))
    ]
    if not broken:
        return ""
    raising = [ceiling.own[name] for ceiling, beyond in broken for name in beyond if name in ceiling.own]
    # A queue below another is bound by that one's limit: the one that sets it is named.
    setting = (each for each in broken if any(name in each[0].own for name in each[1]))
    ceiling, beyond = next(setting, broken[0])
    needs, limits = (
        wording.joined([f"{wording.quantity(name, float(row[dimensions.column(name)]))} {name}" for name in beyond])
        for row in (asked, ceiling.limit)
    )
    total = shared.session.cluster.columns.allocatable.sum(axis=1)
    is_all = all(ceiling.limit[dimensions.column(name)] >= total[dimensions.column(name)] for name in beyond)
    remedy = wording.joined(list(dict.fromkeys(raising))) if raising else _NODES if is_all else _OTHERS
    return f"{beginning} {needs}, more than {ceiling.holder} may ever hold ({limits}): {remedy}, or ask for less"


def _of_cluster(shared: Shared, plugin: str) -> _Ceiling:
    """What the cluster has in all, as the plugin stretches it."""
    cluster = shared.session.cluster
    teller = next((found for found in shared.session.plugins if found.name == plugin), None)
    factor = float(getattr(teller, "factor", 1.0))
    words = "the cluster" if factor == 1.0 else f"the cluster, counted {factor:g} times by {plugin},"
    remedies = dict.fromkeys(cluster.dimensions.names, _NODES)
    return _Ceiling(words, cluster.columns.allocatable.sum(axis=1) * factor, remedies)


def _of_queues(shared: Shared, name: str) -> Iterator[_Ceiling]:
    """The job's queue, and those above it where the plugin that divides the cluster has a tree."""
    cluster, figures = shared.session.cluster, shared.figures
    for _ in range(_ABOVE_ALL):
        queue = cluster.queues.get(name)
        if queue is None or queue.object is None or name not in figures:
            return
        known = figures[name].real_capacity
        yield _of_queue(shared, queue, shared.flat_ceilings.get(name) if known is None else known)
        if not shared.has_tree or not queue.parent:
            return
        name = queue.parent


def _of_queue(shared: Shared, queue: Queue, limit: Floats | None) -> _Ceiling:
    dimensions = shared.session.cluster.dimensions
    capability = shares.capability_of(queue, dimensions)
    if limit is None:
        limit = capability
    own = {
        name: f"raise {name} in spec.capability of queue {queue.name}"
        for column, name in enumerate(dimensions.names)
        if np.isfinite(capability[column]) and capability[column] <= limit[column]
    }
    return _Ceiling(f"queue {queue.name}", limit, own)
