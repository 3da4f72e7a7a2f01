"""
The functions of a template for one node at a time, where each of those that a placement makes stale has a single form.

Gives the same bits as the layer `near` of the template, and its `fits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.placing.ranking import GRID, NO
from scheduler.state.dimensions import MIN_RESOURCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.cells import NodeCells, Passes, Rate
    from scheduler.contract.effects import Filter, Score
    from scheduler.state.dimensions import Dimensions
    from scheduler.state.task import Task


class Single:
    """Made by `single_of`."""

    def __init__(
        self,
        needed: Sequence[tuple[int, float]],
        tests: Sequence[Passes],
        rates: Sequence[tuple[float, Rate]],
    ) -> None:
        self._needed = needed
        self._tests = tests
        self._rates = rates

    def worth(self, node: NodeCells) -> float:
        """`plain`, `NO` where the node has no room now or a filter refuses."""
        return self.plain(node) if self.fits_idle(node) and self.passes(node) else NO

    def passes(self, node: NodeCells) -> bool:
        """Whether no filter refuses."""
        for test in self._tests:  # noqa: SIM110  # called for each state: twice as fast as `all`
            if not test(node):
                return False
        return True

    def fits_idle(self, node: NodeCells) -> bool:
        """Whether the request is within what is idle, and within what will be."""
        idle = node.idle
        for column, amount in self._needed:
            if not amount - idle[column] < MIN_RESOURCE:
                return False
        return node.is_plain or self.fits_future(node)

    def fits_future(self, node: NodeCells) -> bool:
        """Whether the request is within what will be idle."""
        future = node.future
        return all(amount - future[column] < MIN_RESOURCE for column, amount in self._needed)

    def plain(self, node: NodeCells) -> float:
        """The weighted sum of the scores."""
        total = 0.0
        for weight, rate in self._rates:
            total += weight * rate(node)
        return round(total * GRID) / GRID


def single_of(task: Task, dimensions: Dimensions, filters: Sequence[Filter], scores: Sequence[Score]) -> Single | None:
    """The single form of these functions; None where one of them has none."""
    tests, rates = [], []
    for function in filters:
        if function.single is None:
            return None
        tests.append(function.single(task, dimensions))
    for score in scores:
        if score.single is None or score.normaliser is not None:
            return None
        rates.append((score.weight, score.single(task, dimensions)))
    return Single(task.request.needed(dimensions), tests, rates)
