"""
What array functions of plugins see: some nodes' columns, as they are or as they would be some placements later.

A function that reads nothing but a view can be evaluated ahead: that is what lets a run of identical tasks be placed
without asking it again after each one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Coefficients, Floats, Request, Rows

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.node import Node


class View:
    """
    Columns of `rows`, in their order; a row may occur several times. Shapes: `(dims, len(rows))`.

    Amounts are in the units of `scheduler.state.dimensions`. What a view returns is not to be changed.
    """

    def __init__(
        self,
        cluster: Cluster,
        rows: Rows,
        ahead: tuple[Request, Coefficients, Floats] | None = None,
        *,
        is_future: bool = False,
    ) -> None:
        self.cluster = cluster
        self.rows = rows
        self.is_future = is_future
        """Whether the question is about room that is still being released."""
        self._ahead = ahead

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def all(cls, cluster: Cluster) -> View:
        """Every node, in rank order."""
        return cls(cluster, np.arange(len(cluster.nodes), dtype=np.intp))

    @classmethod
    def holding(cls, cluster: Cluster, rows: Rows, dynamic: Floats) -> View:
        """Nodes as they would be with these columns of `NodeColumns.dynamic`, `(blocks * dims + 2, len(rows))`."""
        view = cls(cluster, rows)
        view._dynamic = dynamic
        return view

    def steps(self, first: int, count: int, request: Request, coefficients: Coefficients) -> View:
        """
        Each node as it would be after `first`, `first + 1` ... placements of `request`: `count` views in one.

        The result has `len(self) * count` rows: all steps of the first node, then those of the second ...
        """
        taken = np.tile(np.arange(first, first + count, dtype=np.float64), len(self.rows))
        ahead = (request, coefficients, taken)
        return View(self.cluster, np.repeat(self.rows, count), ahead, is_future=self.is_future)

    @cached_property
    def _dynamic(self) -> Floats:
        columns = self.cluster.columns
        dynamic: Floats = columns.dynamic[:, self.rows]
        if self._ahead is not None:
            request, coefficients, taken = self._ahead
            dynamic += request.effect(columns.dimensions, coefficients)[:, None] * taken
        return dynamic

    def _block(self, block: int) -> Floats:
        width = self.cluster.columns.width
        return self._dynamic[block * width : (block + 1) * width]

    @cached_property
    def allocatable(self) -> Floats:
        """What the nodes offer."""
        result: Floats = self.cluster.columns.allocatable[:, self.rows]
        return result

    @property
    def used(self) -> Floats:
        """What tasks hold, releasing ones included, pipelined ones not."""
        return self._block(0)

    @property
    def staying(self) -> Floats:
        """Used, without what is about to become free where the question is about that."""
        return self.used - self.releasing if self.is_future else self.used

    @property
    def releasing(self) -> Floats:
        """What is about to become free."""
        return self._block(1)

    @property
    def pipelined(self) -> Floats:
        """What waits for releasing resources."""
        return self._block(2)

    @property
    def requested(self) -> Floats:
        """What Kubernetes' filters and scores count: pipelined tasks in, tasks evicted in this session out."""
        return self._block(3)

    @property
    def nonzero(self) -> Floats:
        """`(2, len(rows))`: cpu (millicores) and memory (bytes) requested, with defaults for those who name none."""
        return self._dynamic[4 * self.cluster.columns.width :]

    @cached_property
    def idle(self) -> Floats:
        """Allocatable less used; negative where a node shrank."""
        return self.allocatable - self.used

    @cached_property
    def future_idle(self) -> Floats:
        """Idle, plus what is being released, less what waits for it."""
        return self.idle + self.releasing - self.pipelined

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes themselves. A function that reads their tasks can't be evaluated ahead."""
        nodes = self.cluster.nodes
        return [nodes[row] for row in self.rows.tolist()]
