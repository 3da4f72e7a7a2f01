from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from runtime.controller import DONE, Controller, GiveUp, ReconcileError, Result, Watch, again_after
from runtime.errors import ConnectionFailed
from runtime.informer import Informer
from runtime.lease import LeaseLost
from runtime.metrics import REGISTRY
from runtime.mutation import ENVIRONMENT, CacheMutated
from runtime.retry_limiter import RetryLimits
from tests.unit.runtime.models import PODS, Pod, line, pod
from tests.unit.runtime.scripted import HANG, Listing, ScriptedClient, failure

pytestmark = pytest.mark.virtual_time


def by_name(obj: Pod) -> list[str]:
    return [obj.metadata.name]


def by_node(obj: Pod) -> list[str]:
    return [obj.spec.node_name]


class Reconciler:
    """Notes its calls; what it does with a key is written down by the test, DONE otherwise."""

    def __init__(self, **scripts: list[Result | Exception | float]) -> None:
        self.calls: list[tuple[float, str]] = []
        self.finished: list[str] = []
        self._scripts = scripts

    async def __call__(self, key: str) -> Result:
        self.calls.append((asyncio.get_running_loop().time(), key))
        script = self._scripts.get(key)
        step = script.pop(0) if script else DONE
        if isinstance(step, Exception):
            raise step
        if isinstance(step, int | float):
            await asyncio.sleep(step)
            step = DONE
        self.finished.append(key)
        return step

    @property
    def keys(self) -> list[str]:
        return [key for _, key in self.calls]

    def times(self, key: str) -> list[float]:
        return [when for when, called in self.calls if called == key]


def informer(*pods: Pod, then: list[object] | None = None) -> Informer[Pod]:
    return Informer(ScriptedClient([Listing(pods)], [[*(then or []), HANG]]).as_client(), PODS)


def controller(
    reconcile: Callable[[str], Awaitable[Result]], *watches: Watch[Pod, str], name: str = "test", **options: Any
) -> Controller[str]:
    return Controller(name, reconcile, watches=watches, **options)


@asynccontextmanager
async def running(*parts: Any) -> AsyncIterator[list[asyncio.Future[None]]]:
    tasks: list[asyncio.Future[None]] = [asyncio.ensure_future(part.run()) for part in parts]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_every_object_of_the_first_list_is_reconciled_once() -> None:
    pods, reconciler = informer(pod("a"), pod("b")), Reconciler()
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(10)
    assert reconciler.keys == ["a", "b"]


async def test_changes_wake_the_reconciler() -> None:
    then: list[object] = [
        5, line("MODIFIED", pod("a", 2)), 5, line("ADDED", pod("b", 3)), 5, line("DELETED", pod("a", 4)),
    ]  # fmt: skip
    pods, reconciler = informer(pod("a"), then=then), Reconciler()
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(20)
    assert reconciler.keys == ["a", "a", "b", "a"]
    assert [round(when) for when, _ in reconciler.calls] == [0, 5, 10, 15]


async def test_an_update_concerns_the_keys_of_both_states() -> None:
    pods = informer(pod("a", node="n1"), then=[5, line("MODIFIED", pod("a", 2, node="n2"))])
    reconciler = Reconciler()
    async with running(pods, controller(reconciler, Watch(pods, by_node))):
        await asyncio.sleep(10)
    assert reconciler.keys == ["n1", "n2", "n1"]


async def test_keys_that_come_one_by_one_are_those_of_both_states_too() -> None:
    def each(obj: Pod) -> Iterator[str]:
        yield from obj.metadata.labels.values()

    pods = informer(pod("a", one="x", two="y"), then=[5, line("MODIFIED", pod("a", 2, one="x", two="z"))])
    reconciler = Reconciler()
    async with running(pods, controller(reconciler, Watch(pods, each), workers=1)):
        await asyncio.sleep(10)
    assert reconciler.keys == ["x", "y", "x", "z", "y"]


async def test_a_watch_may_concern_several_keys_or_none() -> None:
    pods, reconciler = informer(pod("a", one="x", two="y"), pod("b")), Reconciler()
    watch: Watch[Pod, str] = Watch(pods, lambda obj: obj.metadata.labels.values())
    async with running(pods, controller(reconciler, watch)):
        await asyncio.sleep(10)
    assert reconciler.keys == ["x", "y"]


async def test_it_works_only_when_all_its_informers_have_synced() -> None:
    pods, late, reconciler = informer(pod("a")), informer(), Reconciler()
    subject = controller(reconciler, Watch(pods, by_name), reads=[late, late, pods])
    assert subject.informers == (pods, late)
    async with running(pods, subject):
        await asyncio.sleep(60)
        assert reconciler.keys == []
        async with running(late):
            await asyncio.sleep(1)
            assert reconciler.keys == ["a"]


async def test_a_changed_key_goes_before_those_of_the_first_list() -> None:
    pods = informer(*(pod(f"p{n}") for n in range(5)), then=[5, line("MODIFIED", pod("p4", 2))])
    reconciler = Reconciler(p0=[10])
    async with running(pods, controller(reconciler, Watch(pods, by_name), workers=1)):
        await asyncio.sleep(20)
    assert reconciler.keys == ["p0", "p4", "p1", "p2", "p3"]


async def test_a_slow_key_holds_up_no_other() -> None:
    pods, reconciler = informer(pod("a"), pod("b"), pod("c")), Reconciler(a=[1000])
    async with running(pods, controller(reconciler, Watch(pods, by_name), workers=2)):
        await asyncio.sleep(1)
    assert reconciler.finished == ["b", "c"]


async def test_a_key_never_runs_twice_at_once() -> None:
    then: list[object] = [each for n in range(2, 9) for each in (1, line("MODIFIED", pod("a", n)))]
    pods, reconciler = informer(pod("a"), then=then), Reconciler(a=[5.5, 0.1, 0.1])
    async with running(pods, controller(reconciler, Watch(pods, by_name), workers=3)):
        await asyncio.sleep(20)
    starts = reconciler.times("a")
    assert [round(when, 1) for when in starts] == [0.0, 5.5, 6.0, 7.0]


async def test_again_after_repeats_the_key() -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[again_after(60), again_after(0), DONE])
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(1000)
    assert [round(when) for when in reconciler.times("a")] == [0, 60, 60]


async def test_a_failing_key_is_repeated_ever_later_and_concerns_no_other() -> None:
    pods = informer(pod("a"), pod("b"))
    reconciler = Reconciler(a=[RuntimeError("a defect")] * 3)
    async with running(pods, controller(reconciler, Watch(pods, by_name), limits=RetryLimits(base=1, qps=0))):
        await asyncio.sleep(100)
    assert [round(when) for when in reconciler.times("a")] == [0, 1, 3, 7]
    assert len(reconciler.times("b")) == 1


async def test_success_ends_the_back_off() -> None:
    boom = RuntimeError("a defect")
    pods = informer(pod("a"))
    reconciler = Reconciler(a=[boom, boom, again_after(10), boom])
    async with running(pods, controller(reconciler, Watch(pods, by_name), limits=RetryLimits(base=1, qps=0))):
        await asyncio.sleep(100)
    assert [round(when) for when in reconciler.times("a")] == [0, 1, 3, 13, 14]


@pytest.mark.parametrize(("max_retries", "runs"), [(0, 1), (2, 3)])
async def test_after_its_retries_a_key_is_given_up(max_retries: int, runs: int) -> None:
    given_up: list[tuple[str, str]] = []

    async def on_give_up(key: str, error: Exception) -> None:
        given_up.append((key, str(error)))

    pods = informer(pod("a"), then=[500, line("MODIFIED", pod("a", 2))])
    reconciler = Reconciler(a=[RuntimeError("a defect")] * runs)
    subject = controller(reconciler, Watch(pods, by_name), max_retries=max_retries, on_give_up=on_give_up)
    async with running(pods, subject):
        await asyncio.sleep(400)
        assert (len(reconciler.calls), given_up) == (runs, [("a", "a defect")])
        assert subject.queue.failures("a") == 0
        await asyncio.sleep(200)
    assert len(reconciler.calls) == runs + 1
    assert reconciler.finished == ["a"]


@pytest.mark.parametrize("max_retries", [None, -1])
async def test_without_a_limit_a_key_is_never_given_up(max_retries: int | None) -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[RuntimeError("a defect")] * 30)
    subject = controller(reconciler, Watch(pods, by_name), max_retries=max_retries, limits=RetryLimits(cap=1, qps=0))
    async with running(pods, subject):
        await asyncio.sleep(100)
    assert reconciler.finished == ["a"]


async def test_conflicts_do_not_count_as_retries() -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[failure(409, "Conflict")] * 5)
    async with running(pods, controller(reconciler, Watch(pods, by_name), max_retries=0)):
        await asyncio.sleep(100)
    assert reconciler.finished == ["a"]


@pytest.mark.parametrize(
    "error", [failure(500), failure(503), failure(429), ConnectionFailed("refused"), LeaseLost("not renewed")]
)
async def test_an_outage_uses_up_no_retry(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    script: list[Result | Exception | float] = [*[error] * 5, RuntimeError("a defect")]
    pods, reconciler = informer(pod("a")), Reconciler(a=script)
    subject = controller(reconciler, Watch(pods, by_name), max_retries=1, limits=RetryLimits(base=1, qps=0))
    async with running(pods, subject):
        await asyncio.sleep(100)
    assert reconciler.finished == ["a"]
    assert [round(when) for when in reconciler.times("a")] == [0, 1, 3, 7, 15, 31, 63]
    told = [record for record in caplog.records if record.getMessage().startswith("reconcile.failed")]
    assert [bool(record.exc_info) for record in told] == [False] * 5 + [True]
    assert f"attempts=5 error={type(error).__name__}: {error}" in told[4].getMessage()


async def test_giving_up_because_of_an_outage_is_giving_up() -> None:
    async def reconcile(_key: str) -> Result:
        calls.append(_key)
        raise GiveUp("no use") from ConnectionFailed("untrusted", permanent=True)

    calls: list[str] = []
    pods = informer(pod("a"))
    async with running(pods, controller(reconcile, Watch(pods, by_name))):
        await asyncio.sleep(5000)
    assert calls == ["a"]


async def test_a_name_that_is_taken_is_a_failure_like_others() -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[failure(409, "AlreadyExists")] * 5)
    async with running(pods, controller(reconciler, Watch(pods, by_name), max_retries=1)):
        await asyncio.sleep(100)
    assert len(reconciler.calls) == 2


async def test_a_reconciler_may_give_up_itself() -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[GiveUp("its spec makes no sense")])
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(5000)
    assert len(reconciler.calls) == 1


async def test_a_last_word_that_fails_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    async def on_give_up(_key: str, _error: Exception) -> None:
        raise RuntimeError("no last word")

    pods, reconciler = informer(pod("a"), pod("b")), Reconciler(a=[GiveUp("enough")])
    async with running(pods, controller(reconciler, Watch(pods, by_name), on_give_up=on_give_up)):
        await asyncio.sleep(10)
    assert reconciler.finished == ["b"]
    assert "reconcile.give_up_failed controller=test key=a" in caplog.text


@pytest.mark.parametrize(
    ("error", "has_traceback"),
    [
        (RuntimeError("a defect"), True),
        (failure(500), False),
        (ConnectionFailed("reset"), False),
        (ReconcileError("the parent is closed"), False),
    ],
)
async def test_failures_are_logged_with_their_key(
    error: Exception, has_traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[error])
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(10)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith("reconcile.failed controller=test key=a attempts=1 error=")
    assert bool(record.exc_info) is has_traceback


async def test_a_backlog_of_quick_keys_leaves_the_loop_to_others() -> None:
    """Real work on a real clock: the loop's time is virtual, the reconciler's isn't."""
    slices: list[float] = []

    async def reconcile(_key: str) -> Result:
        until = time.perf_counter() + 0.0001
        while time.perf_counter() < until:
            continue
        return DONE

    subject = controller(reconcile)
    for n in range(3000):
        subject.queue.add(f"k{n}")
    async with running(subject):
        while not slices or len(subject.queue):
            await asyncio.sleep(0)
            slices.append(len(subject.queue))
    drops = [before - after for before, after in pairwise(slices)]
    first, others = max(drops), sorted(drops)[:-1]
    assert first <= 215  # four workers don't know of each other yet: 10 ms * (1 + 1/2 + 1/3 + 1/4)
    assert max(others) <= 110  # keys in 10 ms; a busy machine makes them fewer, never more


async def test_a_key_that_wants_to_run_again_at_once_lets_others_run() -> None:
    async def reconcile(_key: str) -> Result:
        calls.append(_key)
        return again_after(0)

    calls: list[str] = []
    subject = controller(reconcile)
    subject.queue.add("a")
    async with running(subject):
        await asyncio.sleep(1)
    assert 10 <= len(calls) <= 1000


async def test_what_led_to_an_error_is_told_with_it(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(key: str) -> Result:
        raise ReconcileError("failed to create 1 pods of 1") from ValueError("no PriorityClass of that name")

    subject = controller(reconcile)
    subject.queue.add("a")
    async with running(subject):
        await asyncio.sleep(0.001)
    assert caplog.messages[0].endswith(
        "error=ReconcileError: failed to create 1 pods of 1 cause=ValueError: no PriorityClass of that name"
    )


async def test_a_cancelled_future_is_an_error_of_its_key(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(key: str) -> Result:
        calls.append(key)
        if calls.count(key) <= 2:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            future.cancel()
            await future
        return DONE

    calls: list[str] = []
    pods = informer(pod("a"), pod("b"), pod("c"))
    async with running(pods, controller(reconcile, Watch(pods, by_name), workers=1)) as (_, task):
        await asyncio.sleep(100)
        assert sorted(calls) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
        assert not task.done()
    assert "reconcile.failed controller=test key=a attempts=1 error=BrokenOffError" in caplog.text


async def test_a_last_word_that_is_cancelled_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    async def on_give_up(_key: str, _error: Exception) -> None:
        raise asyncio.CancelledError

    pods, reconciler = informer(pod("a"), pod("b")), Reconciler(a=[GiveUp("enough")])
    subject = controller(reconciler, Watch(pods, by_name), on_give_up=on_give_up, workers=1)
    async with running(pods, subject) as (_, task):
        await asyncio.sleep(10)
        assert not task.done()
    assert reconciler.finished == ["b"]
    assert "reconcile.give_up_failed controller=test key=a" in caplog.text


async def test_hanging_keys_hold_up_no_other() -> None:
    pods = informer(pod("x"), *(pod(f"p{n}") for n in range(4)), pod("y"))
    reconciler = Reconciler(p0=[500], p1=[500], p2=[500], p3=[500])
    async with running(pods, controller(reconciler, Watch(pods, by_name), workers=2)):
        await asyncio.sleep(60)
    assert reconciler.finished == ["x", "y"]


async def test_a_key_that_is_not_over_in_time_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[1000, 5])
    subject = controller(reconciler, Watch(pods, by_name), key_timeout=30, limits=RetryLimits(base=1, qps=0))
    async with running(pods, subject):
        await asyncio.sleep(100)
    assert [round(when) for when in reconciler.times("a")] == [0, 31]
    assert reconciler.finished == ["a"]
    assert "key=a attempts=1 error=TimeoutError: not over after 30 s: broken off" in caplog.text


async def test_without_a_time_limit_a_key_may_take_for_ever() -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[1e6])
    async with running(pods, controller(reconciler, Watch(pods, by_name), key_timeout=None)):
        await asyncio.sleep(2e6)
    assert reconciler.finished == ["a"]
    assert len(reconciler.calls) == 1


async def test_a_time_limit_of_the_reconciler_s_own_keeps_its_words(caplog: pytest.LogCaptureFixture) -> None:
    pods, reconciler = informer(pod("a")), Reconciler(a=[TimeoutError("the disk is slow")])
    async with running(pods, controller(reconciler, Watch(pods, by_name))):
        await asyncio.sleep(10)
    assert "error=TimeoutError: the disk is slow" in caplog.text


async def test_outcomes_are_counted() -> None:
    pods = informer(pod("a"))
    reconciler = Reconciler(a=[RuntimeError("x"), failure(409, "Conflict"), again_after(1), GiveUp("x")])
    subject = controller(reconciler, Watch(pods, by_name), name="counted")
    async with running(pods, subject):
        await asyncio.sleep(10)
        subject.queue.add("b")
        await asyncio.sleep(10)
    counts = {
        result: REGISTRY.get_sample_value("volcano_reconcile_total", {"controller": "counted", "result": result})
        for result in ("done", "again", "conflict", "error", "gave_up")
    }
    assert counts == dict.fromkeys(counts, 1.0)
    assert REGISTRY.get_sample_value("volcano_reconcile_seconds_count", {"controller": "counted"}) == 5


async def test_shutting_down_lets_running_reconciliations_finish() -> None:
    pods, reconciler = informer(pod("a"), pod("b"), pod("c")), Reconciler(a=[10], b=[20])
    subject = controller(reconciler, Watch(pods, by_name), workers=2)
    async with running(pods, subject) as (_, task):
        await asyncio.sleep(1)
        subject.shut_down()
        await task
        assert reconciler.finished == ["a", "b"]
        assert asyncio.get_running_loop().time() == pytest.approx(20)


async def test_it_can_be_shut_down_before_its_informers_have_synced() -> None:
    pods = informer()
    subject = controller(Reconciler(), Watch(pods, by_name))
    async with running(subject) as (task,):
        await asyncio.sleep(1)
        subject.shut_down()
        await task


async def test_cancelling_breaks_off_and_leaves_nothing_behind() -> None:
    then: list[object] = [5, line("MODIFIED", pod("b", 2))]
    pods, reconciler = informer(pod("a"), then=then), Reconciler(a=[1000])
    subject = controller(reconciler, Watch(pods, by_name))
    async with running(pods):
        async with running(subject):
            await asyncio.sleep(1)
        assert (reconciler.keys, reconciler.finished) == (["a"], [])
        await asyncio.sleep(10)
        assert len(subject.queue) == 0  # its handler is gone
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_mapping_that_throws_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    def to_keys(obj: Pod) -> list[str]:
        return [obj.metadata.labels["app"]]

    pods, reconciler = informer(pod("bad"), pod("good", app="x")), Reconciler()
    async with running(pods, controller(reconciler, Watch(pods, to_keys))):
        await asyncio.sleep(10)
    assert reconciler.keys == ["x"]
    assert "object=ns/bad" in caplog.text


async def test_a_reconciler_that_changes_a_cached_object_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "1")
    pods = informer(pod("a"))

    async def vandal(_key: str) -> Result:
        for cached in pods.lister:
            cached.metadata.labels["touched"] = "yes"
        return DONE

    async with running(pods, controller(vandal, Watch(pods, by_name))) as (_, task):
        with pytest.raises(ExceptionGroup) as caught:
            await task
    assert caught.group_contains(CacheMutated, match="by controller test at a")
