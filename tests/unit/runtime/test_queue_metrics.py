from __future__ import annotations

import asyncio
import gc

import msgspec
import pytest

from runtime.metrics import REGISTRY
from runtime.queue import WorkQueue
from runtime.queue_metrics import Snapshot

pytestmark = pytest.mark.virtual_time


def sample(name: str, queue: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"name": queue})


async def test_depth_and_ages_are_read_at_the_moment() -> None:
    queue: WorkQueue[str] = WorkQueue("aging")
    assert queue.snapshot() == Snapshot(0, 0, 0.0, 0.0, 0.0)
    queue.add("a")
    queue.add("b")
    queue.add_after("later", 100)
    await asyncio.sleep(4)
    await queue.get()
    await asyncio.sleep(3)
    expected = Snapshot(depth=1, delayed=1, oldest_wait=7.0, unfinished=3.0, longest_running=3.0)
    assert msgspec.structs.asdict(queue.snapshot()) == pytest.approx(msgspec.structs.asdict(expected))
    assert sample("workqueue_depth", "aging") == 1
    assert sample("workqueue_delayed", "aging") == 1
    assert sample("workqueue_oldest_wait_seconds", "aging") == pytest.approx(7)
    assert sample("workqueue_unfinished_work_seconds", "aging") == pytest.approx(3)
    assert sample("workqueue_longest_running_processor_seconds", "aging") == pytest.approx(3)


async def test_waits_and_work_are_measured() -> None:
    queue: WorkQueue[str] = WorkQueue("measured")
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(4)
    await queue.get()
    queue.add("a")
    await asyncio.sleep(2)
    queue.done("a")
    queue.add_rate_limited("b")
    assert sample("workqueue_adds_total", "measured") == 2
    assert sample("workqueue_retries_total", "measured") == 1
    assert sample("workqueue_queue_duration_seconds_sum", "measured") == pytest.approx(4)
    assert sample("workqueue_work_duration_seconds_sum", "measured") == pytest.approx(2)
    assert sample("workqueue_work_duration_seconds_count", "measured") == 1


async def test_a_queue_that_is_gone_is_not_shown() -> None:
    queue: WorkQueue[str] = WorkQueue("short-lived")
    queue.add("a")
    assert sample("workqueue_depth", "short-lived") == 1
    del queue
    gc.collect()
    assert sample("workqueue_depth", "short-lived") is None


async def test_queues_of_one_name_add_up() -> None:
    queues: list[WorkQueue[str]] = [WorkQueue("twins"), WorkQueue("twins")]
    for queue in queues:
        queue.add("a")
    assert sample("workqueue_depth", "twins") == 2
