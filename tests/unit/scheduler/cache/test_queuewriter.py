"""Statuses of queues: only what means something else, at most once a period (scheduler.md 14.5, 20.3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import numpy as np
import pytest

from generated.fakes.fakes import Fakes
from generated.scheduling.v1beta1 import Queue as QueueObject
from runtime.errors import ConnectionFailed
from scheduler.cache.queuestatuses import QueueStatuses
from scheduler.cache.queuewriter import QueueWriter
from scheduler.fairness.levels import Level
from scheduler.state.queue import Queue

NAMES = ("cpu", "memory", "pods", "nvidia.com/gpu")


def level(*row: float, allocated: dict[str, Any] | None = None, name: str = "q") -> Level:
    queue = Queue(name)
    queue.object = msgspec.convert(
        {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": {"allocated": allocated or {}}}, QueueObject
    )
    return Level(queue, np.array([*row, *[0.0] * (4 - len(row))]), NAMES)


def test_what_the_server_has_already_is_not_written_whatever_its_spelling() -> None:
    statuses = QueueStatuses(1.0)
    assert statuses.offer(level(1000.0, 2.0**30, allocated={"cpu": "1", "memory": "1024Mi"}), 0.0) is None
    assert statuses.next("uid-q", 0.0) is None


def test_an_idle_queue_is_told_zero_once() -> None:
    statuses = QueueStatuses(1.0)
    assert statuses.offer(level(), 0.0) == 0.0
    assert statuses.next("uid-q", 0.0) == ({"cpu": "0", "memory": "0"}, {})
    statuses.written("uid-q", {"cpu": "0", "memory": "0"})
    assert statuses.offer(level(), 5.0) is None


def test_amounts_are_milli_bytes_pods_and_thousandths_cut_to_whole_ones() -> None:
    statuses = QueueStatuses(1.0)
    statuses.offer(level(1500.7, 2.0**31 + 0.5, 3.0, 2000.0), 0.0)
    found = statuses.next("uid-q", 0.0)
    assert found is not None
    assert found[0] == {"cpu": "1500m", "memory": "2Gi", "pods": "3", "nvidia.com/gpu": "2"}


def test_within_a_period_the_newest_waits_for_its_end() -> None:
    statuses = QueueStatuses(10.0)
    assert statuses.offer(level(1000.0), 100.0) == 0.0
    wanted, _ = statuses.next("uid-q", 100.0) or ({}, {})
    statuses.written("uid-q", wanted)
    assert statuses.offer(level(2000.0), 103.0) == 7.0
    assert statuses.offer(level(3000.0), 104.0) is None
    wanted, before = statuses.next("uid-q", 110.0) or ({}, {})
    assert (wanted["cpu"], before["cpu"]) == ("3", "1")


def test_what_went_back_meanwhile_is_not_written() -> None:
    statuses = QueueStatuses(10.0)
    statuses.offer(level(1000.0), 100.0)
    wanted, _ = statuses.next("uid-q", 100.0) or ({}, {})
    statuses.written("uid-q", wanted)
    statuses.offer(level(2000.0), 101.0)
    statuses.offer(level(1000.0), 102.0)
    assert statuses.next("uid-q", 110.0) is None


def test_a_failed_write_waits_again_unless_something_newer_does_and_gone_queues_are_forgotten() -> None:
    statuses = QueueStatuses(10.0)
    statuses.offer(level(1000.0), 100.0)
    wanted, _ = statuses.next("uid-q", 100.0) or ({}, {})
    assert statuses.failed("uid-q", wanted)
    assert (statuses.next("uid-q", 110.0) or ({},))[0] == wanted
    statuses.offer(level(2000.0), 111.0)
    assert not statuses.failed("uid-q", wanted)
    assert (statuses.next("uid-q", 120.0) or ({},))[0]["cpu"] == "2"
    statuses.keep(set())
    assert not statuses.failed("uid-q", wanted)


@asynccontextmanager
async def at_work(fakes: Fakes, period: float = 0.01) -> AsyncIterator[QueueWriter]:
    writer = QueueWriter(fakes.clients, period=period, clock=asyncio.get_running_loop().time)
    running = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def written(fakes: Fakes, count: int) -> None:
    async with asyncio.timeout(10):
        while len(fakes.writes) < count:
            await asyncio.sleep(0.001)


async def test_a_patch_of_the_status_takes_out_what_nothing_holds_any_more() -> None:
    fakes = Fakes()
    async with at_work(fakes) as writer:
        writer.submit([level(1000.0, allocated={"cpu": "4", "nvidia.com/gpu": "1"})])
        await written(fakes, 1)
    (write,) = fakes.writes
    assert (write.name, write.subresource) == ("q", "status")
    assert write.body == {"status": {"allocated": {"cpu": "1", "memory": "0", "nvidia.com/gpu": None}}}


async def test_many_changes_within_a_period_make_two_writes() -> None:
    fakes = Fakes()
    async with at_work(fakes, period=0.05) as writer:
        writer.submit([level(1000.0)])
        await written(fakes, 1)
        for cpu in range(2, 50):
            writer.submit([level(cpu * 1000.0)])
            await asyncio.sleep(0)
        await written(fakes, 2)
    assert [write.body["status"]["allocated"]["cpu"] for write in fakes.writes] == ["1", "49"]


@pytest.mark.parametrize("problem", [ConnectionFailed("down"), ValueError("odd")])
async def test_a_write_that_fails_ends_neither_the_writer_nor_the_queue(problem: Exception) -> None:
    fakes = Fakes()
    fakes.log.fail(problem)
    async with at_work(fakes) as writer:
        writer.submit([level(1000.0)])
        await written(fakes, 2)
    assert fakes.writes[0].body == fakes.writes[1].body
