"""How classes of nodes open, close and change their worth while a run is placed (see `scheduler.placing.tracks`)."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.placing.tracks import Classes, Domains


class Closing:
    """A domain takes one task and no more; nodes without the label are not concerned."""

    def __init__(self, key: str, missing: int | None) -> None:
        self.keys = (key,)
        self._missing = missing

    def begin(self, domains: Domains) -> None:
        """All domains are open: those that are not have been left out."""
        self._domains = [domain for (domain,) in domains]
        self._open = [True] * len(domains)

    def is_open(self) -> Sequence[bool]:
        """Domains that have not been used."""
        return self._open

    def place(self, number: int) -> None:
        """Close the domain."""
        used = self._domains[number]
        if used != self._missing:
            self._open = [is_open and domain != used for domain, is_open in zip(self._domains, self._open, strict=True)]


class Skew:
    """A domain takes a task as long as it then has at most `max_skew` pods more than the emptiest one."""

    def __init__(self, key: str, counts: list[float], domains: Sequence[int], max_skew: int, minimum: int) -> None:
        self.keys = (key,)
        self._counts = counts
        self._counted = domains
        self._max_skew = max_skew
        self._has_minimum = len(domains) >= minimum

    def begin(self, domains: Domains) -> None:
        """Take in the classes."""
        self._domains = [domain for (domain,) in domains]

    def is_open(self) -> Sequence[bool]:
        """By the counts as they are."""
        counts = self._counts
        least = min([counts[domain] for domain in self._counted]) if self._has_minimum else 0.0
        most = least + self._max_skew - 1
        return [counts[domain] <= most for domain in self._domains]

    def place(self, number: int) -> None:
        """One more in the domain."""
        self._counts[self._domains[number]] += 1.0


class Summing:
    """
    The worth of a class is the sum of its domains' worth, and its level.

    `tables`: (worth by value, gain, number of no value).
    """

    def __init__(self, keys: tuple[str, ...], tables: Sequence[tuple[list[float], float, int | None]]) -> None:
        self.keys = keys
        self._tables = tables

    def begin(self, classes: Classes) -> None:
        """Take in the classes."""
        self._classes = classes

    def raw(self, live: Sequence[int]) -> Sequence[float]:
        """The sums."""
        worth = [table for table, _, _ in self._tables]
        domains, levels = self._classes.domains, self._classes.levels
        return [
            levels[number] + sum([table[at] for table, at in zip(worth, domains[number], strict=True)])
            for number in live
        ]

    def place(self, number: int) -> None:
        """The domains of the class gain."""
        for (table, gain, missing), domain in zip(self._tables, self._classes.domains[number], strict=True):
            if domain != missing:
                table[domain] += gain
