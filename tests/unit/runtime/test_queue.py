from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.queue import URGENT_IN_A_ROW, QueueShutDown, WorkQueue
from runtime.retry_limiter import RetryLimits
from tests.virtual_time import run_virtually

pytestmark = pytest.mark.virtual_time


def queue(**limits: Any) -> WorkQueue[str]:
    return WorkQueue("queue-test", RetryLimits(**limits))


async def ready(subject: WorkQueue[str]) -> str | None:
    """A key that is there at once, or None."""
    return await subject.get() if len(subject) else None


async def drained(subject: WorkQueue[str]) -> list[str]:
    """All keys that wait, in order, each worked on and done."""
    keys: list[str] = []
    while (key := await ready(subject)) is not None:
        keys.append(key)
        subject.done(key)
    return keys


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_keys_come_in_the_order_of_their_arrival() -> None:
    subject = queue()
    for key in "abc":
        subject.add(key)
    assert await drained(subject) == ["a", "b", "c"]


async def test_a_key_waits_once() -> None:
    subject = queue()
    for key in ("a", "b", "a", "a"):
        subject.add(key)
    assert len(subject) == 2
    assert await drained(subject) == ["a", "b"]


async def test_a_key_runs_once_at_a_time_and_once_more_if_added_meanwhile() -> None:
    subject = queue()
    subject.add("a")
    assert await subject.get() == "a"
    subject.add("a")
    subject.add("a")
    assert len(subject) == 0
    subject.done("a")
    assert await drained(subject) == ["a"]


async def test_getting_waits_for_a_key() -> None:
    subject = queue()
    getting = asyncio.ensure_future(subject.get())
    await asyncio.sleep(100)
    assert not getting.done()
    subject.add("a")
    assert await getting == "a"


async def test_each_waiting_worker_gets_one_key() -> None:
    subject = queue()
    workers = [asyncio.ensure_future(subject.get()) for _ in range(3)]
    await asyncio.sleep(1)
    for key in "abc":
        subject.add(key)
    assert await asyncio.gather(*workers) == ["a", "b", "c"]


async def test_a_worker_that_goes_away_loses_no_key() -> None:
    subject = queue()
    first, second = (asyncio.ensure_future(subject.get()) for _ in range(2))
    await asyncio.sleep(1)
    subject.add("a")  # wakes the first worker, which is cancelled before it can run
    first.cancel()
    assert await second == "a"


async def test_a_cancelled_worker_is_passed_over() -> None:
    subject = queue()
    first, second = (asyncio.ensure_future(subject.get()) for _ in range(2))
    await asyncio.sleep(1)
    first.cancel()
    await asyncio.sleep(1)
    subject.add("a")
    assert await second == "a"


async def test_a_delayed_key_comes_at_its_time() -> None:
    subject = queue()
    subject.add_after("b", 20)
    subject.add_after("a", 10)
    subject.add_after("now", 0)
    assert await subject.get() == "now"
    began = now()
    assert await subject.get() == "a"
    assert now() - began == pytest.approx(10)
    assert await subject.get() == "b"
    assert now() - began == pytest.approx(20)


@pytest.mark.parametrize("seconds", [(10, 30), (30, 10)])
async def test_of_several_times_the_earliest_counts(seconds: tuple[int, int]) -> None:
    subject = queue()
    for each in seconds:
        subject.add_after("a", each)
    assert subject.snapshot().delayed == 1
    await asyncio.sleep(11)
    assert await drained(subject) == ["a"]
    await asyncio.sleep(100)
    assert await drained(subject) == []


async def test_a_delayed_key_that_is_added_runs_now_and_again_at_its_time() -> None:
    subject = queue()
    subject.add_after("a", 10)
    subject.add("a")
    assert await drained(subject) == ["a"]
    await asyncio.sleep(11)
    assert await drained(subject) == ["a"]


async def test_a_key_whose_time_comes_while_it_runs_runs_again() -> None:
    subject = queue()
    subject.add("a")
    await subject.get()
    subject.add_after("a", 10)
    await asyncio.sleep(20)
    subject.done("a")
    assert await drained(subject) == ["a"]


async def test_failures_of_a_key_wait_longer_each_time_until_it_is_forgotten() -> None:
    subject = queue()
    pauses: list[float] = []
    for failures in (1, 2, 3, 1):
        began = now()
        subject.add_rate_limited("a")
        assert subject.failures("a") == failures
        subject.done(await subject.get())
        pauses.append(now() - began)
        if failures == 3:
            subject.forget("a")
    assert pauses == pytest.approx([0.005, 0.010, 0.020, 0.005])


async def test_many_failing_keys_share_ten_tries_a_second() -> None:
    subject = queue()
    for n in range(200):
        subject.add_rate_limited(f"k{n}")
    await asyncio.sleep(5.01)
    assert len(await drained(subject)) == 150


async def test_failing_keys_hold_up_no_healthy_one() -> None:
    subject = queue(qps=0)
    for n in range(1000):
        subject.add_rate_limited(f"broken{n}")
    await asyncio.sleep(1)
    subject.add("healthy")
    assert await subject.get() == "healthy"


async def test_the_flood_at_the_start_holds_up_no_change() -> None:
    subject = queue()
    for key in ("x", "y", "z"):
        subject.add(key, is_urgent=False)
    subject.add("changed")
    subject.add("y")
    assert await drained(subject) == ["changed", "y", "x", "z"]


@pytest.mark.parametrize("urgencies", [(True, False), (False, True)])
async def test_urgency_is_not_lost_while_a_key_runs(urgencies: tuple[bool, bool]) -> None:
    subject = queue()
    subject.add("a")
    await subject.get()
    subject.add("b", is_urgent=False)
    for is_urgent in urgencies:
        subject.add("a", is_urgent=is_urgent)
    subject.done("a")
    assert await drained(subject) == ["a", "b"]


async def test_patient_keys_have_their_turn_among_urgent_ones() -> None:
    subject = queue()
    subject.add("patient", is_urgent=False)
    for n in range(3 * URGENT_IN_A_ROW):
        subject.add(f"urgent{n}")
    assert (await drained(subject)).index("patient") == URGENT_IN_A_ROW


async def test_done_of_a_key_that_does_not_run_is_an_error() -> None:
    subject = queue()
    subject.add("a")
    with pytest.raises(ValueError, match="queue-test: 'a' is not running"):
        subject.done("a")


async def test_shutting_down_drops_what_waits_and_wakes_the_workers() -> None:
    subject = queue()
    idle = asyncio.ensure_future(subject.get())
    await asyncio.sleep(1)
    subject.add("running")
    assert await idle == "running"
    workers = [asyncio.ensure_future(subject.get()) for _ in range(2)]
    await asyncio.sleep(1)
    subject.add_after("later", 10)
    subject.add("running")
    was_shut_down = subject.is_shut_down
    down = asyncio.ensure_future(subject.wait_shut_down())
    subject.shut_down()
    await down
    assert (was_shut_down, subject.is_shut_down) == (False, True)
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [QueueShutDown, QueueShutDown]
    subject.done("running")
    for add in (subject.add, subject.add_rate_limited):
        add("a")
    subject.add_after("a", 0)
    subject.add_after("a", 1)
    await asyncio.sleep(60)
    with pytest.raises(QueueShutDown, match="queue-test was shut down"):
        await subject.get()


async def test_draining_hands_out_what_waits() -> None:
    subject = queue()
    for key in "ab":
        subject.add(key)
    assert await subject.get() == "a"
    subject.add("a")
    subject.add_after("later", 10)
    subject.shut_down(drain=True)
    idle = asyncio.ensure_future(subject.wait_idle())
    subject.done("a")
    assert await subject.get() == "b"
    subject.done("b")
    await asyncio.sleep(1)
    assert not idle.done()
    assert await drained(subject) == ["a"]
    await idle
    with pytest.raises(QueueShutDown):
        await subject.get()


async def test_idle_means_that_nothing_waits_or_runs() -> None:
    subject = queue()
    await subject.wait_idle()
    subject.add("a")
    subject.add_after("later", 1000)
    idle = asyncio.ensure_future(subject.wait_idle())
    await subject.get()
    await asyncio.sleep(10)
    assert not idle.done()
    subject.done("a")
    await idle
    assert now() < 1000


async def test_an_idle_queue_costs_no_timer() -> None:
    subject = queue()
    subject.add_after("a", 5)
    subject.done(await subject.get())
    loop: Any = asyncio.get_running_loop()
    assert not [handle for handle in loop._scheduled if not handle.cancelled()]


async def test_delays_that_were_shortened_pile_up_nowhere() -> None:
    subject = queue()
    subject.add_after("other", 5000)
    for seconds in range(4000, 1000, -1):
        subject.add_after("a", seconds)
    assert len(subject._delayed) < 40
    assert subject.snapshot().delayed == 2
    assert await subject.get() == "a"
    assert now() == pytest.approx(1001)
    assert await subject.get() == "other"
    assert now() == pytest.approx(5000)


KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, st.booleans()),
        st.tuples(st.just("after"), KEYS, st.integers(0, 5)),
        st.tuples(st.just("get"), st.none(), st.none()),
        st.tuples(st.just("done"), KEYS, st.none()),
        st.tuples(st.just("pass"), st.none(), st.integers(1, 3)),
    ),
    max_size=60,
)


class Model:
    """What the queue promises, without its speed: sets of keys, and a list of delayed ones."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.running: set[str] = set()
        self.again: set[str] = set()
        self.due: dict[str, float] = {}

    def add(self, key: str) -> None:
        (self.again if key in self.running else self.waiting).add(key)

    def add_after(self, key: str, when: float) -> None:
        self.due[key] = min(when, self.due.get(key, when))

    def pass_time(self, until: float) -> None:
        for key in [key for key, when in self.due.items() if when <= until]:
            del self.due[key]
            self.add(key)

    def take(self, key: str) -> None:
        assert key in self.waiting
        assert key not in self.running
        self.waiting.remove(key)
        self.running.add(key)

    def done(self, key: str) -> None:
        self.running.remove(key)
        if key in self.again:
            self.again.remove(key)
            self.waiting.add(key)


async def compare(steps: list[tuple[str, Any, Any]]) -> None:
    subject, model = queue(), Model()
    clock = 0
    for verb, key, argument in steps:
        match verb:
            case "add":
                subject.add(key, is_urgent=argument)
                model.add(key)
            case "after":
                subject.add_after(key, argument)
                model.add(key) if argument == 0 else model.add_after(key, clock + argument)
            case "get" if len(subject):
                model.take(await subject.get())
            case "done" if key in model.running:
                subject.done(key)
                model.done(key)
            case "pass":
                clock += argument
                await asyncio.sleep(clock + 0.5 - now())
                model.pass_time(clock)
        assert len(subject) == len(model.waiting)
        assert subject.snapshot().delayed == len(model.due)
    for key in list(model.running):
        subject.done(key)
        model.done(key)
    assert set(await drained(subject)) == model.waiting


@given(STEPS)
def test_no_key_is_lost_doubled_or_run_twice_at_once(steps: list[tuple[str, Any, Any]]) -> None:
    run_virtually(compare(steps))


async def many_workers(adds: list[tuple[int, str]], workers: int) -> None:
    subject = queue()
    running: set[str] = set()
    last_add: dict[str, float] = {}
    last_run: dict[str, float] = {}

    async def work() -> None:
        while True:
            try:
                key = await subject.get()
            except QueueShutDown:
                return
            assert key not in running
            running.add(key)
            last_run[key] = now()
            await asyncio.sleep(2)
            running.remove(key)
            subject.done(key)

    tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
    for gap, key in adds:
        await asyncio.sleep(gap)
        last_add[key] = now()
        subject.add(key)
    await subject.wait_idle()
    subject.shut_down()
    await asyncio.gather(*tasks)
    assert {key for key in last_add if last_run[key] >= last_add[key]} == set(last_add)


@given(st.lists(st.tuples(st.integers(0, 3), KEYS), max_size=30), st.integers(1, 4))
def test_every_addition_is_followed_by_a_run(adds: list[tuple[int, str]], workers: int) -> None:
    main: Coroutine[Any, Any, None] = many_workers(adds, workers)
    run_virtually(main)
