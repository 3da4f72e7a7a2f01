"""
Node resources as one matrix, a column a node.

Everything that a placement changes lies in one float64 matrix, so that saving and restoring the nodes that a
statement touched is one slice each way (no inverse arithmetic, design 3.1). Rows are grouped in blocks of one
row a resource dimension; within a row the nodes stand ranked by name.
"""

from __future__ import annotations

import numpy as np

from scheduler.state.dimensions import Dimensions, Floats, Rows

_BLOCKS = ("used", "releasing", "pipelined", "requested")
_EXTRA = 2


class NodeColumns:
    """
    The columns of all nodes. Shapes: `(dims, nodes)`, or `(nodes,)` for single rows.

    `used` is what tasks on the node hold (releasing ones included, pipelined ones not); `requested` what the
    Kubernetes filters and scores see: pipelined tasks in, tasks evicted in this session out. `nonzero` is the same
    for cpu (millicores) and memory (bytes) with Kubernetes' defaults for containers that name none.
    """

    __slots__ = ("allocatable", "dimensions", "dynamic", "nonzero", "pipelined", "releasing", "requested", "used")

    def __init__(self, dimensions: Dimensions, nodes: int) -> None:
        self.dimensions = dimensions
        width = len(dimensions)
        self.allocatable: Floats = np.zeros((width, nodes))
        self.dynamic: Floats = np.zeros((len(_BLOCKS) * width + _EXTRA, nodes))
        self._view()

    def _view(self) -> None:
        width = len(self.allocatable)
        self.used, self.releasing, self.pipelined, self.requested = (
            self.dynamic[block * width : (block + 1) * width] for block in range(len(_BLOCKS))
        )
        self.nonzero = self.dynamic[len(_BLOCKS) * width :]

    @property
    def width(self) -> int:
        """Number of resource dimensions held."""
        return len(self.allocatable)

    def __len__(self) -> int:
        return int(self.allocatable.shape[1])

    def widen(self) -> None:
        """Add zero rows for dimensions that were met since these columns were made."""
        grown = NodeColumns(self.dimensions, len(self))
        old, new = self.width, grown.width
        grown.allocatable[:old] = self.allocatable
        for block in range(len(_BLOCKS)):
            grown.dynamic[block * new : block * new + old] = self.dynamic[block * old : (block + 1) * old]
        grown.dynamic[len(_BLOCKS) * new :] = self.dynamic[len(_BLOCKS) * old :]
        self.allocatable, self.dynamic = grown.allocatable, grown.dynamic
        self._view()

    def take(self, order: Rows) -> NodeColumns:
        """The same columns in another order; -1 stands for a new node, all zero."""
        if self.width < len(self.dimensions):
            self.widen()
        taken = NodeColumns(self.dimensions, len(order))
        known = np.flatnonzero(order >= 0)
        taken.allocatable[:, known] = self.allocatable[:, order[known]]
        taken.dynamic[:, known] = self.dynamic[:, order[known]]
        return taken
