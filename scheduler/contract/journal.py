"""
What a session did, in a form that can be taken back exactly.

Every change of state or of a plugin's ledger pushes the old values. Taking back restores these: sums are never
reversed by arithmetic, which would not give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Undo = tuple[Any, ...]
"""A function and its arguments; the function restores what they hold."""


class Journal:
    """A stack of undo records."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: list[Undo] = []

    def __len__(self) -> int:
        return len(self._records)

    def push(self, restore: Callable[..., None], *saved: Any) -> None:
        """Record how to take back a change that was just made, or is about to be."""
        self._records.append((restore, *saved))

    def rollback(self, mark: int) -> None:
        """Take back everything since the journal had `mark` records, newest first."""
        records = self._records
        while len(records) > mark:
            restore, *saved = records.pop()
            restore(*saved)

    def clear(self) -> None:
        """Forget how to take back; the changes stay."""
        self._records.clear()
