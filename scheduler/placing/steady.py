"""Watches a normalised score over classes of nodes: its bounds must not change while a run is placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Rows

if TYPE_CHECKING:
    from scheduler.placing.ranking import Bound


class Steady:
    """
    The bounds of each class of a run and how many nodes hold them.

    Cautious: it may say that the bounds changed when they didn't, never the other way round.
    """

    def __init__(self, bound: Bound, rows: Rows, numbers: Rows) -> None:
        assert bound.score.normaliser is not None
        self._normaliser = bound.score.normaliser
        self._bounds = bound.bounds
        self._raw = bound.raw
        raw = bound.raw[rows]
        self._is_flat = len(raw) == 0 or bool((raw == raw[0]).all())
        if self._is_flat:
            return
        classes = [raw[numbers == number] for number in range(int(numbers.max()) + 1)]
        self._of_class = [self._normaliser.bounds(each) for each in classes]
        self._holders = [
            [int(np.count_nonzero(each == value)) for value in bounds]
            for each, bounds in zip(classes, self._of_class, strict=True)
        ]

    def leaves(self, number: int, row: int) -> bool:
        """A node of a class takes no more tasks; whether its bounds keep a holder."""
        if self._is_flat:
            return True
        value = self._raw[row]
        holders = self._holders[number]
        for side, held in enumerate(self._of_class[number]):
            if held == value:
                holders[side] -= 1
        return all(holders)

    def stands(self, live: Sequence[int]) -> bool:
        """Whether these classes together have the bounds under which the run began."""
        if self._is_flat or not live:
            return True
        together = np.array([value for number in live for value in self._of_class[number]])
        return self._normaliser.bounds(together) == self._bounds
