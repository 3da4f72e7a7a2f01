"""Removing admission gates: the patch, what becomes of failures, and a buffer that is full."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api import names
from generated.fakes.fakes import Fakes
from runtime.errors import ConnectionFailed, NotFound
from runtime.wire import Status as Answer
from scheduler.cache.gates import GateRemovals
from scheduler.cache.shapes import Shapes
from scheduler.cache.translate import task_of
from scheduler.state.task import Task
from tests.unit.scheduler.cache.test_facts import pod


def task(name: str = "g-w-0") -> Task:
    return task_of(pod(name), Shapes())


@asynccontextmanager
async def at_work(fakes: Fakes, refused: list[str], workers: int = 1) -> AsyncIterator[GateRemovals]:
    removals = GateRemovals(fakes.clients, workers=workers, refused=refused.append, pause=0.001)
    running = asyncio.create_task(removals.run())
    try:
        yield removals
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_the_gate_goes_by_its_name_from_exactly_this_pod() -> None:
    fakes, refused = Fakes(), list[str]()
    async with at_work(fakes, refused) as removals, asyncio.timeout(10):
        removals.submit(task())
        while not fakes.writes:
            await asyncio.sleep(0.001)
    (write,) = fakes.writes
    assert (write.name, write.namespace, write.subresource) == ("g-w-0", "ns", "")
    assert write.body == {
        "metadata": {"uid": "uid-g-w-0"},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": names.QUEUE_ALLOCATION_GATE}]},
    }
    assert refused == []


@pytest.mark.parametrize("problem", [ConnectionFailed("down"), ValueError("odd")])
async def test_a_failure_is_told_back_and_the_next_pod_served(
    problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fakes, refused = Fakes(), list[str]()
    fakes.log.fail(problem)
    async with at_work(fakes, refused) as removals, asyncio.timeout(10):
        removals.submit(task("g-w-0"))
        removals.submit(task("g-w-1"))
        while len(fakes.writes) < 2 or not refused:
            await asyncio.sleep(0.001)
    assert refused == ["uid-g-w-0"]
    assert "pod=ns/g-w-0" in caplog.text


async def test_a_pod_that_is_gone_is_no_failure() -> None:
    fakes, refused = Fakes(), list[str]()
    fakes.log.fail(NotFound(Answer(code=404)))
    async with at_work(fakes, refused) as removals, asyncio.timeout(10):
        removals.submit(task("g-w-0"))
        removals.submit(task("g-w-1"))
        while len(fakes.writes) < 2:
            await asyncio.sleep(0.001)
    assert refused == []


@pytest.mark.parametrize(("workers", "room"), [(1, 200), (2, 400), (0, 1000), (-3, 1000)])
async def test_what_finds_no_place_in_the_buffer_is_told_back_too(
    workers: int, room: int, caplog: pytest.LogCaptureFixture
) -> None:
    refused = list[str]()
    removals = GateRemovals(Fakes().clients, workers=workers, refused=refused.append, pause=0.0)
    with caplog.at_level(logging.WARNING):
        for number in range(room):
            removals.submit(task(f"g-w-{number}"))
        assert caplog.text == ""
        removals.submit(task("g-w-last"))
    async with asyncio.timeout(10):
        while not refused:
            await asyncio.sleep(0)
    assert refused == ["uid-g-w-last"]
    assert "pod=ns/g-w-last" in caplog.text
