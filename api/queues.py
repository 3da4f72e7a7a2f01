"""
The tree of queues.

Parents are only names, so a queue may name one that doesn't exist, or sit in a circle; both happen for a moment when
queues are created or moved. Every walk here ends nevertheless, and says how it ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from api import names
from generated.scheduling.v1beta1 import Queue


class Ancestry(msgspec.Struct, frozen=True):
    """A walk from a queue upwards."""

    ancestors: tuple[str, ...]
    """Existing queues above, nearest first; `root` is the last one when it exists and was reached."""
    missing: str = ""
    """The parent that doesn't exist, if that ended the walk."""
    has_cycle: bool = False
    """Whether the walk came to a queue a second time."""


class QueueTree:
    """
    Who is whose parent, over all queues at one moment.

    Whether a queue without parent hangs below `root` depends on who asks: the scheduler says yes, admission counts it
    as nobody's child until the controller has written its parent.
    """

    def __init__(self, queues: Iterable[Queue], *, orphans_under_root: bool = True) -> None:
        self.queues: dict[str, Queue] = {queue.metadata.name: queue for queue in queues}
        self._orphans_under_root = orphans_under_root
        self._children: dict[str, list[str]] = {}
        for name in sorted(self.queues):
            if parent := self.parent(name):
                self._children.setdefault(parent, []).append(name)

    def parent(self, name: str) -> str:
        """Name of the parent, which need not exist; empty for `root`, for an unknown queue, for nobody's child."""
        queue = self.queues.get(name)
        if queue is None or name == names.ROOT_QUEUE:
            return ""
        return queue.spec.parent or (names.ROOT_QUEUE if self._orphans_under_root else "")

    def children(self, name: str) -> tuple[str, ...]:
        """The queues directly below, by name; the queue itself need not exist."""
        return tuple(self._children.get(name, ()))

    def is_leaf(self, name: str) -> bool:
        """Whether no queue hangs below: only leaves take jobs."""
        return name not in self._children

    def ancestry(self, name: str) -> Ancestry:
        """The way from a queue up to `root`, or as far as it goes."""
        above: list[str] = []
        seen = {name}
        current = self.parent(name)
        while current:
            if current in seen:
                return Ancestry(tuple(above), has_cycle=True)
            if current not in self.queues:
                return Ancestry(tuple(above), missing=current)
            seen.add(current)
            above.append(current)
            current = self.parent(current)
        return Ancestry(tuple(above))

    def descendants(self, name: str) -> Iterator[str]:
        """All queues below, parents before children, each once."""
        seen = {name}
        waiting = list(reversed(self.children(name)))
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            yield current
            waiting.extend(reversed(self.children(current)))

    def depth(self, name: str) -> int:
        """Levels from below `root` down to the queue, which counts as one; `root` itself has none."""
        if name == names.ROOT_QUEUE:
            return 0
        return 1 + sum(ancestor != names.ROOT_QUEUE for ancestor in self.ancestry(name).ancestors)

    def height(self, name: str) -> int:
        """Levels below the queue, 0 for a leaf."""
        levels = {name: 0}
        for descendant in self.descendants(name):
            levels[descendant] = levels[self.parent(descendant)] + 1
        return max(levels.values())

    def would_cycle(self, name: str, parent: str) -> bool:
        """Whether hanging a queue below `parent` would make it its own descendant."""
        return parent == name or name in self.ancestry(parent).ancestors


class Level(NamedTuple):
    """One part of a queue's path for hierarchical fairness."""

    name: str
    weight: float


def hierarchy(annotations: Mapping[str, str]) -> tuple[Level, ...]:
    """
    The path and weights in a queue's hierarchy annotations, from the top.

    A weight that is missing, unreadable or below 1 counts as 1 (compat: QUEUE-1). Without annotations the path is one nameless part.
    """
    parts = annotations.get(names.HIERARCHY_ANNOTATION, "").split("/")
    weights = annotations.get(names.HIERARCHY_WEIGHTS_ANNOTATION, "").split("/")
    weights += [""] * (len(parts) - len(weights))
    return tuple(Level(part, _weight(text)) for part, text in zip(parts, weights, strict=False))


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if math.isfinite(weight) and weight >= 1 else 1.0
