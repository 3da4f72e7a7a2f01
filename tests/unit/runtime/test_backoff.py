from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.backoff import Backoff

STEADY = Backoff(base=0.5, factor=2.0, cap=5.0, jitter=0.0)


@pytest.mark.parametrize(
    ("failures", "expected"), [(0, 0.5), (1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 5.0), (10**9, 5.0)]
)
def test_pauses_double_up_to_the_cap(failures: int, expected: float) -> None:
    assert STEADY.pause(failures) == expected


@pytest.mark.parametrize(("luck", "expected"), [(0.0, 1.0), (0.5, 1.25), (1.0, 1.5)])
def test_jitter_adds_a_share_at_random(luck: float, expected: float) -> None:
    assert Backoff(base=1.0, jitter=0.5).pause(1, lambda: luck) == expected


@given(
    failures=st.integers(1, 2000), base=st.floats(0.001, 10), factor=st.floats(1, 10), cap=st.floats(0.001, 100),
    jitter=st.floats(0, 1), luck=st.floats(0, 1),
)  # fmt: skip
def test_a_pause_stays_within_its_bounds(
    *, failures: int, base: float, factor: float, cap: float, jitter: float, luck: float
) -> None:
    backoff = Backoff(base, factor, cap, jitter)
    pause = backoff.pause(failures, lambda: luck)
    assert min(base, cap) <= pause <= cap * (1 + jitter)
    assert backoff.pause(failures + 1, lambda: luck) >= pause


def test_clients_that_failed_together_come_back_apart() -> None:
    assert len({Backoff().pause(3) for _ in range(50)}) > 1
