"""What a plugin keeps account of during a session, taken back with the statements that changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from scheduler.contract.journal import Journal

K = TypeVar("K")
V = TypeVar("V")


class Ledger(Generic[K, V]):
    """
    A mapping whose changes are journalled. Values must not be changed in place: set a new one.

    Got from `Session.ledger`; a plugin that accounts elsewhere has to take its changes back itself, in its
    `deallocate` handler.
    """

    __slots__ = ("_journal", "_values")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._values: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K, default: V) -> V:
        """The value, or the default where none was set."""
        return self._values.get(key, default)

    def __setitem__(self, key: K, value: V) -> None:
        if key in self._values:
            self._journal.push(self._values.__setitem__, key, self._values[key])
        else:
            self._journal.push(self._values.__delitem__, key)
        self._values[key] = value
