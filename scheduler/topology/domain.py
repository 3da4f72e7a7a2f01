"""The part of the nodes that one trial may use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scheduler.state.dimensions import Mask, Rows
    from scheduler.state.hypernode_view import HyperNodeView


class Domain:
    """A hypernode of the session, or the virtual root. `rows` are its columns, ascending."""

    def __init__(self, view: HyperNodeView, number: int) -> None:
        self.view = view
        self.number = number
        self.name = view.names[number]
        self.rows: Rows = view.rows[number]

    @property
    def is_root(self) -> bool:
        """Whether nothing is left out."""
        return self.number == self.view.root

    @cached_property
    def within(self) -> Mask | None:
        """`(nodes,)`: the nodes that count, None for all."""
        return None if self.is_root else self.view.mask(self.number)

    @property
    def label(self) -> str:
        """The name for messages; the root has none."""
        return "" if self.is_root else self.name

    @cached_property
    def is_one_leaf(self) -> bool:
        """Whether all nodes lie in one hypernode of the lowest tier, so that none is closer than another."""
        leaves = self.view.leaves[self.rows]
        return not len(leaves) or (int(leaves[0]) >= 0 and bool(np.all(leaves == leaves[0])))
