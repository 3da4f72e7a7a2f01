from __future__ import annotations

import asyncio
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.ratelimit import Gate, Rush, TokenBucket
from runtime.requests import Priority
from tests.virtual_time import run_virtually


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    bucket = TokenBucket(qps=10, burst=3, now=0.0)
    assert [bucket.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.wait(0.0) == pytest.approx(0.1)
    assert not bucket.take(0.09)
    assert bucket.take(0.1001)


def test_idle_time_saves_up_no_more_than_the_burst() -> None:
    bucket = TokenBucket(qps=10, burst=3, now=0.0)
    assert [bucket.take(1000.0) for _ in range(4)] == [True, True, True, False]


def test_a_token_can_be_given_back_but_not_more_than_the_burst() -> None:
    bucket = TokenBucket(qps=1, burst=1, now=0.0)
    assert bucket.take(0.0)
    bucket.give_back()
    bucket.give_back()
    assert [bucket.take(0.0), bucket.take(0.0)] == [True, False]


def test_a_burst_below_one_still_lets_requests_through() -> None:
    assert TokenBucket(qps=5, burst=0, now=0.0).take(0.0)


@pytest.mark.parametrize("qps", [0, -1])
def test_a_bucket_needs_a_rate(qps: float) -> None:
    with pytest.raises(ValueError, match="qps must be positive"):
        TokenBucket(qps, 1, 0.0)


@given(qps=st.floats(0.1, 5000), burst=st.integers(1, 100), gaps=st.lists(st.floats(0, 10), min_size=1, max_size=200))
def test_no_window_sees_more_than_burst_and_rate(qps: float, burst: int, gaps: list[float]) -> None:
    now = 0.0
    bucket = TokenBucket(qps, burst, now)
    taken = 0
    for gap in gaps:
        now += gap
        taken += bucket.take(now)
        assert taken <= burst + qps * now + 1e-6
        if (wait := bucket.wait(now)) > 0:
            assert not bucket.take(now)
            assert wait <= 1 / qps + 1e-9


def rush(seconds: float, until: float = 0.0) -> Rush:
    """After requests that came every so many seconds, the last one at `until`."""
    known = Rush()
    for number in reversed(range(int(60 / seconds))):
        known.note(until - number * seconds)
    return known


@pytest.mark.parametrize("seconds", [0.1, 0.04, 0.01])
def test_requests_that_trickle_or_went_on_for_long_hold_up_no_event(seconds: float) -> None:
    assert rush(seconds).pause(0.0) == 0.0


def test_a_rush_holds_events_up_until_it_is_over_and_for_a_while_at_most() -> None:
    known = Rush()
    for number in range(Rush.MANY):
        assert known.pause(number * 0.01) == 0.0
        known.note(number * 0.01)
    assert known.pause(0.15) == pytest.approx(Rush.WINDOW)
    assert known.pause(0.15 + Rush.WINDOW) == 0.0
    moments = [0.15 + number * 0.01 for number in range(int(Rush.LONGEST * 100) + 1)]
    for moment in moments:
        known.note(moment)
    assert known.pause(moments[-2]) == pytest.approx(0.01)
    assert known.pause(moments[-1]) == 0.0


def test_after_a_calm_moment_a_rush_is_a_new_one() -> None:
    known = rush(0.01)
    assert known.pause(0.0) == 0.0
    for number in range(Rush.MANY):
        known.note(2.0 + number * 0.01)
    assert known.pause(2.15) == pytest.approx(Rush.WINDOW)


def test_one_rush_a_second_is_one_rush() -> None:
    known = Rush()
    for second in range(int(Rush.LONGEST) + 10):
        for number in range(Rush.MANY):
            known.note(second + number * 0.01)
        if second:
            expected = min(Rush.RECURRING, Rush.LONGEST - second)
            assert known.pause(second + 0.15) == pytest.approx(max(0.0, expected), abs=0.2)
    assert known.end == pytest.approx(second + 0.15 + Rush.RECURRING)


async def enter_all(gate: Gate, priorities: list[Priority], *, slot: bool = False) -> list[tuple[Priority, float]]:
    """Enter with all at once; who came through, when."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    passed: list[tuple[Priority, float]] = []

    async def one(priority: Priority) -> None:
        await gate.enter(priority, slot=slot)
        passed.append((priority, loop.time() - begin))

    await asyncio.gather(*(one(priority) for priority in priorities))
    return passed


@pytest.mark.virtual_time
async def test_without_a_rate_nobody_waits() -> None:
    passed = await enter_all(Gate(qps=-1), [Priority.EVENT] * 1000)
    assert {moment for _, moment in passed} == {0.0}


@pytest.mark.virtual_time
async def test_those_who_wait_are_served_by_priority_and_then_by_arrival() -> None:
    gate = Gate(qps=10, burst=1)
    await gate.enter(Priority.READ)
    arrived = [Priority.EVENT, Priority.STATUS, Priority.BIND, Priority.DEFAULT, Priority.DELETE, Priority.READ]
    order: list[tuple[Priority, int]] = []

    async def one(priority: Priority, number: int) -> None:
        await gate.enter(priority)
        order.append((priority, number))

    await asyncio.gather(*(one(priority, number) for number in range(2) for priority in arrived))
    assert order == [(priority, number) for priority in sorted(arrived, reverse=True) for number in range(2)]


@pytest.mark.virtual_time
async def test_a_bind_overtakes_a_thousand_waiting_events() -> None:
    loop = asyncio.get_running_loop()
    gate = Gate(qps=100, burst=1)
    events = [asyncio.create_task(gate.enter(Priority.EVENT)) for _ in range(1000)]
    await asyncio.sleep(1.0)
    before = loop.time()
    await gate.enter(Priority.BIND)
    assert loop.time() - before <= 0.01 + 1e-6
    await asyncio.gather(*events)
    assert loop.time() == pytest.approx(10.0, rel=0.01)


@pytest.mark.virtual_time
async def test_the_rate_is_reached_exactly_with_two_thousand_a_second() -> None:
    passed = await enter_all(Gate(qps=2000, burst=2000), [Priority.DEFAULT] * 6000)
    assert passed[1999][1] == 0.0
    assert passed[-1][1] == pytest.approx(2.0, rel=0.01)


@pytest.mark.virtual_time
async def test_only_so_many_are_in_flight_and_the_next_is_the_most_urgent() -> None:
    gate = Gate(in_flight=2)
    await gate.enter(Priority.EVENT)
    await gate.enter(Priority.EVENT)
    event = asyncio.create_task(gate.enter(Priority.EVENT))
    bind = asyncio.create_task(gate.enter(Priority.BIND))
    await asyncio.sleep(1)
    assert gate.waiting == 2
    gate.leave()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bind.done()
    assert not event.done()
    gate.leave()
    await event
    assert gate.waiting == 0


@pytest.mark.virtual_time
async def test_streams_take_no_slot() -> None:
    gate = Gate(in_flight=1)
    await gate.enter(Priority.READ)
    for _ in range(10):
        await asyncio.wait_for(gate.enter(Priority.READ, slot=False), 1)


@pytest.mark.virtual_time
async def test_one_who_gives_up_while_waiting_costs_the_others_nothing() -> None:
    loop = asyncio.get_running_loop()
    gate = Gate(qps=1, burst=1, in_flight=5)
    await gate.enter(Priority.READ)
    quitters = [asyncio.create_task(gate.enter(Priority.BIND)) for _ in range(10)]
    patient = asyncio.create_task(gate.enter(Priority.EVENT))
    await asyncio.sleep(0.1)
    for task in quitters:
        task.cancel()
    await patient
    assert loop.time() == pytest.approx(1.0, abs=0.01)
    assert gate.waiting == 0


@pytest.mark.virtual_time
async def test_one_cancelled_at_the_moment_of_its_turn_hands_it_on() -> None:
    gate = Gate(in_flight=1)
    await gate.enter(Priority.READ)
    first = asyncio.create_task(gate.enter(Priority.BIND))
    second = asyncio.create_task(gate.enter(Priority.EVENT))
    await asyncio.sleep(0)
    gate.leave()  # the turn is the first one's now, which doesn't know yet
    first.cancel()
    await asyncio.wait_for(second, 1)
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.virtual_time
async def test_a_token_taken_by_a_cancelled_turn_is_not_lost() -> None:
    loop = asyncio.get_running_loop()
    gate = Gate(qps=0.1, burst=2, in_flight=1)
    await gate.enter(Priority.READ)
    first = asyncio.create_task(gate.enter(Priority.BIND))
    await asyncio.sleep(0)
    gate.leave()
    first.cancel()
    await asyncio.sleep(0.1)
    await gate.enter(Priority.READ)
    assert loop.time() < 1


steps = st.lists(st.tuples(st.sampled_from(list(Priority)), st.floats(0, 2), st.floats(0, 3)), min_size=1, max_size=40)


@given(steps)
def test_everyone_gets_through_or_gives_up_and_no_slot_is_lost(plan: list[tuple[Priority, float, float]]) -> None:
    async def one(gate: Gate, priority: Priority, begin: float, patience: float) -> None:
        await asyncio.sleep(begin)
        try:
            await asyncio.wait_for(gate.enter(priority), patience)
        except TimeoutError:
            return
        await asyncio.sleep(0.3)
        gate.leave()

    async def main() -> None:
        gate = Gate(qps=7, burst=2, in_flight=3)
        await asyncio.gather(*(one(gate, *step) for step in plan))
        assert gate.waiting == 0
        for _ in range(3):
            await asyncio.wait_for(gate.enter(Priority.EVENT), 10)

    run_virtually(main())


@pytest.mark.virtual_time
async def test_a_long_queue_is_served_without_looking_at_all_of_it() -> None:
    async def seconds(count: int) -> float:
        begin = time.process_time()
        await enter_all(Gate(qps=1e6, burst=1), [Priority.EVENT] * count)
        return time.process_time() - begin

    await seconds(100)
    small = min([await seconds(1000) for _ in range(3)])
    assert await seconds(16_000) < 16 * 4 * small + 0.05


@pytest.mark.virtual_time
async def test_an_event_waits_for_the_end_of_a_rush_and_for_nothing_less() -> None:
    gate, loop = Gate(), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(Rush.MANY - 1):
        await gate.enter(Priority.BIND)
    await gate.enter(Priority.EVENT)
    assert loop.time() == began
    await gate.enter(Priority.BIND)
    await gate.enter(Priority.EVENT)
    assert loop.time() == pytest.approx(began + Rush.WINDOW)


async def test_a_token_that_comes_between_two_looks_at_the_clock_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    looks = itertools.count()
    monkeypatch.setattr(loop, "time", lambda: time.monotonic() + next(looks) * 0.0004)
    gate = Gate(qps=1000, burst=1)
    async with asyncio.timeout(20):
        for _ in range(50):
            await gate.enter(Priority.DEFAULT)
