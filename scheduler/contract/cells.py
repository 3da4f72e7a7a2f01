"""
One node's columns as plain numbers: what functions in their single form see.

An array operation costs as much for one node as for a hundred. Where a decision changes one node and the next one
looks at few, plain arithmetic is several times faster; it gives the same floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Cells = Sequence[float]
"""A number a resource dimension."""


class NodeCells:
    """
    The blocks of one column, as `View` has them. Not to be changed.

    `nonzero` is (cpu in millicores, memory in bytes) with defaults for those who name none.
    """

    __slots__ = ("allocatable", "future", "idle", "is_plain", "nonzero", "pipelined", "releasing", "requested", "used")

    def __init__(self, allocatable: Cells, dynamic: Cells) -> None:
        width = len(allocatable)
        self.allocatable = allocatable
        self.used = dynamic[:width]
        self.releasing = dynamic[width : 2 * width]
        self.pipelined = dynamic[2 * width : 3 * width]
        self.requested = dynamic[3 * width : 4 * width]
        self.nonzero = dynamic[4 * width :]
        self.idle: Cells = [offered - used for offered, used in zip(allocatable, self.used, strict=True)]
        self.is_plain = not any(self.releasing) and not any(self.pipelined)
        """Whether nothing is being released or waits for that, so that what will be idle is idle."""
        self.future: Cells = (
            self.idle
            if self.is_plain
            else [
                idle + releasing - pipelined
                for idle, releasing, pipelined in zip(self.idle, self.releasing, self.pipelined, strict=True)
            ]
        )


Rate = Callable[[NodeCells], float]
"""The raw score of one node for a given task."""
Passes = Callable[[NodeCells], bool]
"""Whether a filter lets a given task onto one node."""
