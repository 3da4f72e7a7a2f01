"""
Which node columns changed, for readers that keep something computed a column.

A reader remembers a position in the log and asks later what came after it. The log is cut when it grows long; a
reader that is further behind than that computes everything anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scheduler.state.dimensions import Rows

_KEEP = 200_000


class Touched:
    """Two logs of columns: `moved` (what tasks hold there changed) and `changed` (the node itself changed)."""

    __slots__ = ("changed", "moved")

    def __init__(self) -> None:
        self.moved = Log()
        self.changed = Log()

    def renumbered(self) -> None:
        """Columns got new numbers: everything kept by column is void."""
        self.moved.reset()
        self.changed.reset()


class Log:
    """An append-only list of columns with positions that stay valid when its head is cut."""

    __slots__ = ("_base", "_rows")

    def __init__(self) -> None:
        self._base = 1
        self._rows: list[int] = []

    @property
    def position(self) -> int:
        """Where the log ends now. Position 0 lies before everything."""
        return self._base + len(self._rows)

    def add(self, row: int) -> None:
        """Append one column."""
        self._rows.append(row)

    def extend(self, rows: Iterable[int]) -> None:
        """Append columns."""
        self._rows.extend(rows)
        if len(self._rows) > _KEEP:
            cut = len(self._rows) // 2
            del self._rows[:cut]
            self._base += cut

    def since(self, position: int) -> Rows | None:
        """The distinct columns since a position, ascending; None when the log no longer reaches back that far."""
        if position < self._base:
            return None
        tail = np.array(self._rows[position - self._base :], dtype=np.intp)
        # Counting beats sorting: there are no more columns than nodes.
        return tail if len(tail) < 2 else np.flatnonzero(np.bincount(tail))

    def reset(self) -> None:
        """Void all positions."""
        self._base += len(self._rows) + 1
        self._rows.clear()
