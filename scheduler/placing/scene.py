"""All that a plan finds out about nodes, as it was: whether the next one may come out otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from generated.core.v1 import Node as NodeObject
    from scheduler.state.cluster import Cluster
    from scheduler.state.dimensions import Rows


class Scene:
    """One copy of what nodes offer and hold, and of their objects; call `refresh` before `version` is asked."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.version = 0
        """Grows with every change; plans that were discarded leave none."""
        self._columns: Floats = np.zeros((0, 0))
        self._objects: list[NodeObject | None] = []
        self._moved = self._changed = 0

    def refresh(self) -> None:
        """Look at the nodes that were touched since the last time."""
        touched = self._cluster.touched
        changed, moved = touched.changed.since(self._changed), touched.moved.since(self._moved)
        self._changed, self._moved = touched.changed.position, touched.moved.position
        columns, nodes = self._cluster.columns, self._cluster.nodes
        height = len(columns.allocatable) + len(columns.dynamic)
        if changed is None or moved is None or self._columns.shape != (height, len(nodes)):
            self._columns = np.concatenate((columns.allocatable, columns.dynamic))
            self._objects = [node.object for node in nodes]
            self.version += 1
        elif len(changed) or len(moved):
            self._look_at(np.union1d(changed, moved), changed.tolist())

    def _look_at(self, rows: Rows, changed: Sequence[int]) -> None:
        columns = self._cluster.columns
        found = np.concatenate((columns.allocatable[:, rows], columns.dynamic[:, rows]))
        is_same = np.array_equal(self._columns[:, rows], found)
        self._columns[:, rows] = found
        for row in changed:
            now = self._cluster.nodes[row].object
            is_same = is_same and now is self._objects[row]
            self._objects[row] = now
        self.version += not is_same
