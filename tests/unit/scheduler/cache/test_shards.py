"""Writing the status of the own NodeShard: the newest one, again after a failure, nothing that isn't wanted any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from generated.fakes.fakes import Fakes
from runtime.errors import ConnectionFailed, NotFound
from runtime.wire import Status as Answer
from scheduler.cache.shards import ShardWriter
from scheduler.shards import ShardStatus


def status(*in_use: str) -> ShardStatus:
    return ShardStatus(frozenset(in_use), frozenset({"later"}), frozenset())


@asynccontextmanager
async def at_work(fakes: Fakes) -> AsyncIterator[ShardWriter]:
    writer = ShardWriter(fakes.clients, "mine", clock=lambda: 1000.0, pause=0.001)
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


async def test_all_three_lists_and_the_time_are_written_to_the_status() -> None:
    fakes = Fakes()
    async with at_work(fakes) as writer:
        writer.submit(status("b", "a"))
        await written(fakes, 1)
    (write,) = fakes.writes
    assert (write.name, write.subresource) == ("mine", "status")
    assert write.body == {
        "status": {
            "lastUpdateTime": "1970-01-01T00:16:40Z",
            "nodesInUse": ["a", "b"],
            "nodesToAdd": ["later"],
            "nodesToRemove": [],
        }
    }


@pytest.mark.parametrize("problem", [ConnectionFailed("down"), ValueError("odd")])
async def test_a_write_that_fails_is_tried_again(problem: Exception) -> None:
    fakes = Fakes()
    fakes.log.fail(problem)
    async with at_work(fakes) as writer:
        writer.submit(status("a"))
        await written(fakes, 2)
    assert fakes.writes[0].body == fakes.writes[1].body


async def test_a_shard_that_is_gone_is_written_to_no_more() -> None:
    fakes = Fakes()
    fakes.log.fail(NotFound(Answer(code=404)))
    async with at_work(fakes) as writer:
        writer.submit(status("a"))
        await written(fakes, 1)
        await asyncio.sleep(0)
        writer.submit(status("b"))
        await written(fakes, 2)
    assert [write.body["status"]["nodesInUse"] for write in fakes.writes] == [["a"], ["b"]]


async def test_only_the_newest_is_written_and_nothing_once_the_server_has_it() -> None:
    fakes = Fakes()
    async with at_work(fakes) as writer:
        writer.submit(status("a"))
        writer.submit(None)
        for _ in range(3):
            await asyncio.sleep(0)
        writer.submit(status("b"))
        writer.submit(status("c"))
        await written(fakes, 1)
    assert [write.body["status"]["nodesInUse"] for write in fakes.writes] == [["c"]]
