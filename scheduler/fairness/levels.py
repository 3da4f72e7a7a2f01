"""What each queue holds together with all below it: the amounts of a queue's status (scheduler.md 14.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.state.queue import ROOT

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.dimensions import Floats
    from scheduler.state.queue import Queue


class Level(msgspec.Struct, frozen=True):
    """One queue. `row` is `(dims,) float64`, what its and its descendants' jobs hold; `names` are the dimensions."""

    queue: Queue
    row: Floats
    names: tuple[str, ...]

    @property
    def amounts(self) -> dict[str, float]:
        """By name, in the units of `scheduler.state.dimensions`; cpu and memory always, others unless 0."""
        held = {name: float(amount) for name, amount in zip(self.names, self.row, strict=True)}
        return {name: amount for name, amount in held.items() if amount or name in self.names[:2]}


def levels(cluster: Cluster) -> tuple[Level, ...]:
    """
    Every queue that exists, in order of names.

    What a queue holds counts once for it and for each ancestor up to `root`. A parent that doesn't exist, or a circle
    of parents, ends the walk.
    """
    queues = {name: queue for name, queue in cluster.queues.items() if queue.object is not None}
    rows = {name: np.array(queue.allocated) for name, queue in queues.items()}
    for name, queue in queues.items():
        if queue.allocated.any():
            for ancestor in _ancestors(queues, name):
                rows[ancestor] += queue.allocated
    names = tuple(cluster.dimensions.names)
    return tuple(Level(queues[name], _padded(rows[name], len(names)), names) for name in sorted(queues))


def _ancestors(queues: dict[str, Queue], name: str) -> Iterable[str]:
    seen = {name}
    current = queues[name].parent
    while current in queues and current not in seen:
        seen.add(current)
        yield current
        current = queues[current].parent if current != ROOT else ""


def _padded(row: Floats, width: int) -> Floats:
    return np.pad(row, (0, width - len(row)))
