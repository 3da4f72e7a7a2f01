"""The log of touched columns tells each one once, as far back as it reaches."""

from __future__ import annotations

import pytest

from scheduler.state.touched import Log


@pytest.mark.parametrize(("rows", "expected"), [([], []), ([3], [3]), ([5, 1, 5, 0], [0, 1, 5])])
def test_columns_come_once_and_ascending(rows: list[int], expected: list[int]) -> None:
    log = Log()
    log.extend((7,))
    position = log.position
    log.extend(rows)
    found = log.since(position)
    assert found is not None
    assert found.tolist() == expected


def test_a_position_before_the_log_was_void_is_unknown() -> None:
    log = Log()
    position = log.position
    log.extend((1,))
    log.reset()
    assert log.since(position) is None
