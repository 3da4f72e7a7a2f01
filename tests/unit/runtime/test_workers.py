from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime.metrics import REGISTRY
from runtime.queue import WorkQueue
from runtime.workers import GROWTH, PATIENCE, Workers

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


class Place:
    """A queue and workers, each of whose keys runs for as many seconds as `seconds` says, 0 by default."""

    def __init__(self, count: int, *keys: str, **seconds: float) -> None:
        self.queue: WorkQueue[str] = WorkQueue("workers-test")
        self.workers = Workers("workers-test", self.queue, self._handle, count)
        self.begun: list[tuple[float, str]] = []
        self.ended: list[str] = []
        self.at_once = self.most = 0
        self._seconds = seconds
        for key in (*seconds, *keys):
            self.queue.add(key)

    async def _handle(self, key: str) -> None:
        self.begun.append((now(), key))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self._seconds.get(key, 0))
        finally:
            self.at_once -= 1
        self.ended.append(key)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.ensure_future(self.workers.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def slow_keys() -> float | None:
    return REGISTRY.get_sample_value("volcano_reconcile_slow_keys", {"controller": "workers-test"})


async def test_quick_keys_are_shared_by_the_workers_that_were_asked_for() -> None:
    place = Place(2, **{f"k{n}": PATIENCE / 2 for n in range(6)})
    async with place.at_work():
        await asyncio.sleep(PATIENCE * 10)
    assert (place.most, len(place.ended), place.workers.count) == (2, 6, 0)


async def test_a_slow_key_gets_its_worker_replaced_for_as_long_as_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    place = Place(1, "b", a=100)
    async with place.at_work():
        await asyncio.sleep(50)
        assert (place.ended, place.workers.count, slow_keys()) == (["b"], 2, 1)
        assert place.begun == [(0, "a"), (pytest.approx(PATIENCE), "b")]
        await asyncio.sleep(100)
        assert (place.ended, place.workers.count, slow_keys()) == (["b", "a"], 1, 0)
        place.queue.add("c")
        await asyncio.sleep(1)
    assert place.ended[-1] == "c"
    assert "reconcile.slow controller=workers-test key=a" in caplog.text


async def test_there_is_a_bound_and_freed_places_are_taken() -> None:
    hanging = {f"h{n}": 1e6 for n in range(GROWTH - 1)}
    place = Place(1, brief=300, **hanging, last=1)  # the bound is reached with a key whose worker has no stand-in
    async with place.at_work():
        await asyncio.sleep(250)
        assert (place.workers.count, place.at_once, slow_keys()) == (GROWTH, GROWTH, GROWTH)
        assert place.ended == []
        await asyncio.sleep(250)
        assert place.ended == ["brief", "last"]
        assert place.most == GROWTH


async def test_after_a_shutdown_no_worker_comes_back() -> None:
    place = Place(1, a=100)
    async with place.at_work() as task:
        await asyncio.sleep(1)
        place.queue.shut_down()
        await task
        assert now() == pytest.approx(100)
    assert (place.ended, place.workers.count) == (["a"], 0)


async def test_cancelling_ends_replacements_too_and_starts_none() -> None:
    async def stubborn(_key: str) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(PATIENCE * 3)

    queue: WorkQueue[str] = WorkQueue("workers-test")
    workers = Workers("workers-test", queue, stubborn, 1)
    queue.add("a")
    task = asyncio.ensure_future(workers.run())
    await asyncio.sleep(PATIENCE / 2)
    task.cancel()
    await asyncio.sleep(PATIENCE * 2)
    assert workers.count == 1
    await asyncio.gather(task, return_exceptions=True)
    assert (workers.count, slow_keys()) == (0, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
