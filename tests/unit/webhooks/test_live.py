"""Lists past the cache: fresh for each who asks, few, and bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from generated.scheduling.v1beta1 import QUEUES, Queue
from runtime.errors import ConnectionFailed, from_status
from runtime.pages import Page
from runtime.wire import Status
from tests.unit.webhooks.queues.worlds import queue
from webhooks.live import ListFailed, LiveList


class Slow:
    """Takes a copy when it is asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.queues: list[Queue] = []
        self.lists = 0
        self.failure: Exception | None = None
        self.gate = asyncio.Event()

    async def list(self, resource: Any) -> Page[Queue]:
        self.lists += 1
        copy = tuple(self.queues)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return Page(copy, "1")


def live(server: Any, seconds: float = 30.0) -> LiveList[Queue]:
    return LiveList(server, QUEUES, seconds)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_asks_during_a_list_gets_one_that_began_afterwards() -> None:
    server = Slow()
    listed = live(server)
    first = asyncio.create_task(listed.items())
    await settle()
    server.queues.append(queue("late"))
    others = [asyncio.create_task(listed.items()) for _ in range(50)]
    await settle()
    server.gate.set()
    assert await first == ()
    assert [[each.metadata.name for each in await other] for other in others] == [["late"]] * 50
    assert server.lists == 2, "fifty share one list"
    server.queues.append(queue("later"))
    assert len(await listed.items()) == 2
    assert server.lists == 3


async def test_one_who_comes_when_the_second_list_has_begun_waits_for_a_third() -> None:
    server = Slow()
    listed = live(server)
    first = asyncio.create_task(listed.items())
    await settle()
    second = asyncio.create_task(listed.items())
    await settle()
    server.gate.set()
    await first
    server.gate.clear()
    await settle()
    assert server.lists == 2
    server.queues.append(queue("late"))
    third = asyncio.create_task(listed.items())
    await settle()
    server.gate.set()
    assert await second == ()
    assert len(await third) == 1


async def test_one_who_leaves_takes_the_list_from_nobody() -> None:
    server = Slow()
    listed = live(server)
    leaves, stays = asyncio.create_task(listed.items()), asyncio.create_task(listed.items())
    await settle()
    leaves.cancel()
    server.gate.set()
    assert await stays == ()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ConnectionFailed("refused"), "queues can't be listed: refused"),
        (from_status(Status(code=403, reason="Forbidden", message="no")), "queues can't be listed: "),
    ],
)
async def test_a_failure_is_told_and_the_next_list_is_a_new_one(failure: Exception, words: str) -> None:
    server = Slow()
    server.gate.set()
    server.failure = failure
    listed = live(server)
    with pytest.raises(ListFailed, match=words):
        await listed.items()
    server.failure = None
    assert await listed.items() == ()


async def test_a_list_takes_no_longer_than_it_may() -> None:
    with pytest.raises(ListFailed, match=r"did not answer within 0\.01 s"):
        await live(Slow(), 0.01).items()
