"""
What a job or queue holds and wants, as one matrix of running totals, so that no plugin ever sums over pods.

An account is never changed in place: whoever keeps a reference (the journal does) keeps the totals of that moment.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from api import names
from scheduler.state.dimensions import Floats
from scheduler.state.status import ALLOCATED, Status

if TYPE_CHECKING:
    from scheduler.state.task import Task


class Entry(IntEnum):
    """The rows of an account."""

    ALLOCATED = 0
    """Requests of tasks in allocated statuses."""
    CLAIMED = 1
    """The same and those of tasks pipelined in the session: what fair shares are measured by."""
    WANTED = 2
    """Requests of tasks in allocated statuses or pending."""
    TOTAL = 3
    """Requests of all tasks, finished ones included."""
    GATED = 4
    """Requests of tasks that a scheduling gate keeps back, the queue's own admission gate alone left out."""
    RESERVED = 5
    """What the job's minimum still keeps free, once it was let into its queue; settled between sessions."""
    ELASTIC = 6
    """What is allocated beyond the job's minimum; settled between sessions."""


def _weights(status: Status) -> tuple[int, ...]:
    allocated = status in ALLOCATED
    return (allocated, allocated or status is Status.PIPELINED, allocated or status is Status.PENDING, 1, 0, 0, 0)


_WEIGHTS = {status: np.array(_weights(status), dtype=np.float64)[:, None] for status in Status}
_MOVES = {
    (before, after): difference if (difference := _WEIGHTS[after] - _WEIGHTS[before]).any() else None
    for before in Status
    for after in Status
}
_GATED = np.array([[0], [0], [0], [0], [1], [0], [0]], dtype=np.float64)


class Accounted:
    """Base of jobs and queues. `account` is `(len(Entry), dims) float64`; its rows are `(dims,)` each."""

    __slots__ = ("account",)

    def __init__(self) -> None:
        self.account: Floats = empty(3)

    @property
    def allocated(self) -> Floats:
        """`Entry.ALLOCATED`."""
        return self._row(Entry.ALLOCATED)

    @property
    def claimed(self) -> Floats:
        """`Entry.CLAIMED`."""
        return self._row(Entry.CLAIMED)

    @property
    def wanted(self) -> Floats:
        """`Entry.WANTED`."""
        return self._row(Entry.WANTED)

    @property
    def total(self) -> Floats:
        """`Entry.TOTAL`."""
        return self._row(Entry.TOTAL)

    @property
    def gated(self) -> Floats:
        """`Entry.GATED`."""
        return self._row(Entry.GATED)

    @property
    def reserved(self) -> Floats:
        """`Entry.RESERVED`."""
        return self._row(Entry.RESERVED)

    @property
    def elastic(self) -> Floats:
        """`Entry.ELASTIC`."""
        return self._row(Entry.ELASTIC)

    def _row(self, entry: Entry) -> Floats:
        row: Floats = self.account[entry]
        return row

    def widen(self, width: int) -> None:
        """Make room for further dimensions, of which nothing is held."""
        self.account = np.pad(self.account, ((0, 0), (0, width - self.account.shape[1])))


def empty(width: int) -> Floats:
    """An account of nothing."""
    return np.zeros((len(Entry), width))


def present(task: Task, row: Floats) -> Floats:
    """What a task adds to the account of its job by being there; `row` is its request."""
    weights = _WEIGHTS[task.status]
    return (weights + _GATED if _is_held_back(task) else weights) * row


def moved(before: Status, after: Status, row: Floats, number: int) -> Floats | None:
    """What `number` tasks with that request change by going from a status to another; None when it is nothing."""
    weights = _MOVES[before, after]
    return None if weights is None else weights * (number * row)


def _is_held_back(task: Task) -> bool:
    return task.is_gated and task.shape.gates != (names.QUEUE_ALLOCATION_GATE,)
