from __future__ import annotations

import asyncio
from typing import Any

import pytest

from generated.batch.v1alpha1 import JOBS, Job
from generated.listers.batch_v1alpha1 import JobLister
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import QUEUES, Queue
from runtime.errors import ConnectionFailed, from_status
from runtime.informers import Informers
from runtime.lister import Store
from runtime.resource import Resource
from runtime.wire import Status
from webhooks.readers import ABSENT_SECONDS, MANY_ABSENT, LookupFailed, Readers

QUEUE = Queue(metadata=ObjectMeta(name="q"))
NOT_FOUND = from_status(Status(code=404, reason="NotFound", message="no such queue"))
FORBIDDEN = from_status(Status(code=403, reason="Forbidden", message="not you"))


class Server:
    """Answers live reads; `gate` holds them back."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str | None]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def get(self, resource: Resource[Any], name: str, namespace: str | None = None) -> Any:
        self.asked.append((name, namespace))
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class World:
    """Readers over a server's answers and over caches that the test fills."""

    def __init__(self, answer: Any = NOT_FOUND) -> None:
        self.server = Server(answer)
        client: Any = self.server
        self.informers = Informers(client)
        self.readers = Readers(client, self.informers)
        self.queues = self.readers.lister(QueueLister)

    def fill(self, queue: Queue) -> None:
        store: Any = self.queues.lister
        assert isinstance(store, Store)
        store.put(queue)


pytestmark = pytest.mark.virtual_time


async def test_what_the_cache_knows_is_not_asked_for() -> None:
    world = World()
    world.fill(QUEUE)
    assert await world.readers.find(QUEUES, "q") is QUEUE
    assert world.server.asked == []


async def test_what_the_cache_does_not_know_yet_is_read_live() -> None:
    world = World(QUEUE)
    assert await world.readers.find(QUEUES, "q") is QUEUE
    assert world.server.asked == [("q", None)]


async def test_a_namespaced_object_is_read_in_its_namespace() -> None:
    world = World(Job(metadata=ObjectMeta(name="j", namespace="n")))
    world.readers.lister(JobLister)
    found = await world.readers.find(JOBS, "j", "n")
    assert found is world.server.answer
    assert world.server.asked == [("j", "n")]


async def test_what_is_not_there_is_not_asked_for_again_at_once() -> None:
    world = World()
    assert await world.readers.find(QUEUES, "q") is None
    await asyncio.sleep(ABSENT_SECONDS * 0.9)
    assert await world.readers.find(QUEUES, "q") is None
    assert len(world.server.asked) == 1
    assert await world.readers.find(QUEUES, "other") is None
    assert len(world.server.asked) == 2


async def test_what_was_not_there_is_found_a_moment_later() -> None:
    world = World()
    assert await world.readers.find(QUEUES, "q") is None
    world.server.answer = QUEUE
    await asyncio.sleep(ABSENT_SECONDS * 1.1)
    assert await world.readers.find(QUEUES, "q") is QUEUE


async def test_the_cache_wins_over_a_remembered_absence() -> None:
    world = World()
    assert await world.readers.find(QUEUES, "q") is None
    world.fill(QUEUE)
    assert await world.readers.find(QUEUES, "q") is QUEUE


async def test_many_who_ask_at_once_share_one_read() -> None:
    world = World(QUEUE)
    world.server.gate.clear()
    asking = [asyncio.ensure_future(world.readers.find(QUEUES, "q")) for _ in range(50)]
    await asyncio.sleep(0.1)
    asking[0].cancel()
    world.server.gate.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert all(queue is QUEUE for queue in found[1:]), "one who gives up takes the answer from nobody"
    assert len(world.server.asked) == 1
    assert await world.readers.find(QUEUES, "q") is QUEUE
    assert len(world.server.asked) == 2, "only what runs is shared"


async def test_a_server_that_is_silent_is_waited_for_a_second() -> None:
    world = World(QUEUE)
    world.server.gate.clear()
    began = asyncio.get_running_loop().time()
    with pytest.raises(
        LookupFailed, match=r"^Queue q is not in the cache, and the API server did not answer within 1 s$"
    ):
        await world.readers.find(QUEUES, "q")
    assert asyncio.get_running_loop().time() - began == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("error", [FORBIDDEN, ConnectionFailed("refused")])
async def test_a_failure_is_no_absence(error: Exception) -> None:
    world = World(error)
    with pytest.raises(LookupFailed, match=f"Queue q is not in the cache and can't be read: {error}"):
        await world.readers.find(QUEUES, "q")
    world.server.answer = QUEUE
    assert await world.readers.find(QUEUES, "q") is QUEUE


async def test_a_kind_without_a_lister_is_a_defect_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"no cache of jobs.batch.volcano.sh: ask for its lister"):
        await World().readers.find(JOBS, "j", "n")


async def test_listers_of_one_kind_share_a_cache_with_indexes() -> None:
    world = World()
    again = world.readers.lister(QueueLister)
    assert again.lister is world.queues.lister
    world.fill(Queue(metadata=ObjectMeta(name="child"), spec=QUEUE.spec))
    assert again.get("child") is not None
    assert again.by_parent("root") == []
    assert len(list(world.informers)) == 1


async def test_old_absences_are_forgotten() -> None:
    world = World()
    for number in range(MANY_ABSENT):
        await world.readers.find(QUEUES, f"q{number}")
    await asyncio.sleep(ABSENT_SECONDS * 2)
    await world.readers.find(QUEUES, "last")
    assert len(world.readers._absent) == 1
