from __future__ import annotations

import pytest

from runtime.errors import ConnectionFailed
from runtime.failures import is_conflict, is_excused, is_outage
from runtime.lease import LeaseLost
from tests.unit.runtime.scripted import failure


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "outage", "conflict"),
    [
        (failure(500), True, False),
        (failure(503), True, False),
        (failure(429), True, False),
        (ConnectionFailed("refused"), True, False),
        (ConnectionFailed("untrusted", permanent=True), True, False),
        (LeaseLost("not held"), True, False),
        (failure(409, "Conflict"), False, True),
        (failure(409, "AlreadyExists"), False, False),
        (failure(403), False, False),
        (failure(422), False, False),
        (RuntimeError("a defect"), False, False),
        (TimeoutError("too slow"), False, False),
    ],
)
def test_outages_and_conflicts_are_nobody_s_fault(error: Exception, outage: bool, conflict: bool) -> None:
    assert (is_outage(error), is_conflict(error), is_excused(error)) == (outage, conflict, outage or conflict)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (caused(RuntimeError("3 pods failed"), failure(500)), True),
        (caused(RuntimeError("outer"), caused(RuntimeError("inner"), LeaseLost("gone"))), True),
        (caused(RuntimeError("3 pods failed"), failure(403)), False),
        (ExceptionGroup("several", [failure(500), ConnectionFailed("reset")]), True),
        (ExceptionGroup("several", [failure(500), failure(403)]), False),
        (caused(RuntimeError("outer"), ExceptionGroup("several", [failure(500)])), True),
    ],
)
def test_an_outage_is_found_behind_what_it_caused(error: Exception, expected: bool) -> None:
    assert is_outage(error) is expected


def test_what_merely_came_before_is_no_cause() -> None:
    error = RuntimeError("a defect in the handling of an outage")
    error.__context__ = failure(500)
    assert not is_outage(error)


def test_causes_in_a_circle_end() -> None:
    first, second = RuntimeError("first"), RuntimeError("second")
    first.__cause__, second.__cause__ = second, first
    assert not is_outage(first)
