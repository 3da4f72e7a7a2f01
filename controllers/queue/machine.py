"""
What becomes of a queue: by its state, by what is asked for, and by whether pod groups are left in it.

The table is the specification; nothing here reads or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from generated.bus.v1alpha1 import Action
from generated.scheduling.v1beta1 import QueueState
from runtime.controller import ReconcileError

SHUT: Final = frozenset((QueueState.CLOSING, QueueState.CLOSED))
"""States in which a queue takes no jobs."""


class InvalidStateError(ReconcileError):
    """A queue is in a state that nobody knows."""


class Operation(Enum):
    """How the queue gets there: which steps besides the change of state."""

    SYNC = "sync"
    OPEN = "open"
    CLOSE = "close"


class Goal(Enum):
    """The state to come."""

    OPEN = "open"
    SHUT = "shut"
    """Closed once it is empty, Closing before."""
    UNKNOWN = "unknown"


class Cell(NamedTuple):
    operation: Operation
    goal: Goal


class Row(NamedTuple):
    """What each action does in one state; `other` is every action but these two."""

    open_queue: Cell
    close_queue: Cell
    other: Cell


_STAY_OPEN: Final = Cell(Operation.SYNC, Goal.OPEN)
_STAY_SHUT: Final = Cell(Operation.SYNC, Goal.SHUT)
_STAY_UNKNOWN: Final = Cell(Operation.SYNC, Goal.UNKNOWN)
_OPEN: Final = Cell(Operation.OPEN, Goal.OPEN)
_CLOSE: Final = Cell(Operation.CLOSE, Goal.SHUT)

TABLE: Final[Mapping[str, Row]] = {
    #                        OpenQueue   CloseQueue  other
    "": Row(_STAY_OPEN, _CLOSE, _STAY_OPEN),
    QueueState.OPEN: Row(_STAY_OPEN, _CLOSE, _STAY_OPEN),
    QueueState.CLOSING: Row(_OPEN, _STAY_SHUT, _STAY_SHUT),
    QueueState.CLOSED: Row(_OPEN, _STAY_SHUT, _STAY_SHUT),
    QueueState.UNKNOWN: Row(_OPEN, _CLOSE, _STAY_UNKNOWN),
}


def cell(queue: str, state: str, action: str) -> Cell:
    """What an action does to a queue in a state. Raises InvalidStateError."""
    row = TABLE.get(state)
    if row is None:
        raise InvalidStateError(f"queue {queue} state {state} is invalid")
    if action == Action.OPEN_QUEUE:
        return row.open_queue
    return row.close_queue if action == Action.CLOSE_QUEUE else row.other


def target(goal: Goal, groups: int) -> str:
    """The state that a goal means for a queue with so many pod groups."""
    if goal is Goal.OPEN:
        return QueueState.OPEN
    if goal is Goal.UNKNOWN:
        return QueueState.UNKNOWN
    return QueueState.CLOSING if groups else QueueState.CLOSED
