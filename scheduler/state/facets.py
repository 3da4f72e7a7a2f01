"""
Properties of nodes as numbers, so that a filter looks at each distinct value once instead of at each node.

Ten thousand nodes have a handful of taint lists, zones or architectures. A facet numbers the distinct values;
`table[numbers]` then spreads an answer a value over the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scheduler.state.node import Node
    from scheduler.state.touched import Log

Numbers = NDArray[np.intp]


class Facet:
    """One property. `numbers` is `(nodes,)`, `values[numbers[row]]` the value of a row's node."""

    def __init__(self, read: Callable[[Node], Hashable]) -> None:
        self._read = read
        self._known: dict[Hashable, int] = {}
        self._position = 0
        self._judged = -1
        self._distinct = False
        self.values: list[Hashable] = []
        self.numbers: Numbers = np.zeros(0, dtype=np.intp)

    def refresh(self, nodes: list[Node], changed: Log) -> Facet:
        """Bring the numbers up to date with the nodes that changed."""
        rows = changed.since(self._position)
        self._position = changed.position
        if rows is None:
            self.numbers = np.fromiter((self._number(node) for node in nodes), dtype=np.intp, count=len(nodes))
        else:
            for row in rows.tolist():
                self.numbers[row] = self._number(nodes[row])
        return self

    def is_distinct(self) -> bool:
        """Whether no two nodes share a value; those whose value is None don't count."""
        if self._judged != self._position:
            self._judged = self._position
            sizes = np.bincount(self.numbers, minlength=len(self.values))
            missing = self.number_of(None)
            if missing is not None:
                sizes[missing] = 0
            self._distinct = bool((sizes <= 1).all())
        return self._distinct

    def number_of(self, value: Hashable) -> int | None:
        """The number of a value, None when no node ever had it."""
        return self._known.get(value)

    def _number(self, node: Node) -> int:
        value = self._read(node)
        number = self._known.get(value)
        if number is None:
            number = self._known[value] = len(self.values)
            self.values.append(value)
        return number


class Facets:
    """The facets in use, made at first use and kept."""

    def __init__(self) -> None:
        self._facets: dict[Hashable, Facet] = {}

    def get(self, name: Hashable, read: Callable[[Node], Hashable], nodes: list[Node], changed: Log) -> Facet:
        """The facet of that name, up to date."""
        facet = self._facets.get(name)
        if facet is None:
            facet = self._facets[name] = Facet(read)
        return facet.refresh(nodes, changed)

    def label(self, key: str, nodes: list[Node], changed: Log) -> Facet:
        """The values of a label; None is the value of nodes without it."""
        return self.get(("label", key), lambda node: node.labels.get(key), nodes, changed)
