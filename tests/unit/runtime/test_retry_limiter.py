from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.retry_limiter import POD_RETRIES, RetryLimiter, RetryLimits

NO_TOKENS = RetryLimits(qps=0)


def pauses(limiter: RetryLimiter[str], count: int, now: float = 0.0) -> list[float]:
    return [limiter.next_pause("a", now) for _ in range(count)]


def test_the_pause_doubles_from_5_ms_to_1000_s() -> None:
    found = pauses(RetryLimiter(NO_TOKENS), 20)
    assert found[:4] == pytest.approx([0.005, 0.010, 0.020, 0.040])
    assert found[17:] == pytest.approx([655.36, 1000, 1000])


def test_the_cap_can_be_180_s() -> None:
    assert max(pauses(RetryLimiter(POD_RETRIES), 20)) == 180


def test_a_thousand_failures_overflow_nothing() -> None:
    assert pauses(RetryLimiter(NO_TOKENS), 2000)[-1] == 1000


def test_each_key_has_its_own_count_until_it_is_forgotten() -> None:
    limiter: RetryLimiter[str] = RetryLimiter(NO_TOKENS)
    pauses(limiter, 3)
    assert limiter.next_pause("b", 0) == 0.005
    assert (limiter.failures("a"), limiter.failures("b"), limiter.failures("c")) == (3, 1, 0)
    limiter.forget("a")
    limiter.forget("never seen")
    assert limiter.next_pause("a", 0) == 0.005
    assert len(limiter) == 2


def test_all_keys_share_the_tokens() -> None:
    limiter: RetryLimiter[int] = RetryLimiter(RetryLimits(base=0.0, qps=10, burst=100))
    found = [limiter.next_pause(key, 0.0) for key in range(120)]
    assert found[:100] == [0.0] * 100
    assert found[100:] == pytest.approx([(n + 1) / 10 for n in range(20)])


def test_tokens_come_back_with_time_up_to_the_burst() -> None:
    limiter: RetryLimiter[int] = RetryLimiter(RetryLimits(base=0.0, qps=10, burst=2))
    assert [limiter.next_pause(key, 0.0) for key in range(3)] == pytest.approx([0, 0, 0.1])
    assert limiter.next_pause(3, 0.2) == pytest.approx(0.0)
    assert limiter.next_pause(4, 0.2) == pytest.approx(0.1)
    assert [limiter.next_pause(key, 1000.0) for key in range(3)] == pytest.approx([0, 0, 0.1])


def test_the_longer_pause_decides() -> None:
    limiter: RetryLimiter[str] = RetryLimiter(RetryLimits(base=1.0, qps=10, burst=1))
    assert limiter.next_pause("a", 0.0) == 1.0
    limiter = RetryLimiter(RetryLimits(base=0.001, qps=10, burst=1))
    limiter.next_pause("a", 0.0)
    assert limiter.next_pause("b", 0.0) == pytest.approx(0.1)


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=60))
def test_never_more_keys_pass_than_tokens_came(gaps: list[float]) -> None:
    limits = RetryLimits(base=0.0, qps=10, burst=5)
    limiter: RetryLimiter[int] = RetryLimiter(limits)
    now, passed = 0.0, list[float]()
    for key, gap in enumerate(gaps):
        now += gap
        passed.append(now + limiter.next_pause(key, now))
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            allowed = limits.burst + (passed[last] - start) * limits.qps
            assert last - first + 1 <= allowed + 1e-6
