"""
What queues were last told to hold, and what is still to be told them (scheduler.md 14.5, 20.3).

A status is written only when it means something else than the last one, and at most once a period for each queue;
meanwhile the newest one waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from api.resources import from_numbers, is_same, raw
from scheduler.fairness.levels import Level

if TYPE_CHECKING:
    from scheduler.state.dimensions import Floats

Allocated = Mapping[str, str | int | float]


class _Told(msgspec.Struct):
    allocated: Allocated
    """What the server has, as far as is known here."""
    at: float = float("-inf")
    """When it was written, in seconds."""
    row: Floats | None = None
    """The numbers that were offered last."""
    waiting: Allocated | None = None


class QueueStatuses:
    """Per queue, by uid. `period` in seconds."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._told: dict[str, _Told] = {}

    def offer(self, level: Level, now: float) -> float | None:
        """Take in what a queue holds; in how many seconds it is to be written, None when nothing more is to be done."""
        obj = level.queue.object
        if obj is None:
            return None
        told = self._told.get(obj.metadata.uid)
        if told is None:
            told = self._told[obj.metadata.uid] = _Told(dict(obj.status.allocated))
        if told.row is not None and np.array_equal(told.row, level.row):
            return None
        told.row = level.row
        wanted = raw(from_numbers(level.amounts))
        if is_same(wanted, told.allocated):
            told.waiting = None
            return None
        had_one = told.waiting is not None
        told.waiting = wanted
        return None if had_one else max(0.0, told.at + self._period - now)

    def next(self, uid: str, now: float) -> tuple[Allocated, Allocated] | None:
        """What to write now for a queue, and what the server has; None when that has become unnecessary."""
        told = self._told.get(uid)
        if told is None or told.waiting is None:
            return None
        wanted, told.waiting, told.at = told.waiting, None, now
        return wanted, told.allocated

    def written(self, uid: str, allocated: Allocated) -> None:
        """The server has it."""
        told = self._told.get(uid)
        if told is not None:
            told.allocated = allocated

    def failed(self, uid: str, allocated: Allocated) -> bool:
        """It could not be written; whether it waits again, which it doesn't when something newer does already."""
        told = self._told.get(uid)
        if told is None or told.waiting is not None:
            return False
        told.waiting = allocated
        return True

    def keep(self, uids: set[str]) -> None:
        """Forget the queues that are gone."""
        for uid in self._told.keys() - uids:
            del self._told[uid]
