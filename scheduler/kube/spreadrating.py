"""The spread score by class of nodes, through a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scheduler.kube.constraints import IGNORED
from scheduler.placing.tracks import Classes


class Spreading:
    """
    Pods in the domains of a class, each weighed by how many domains have candidates.

    `tables`: (pods by value, gain, max skew, number of no value) of each constraint. `host_skew` is that of a
    constraint over hosts, where the level of a class is the number of pods on each of its nodes.
    """

    def __init__(
        self,
        keys: tuple[str, ...],
        tables: Sequence[tuple[list[float], float, int, int | None]],
        host_skew: int | None = None,
    ) -> None:
        self.keys = keys
        self._tables = tables
        self._host_skew = host_skew

    def begin(self, classes: Classes) -> None:
        """Take in the classes; those without one of the labels are not rated."""
        missing = [number for *_, number in self._tables]
        domains = self._domains = classes.domains
        self._levels = classes.levels
        self._rated = [all(at != none for at, none in zip(each, missing, strict=True)) for each in domains]
        rated = [nodes for nodes, is_rated in zip(classes.nodes, self._rated, strict=True) if is_rated]
        self._host_weight = math.log(sum(rated) + 2)
        self._live: Sequence[int] = ()
        self._weights: list[float] = []

    def raw(self, live: Sequence[int]) -> Sequence[float]:
        """As `spread.rate` would say with the nodes of these classes as candidates."""
        if live != self._live:
            self._live = list(live)
            rated = [self._domains[number] for number in live if self._rated[number]]
            self._weights = [math.log(len({each[place] for each in rated}) + 2) for place in range(len(self._tables))]
        return [self._rate(number) for number in live]

    def _rate(self, number: int) -> float:
        if not self._rated[number]:
            return IGNORED
        total = 0.0
        if self._host_skew is not None:
            total += self._levels[number] * self._host_weight + (self._host_skew - 1)
        for (counts, _, max_skew, _), weight, domain in zip(
            self._tables, self._weights, self._domains[number], strict=True
        ):
            total += counts[domain] * weight + (max_skew - 1)
        return float(math.floor(total + 0.5))

    def place(self, number: int) -> None:
        """One more in each domain of the class."""
        if self._rated[number]:
            for (counts, gain, *_), domain in zip(self._tables, self._domains[number], strict=True):
                counts[domain] += gain
