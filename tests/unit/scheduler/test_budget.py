from __future__ import annotations

import pytest

from scheduler.budget import Budget


def test_the_time_is_over_when_the_stopwatch_says_so_and_stays_over() -> None:
    ticks = iter([10.0, 10.5, 11.0, 10.0])
    budget = Budget.of_seconds(1.0, lambda: next(ticks))
    assert [budget(), budget(), budget(), budget()] == [False, True, True, True]
    assert (budget.over_at, budget.asked) == (2, 4)


@pytest.mark.parametrize(
    ("over_at", "answers"), [(None, [False] * 4), (1, [True] * 4), (3, [False, False, True, True])]
)
def test_a_replay_is_over_at_the_same_question(over_at: int | None, answers: list[bool]) -> None:
    budget = Budget.replayed(over_at)
    assert [budget() for _ in range(4)] == answers
    assert budget.over_at == over_at
