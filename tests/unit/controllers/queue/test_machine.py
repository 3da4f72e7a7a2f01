"""Every cell of the queue's state table."""

from __future__ import annotations

import pytest

from controllers.queue.machine import TABLE, Goal, InvalidStateError, Operation, cell, target
from runtime.controller import ReconcileError

OPEN, CLOSE, SYNC = "OpenQueue", "CloseQueue", "SyncQueue"
CELLS = [
    ("", OPEN, Operation.SYNC, "Open", "Open"),
    ("", CLOSE, Operation.CLOSE, "Closed", "Closing"),
    ("", SYNC, Operation.SYNC, "Open", "Open"),
    ("Open", OPEN, Operation.SYNC, "Open", "Open"),
    ("Open", CLOSE, Operation.CLOSE, "Closed", "Closing"),
    ("Open", SYNC, Operation.SYNC, "Open", "Open"),
    ("Closing", OPEN, Operation.OPEN, "Open", "Open"),
    ("Closing", CLOSE, Operation.SYNC, "Closed", "Closing"),
    ("Closing", SYNC, Operation.SYNC, "Closed", "Closing"),
    ("Closed", OPEN, Operation.OPEN, "Open", "Open"),
    ("Closed", CLOSE, Operation.SYNC, "Closed", "Closing"),
    ("Closed", SYNC, Operation.SYNC, "Closed", "Closing"),
    ("Unknown", OPEN, Operation.OPEN, "Open", "Open"),
    ("Unknown", CLOSE, Operation.CLOSE, "Closed", "Closing"),
    ("Unknown", SYNC, Operation.SYNC, "Unknown", "Unknown"),
]


@pytest.mark.parametrize(("state", "action", "operation", "empty", "filled"), CELLS)
def test_a_state_and_an_action_give_an_operation_and_a_state(
    state: str, action: str, operation: Operation, empty: str, filled: str
) -> None:
    found = cell("q", state, action)
    assert found.operation is operation
    assert [target(found.goal, groups) for groups in (0, 1, 7)] == [empty, filled, filled]


def test_every_cell_of_the_table_is_tested() -> None:
    assert {(state, action) for state, action, *_ in CELLS} == {(s, a) for s in TABLE for a in (OPEN, CLOSE, SYNC)}


@pytest.mark.parametrize("action", ["", "AbortJob", "whatever"])
def test_an_unknown_action_is_a_sync(action: str) -> None:
    assert [cell("q", state, action) for state in TABLE] == [cell("q", state, SYNC) for state in TABLE]


@pytest.mark.parametrize("action", [OPEN, CLOSE, SYNC])
def test_an_unknown_state_is_refused(action: str) -> None:
    with pytest.raises(InvalidStateError, match="queue q state Ajar is invalid"):
        cell("q", "Ajar", action)


def test_goals_are_states() -> None:
    assert [target(goal, 0) for goal in Goal] == ["Open", "Closed", "Unknown"]


def test_an_unknown_state_is_a_failure_that_is_foreseen() -> None:
    with pytest.raises(ReconcileError):
        cell("q", "Ajar", SYNC)
