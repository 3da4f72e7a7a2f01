from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from runtime import events, metrics
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed, Forbidden, NotFound, ServerError
from runtime.events import EventRecorder, reference
from runtime.lease import LeaseLost
from runtime.patches import MergePatch
from runtime.requests import Priority
from runtime.resource import Resource
from runtime.wire import Event, Lease, ObjectMeta, ObjectReference, Status

PODS: Resource[Lease] = Resource("", "v1", "Pod", "pods", Lease)  # any model with metadata will do


def pod(name: str = "p") -> Lease:
    return Lease(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version="5"))


class Server:
    """Stores events. Fails as often as it is told to."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.priorities: set[Any] = set()
        self.failures: list[Exception] = []
        self.is_free = asyncio.Event()
        self.is_free.set()

    async def _reach(self, request: str, priority: Any) -> None:
        self.requests.append(request)
        self.priorities.add(priority)
        await self.is_free.wait()
        if self.failures:
            raise self.failures.pop(0)

    async def create(
        self, resource: Resource[Any], obj: Any, namespace: str | None = None, *, priority: Any = None
    ) -> Any:
        assert resource is events.EVENTS
        assert namespace == obj.metadata.namespace
        await self._reach(f"create {obj.metadata.name.partition('.')[0]}", priority)
        if obj.metadata.name in self.stored:
            raise AlreadyExists(Status(code=409, reason="AlreadyExists"))
        self.stored[obj.metadata.name] = msgspec.to_builtins(obj)
        return obj

    async def patch(
        self, resource: Resource[Any], name: str, namespace: str | None, patch: Any, *, priority: Any = None
    ) -> Any:
        assert resource is events.EVENTS
        assert isinstance(patch, MergePatch)
        await self._reach(f"patch {name.partition('.')[0]}", priority)
        if name not in self.stored:
            raise NotFound(Status(code=404))
        self.stored[name].update(msgspec.json.decode(patch.encode()))
        return msgspec.convert(self.stored[name], Event)

    def count(self, name: str) -> list[int]:
        return [event["count"] for key, event in self.stored.items() if key.startswith(f"{name}.")]


@pytest.fixture
def outcomes() -> Callable[[str], float]:
    before: dict[str, float] = {}

    def value(result: str) -> float:
        return metrics.REGISTRY.get_sample_value("volcano_events_total", {"result": result}) or 0.0

    for result in ("created", "counted", "filtered", "refused", "dropped"):
        before[result] = value(result)
    return lambda result: value(result) - before[result]


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[EventRecorder]:
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def recorder(server: Server, **settings: Any) -> EventRecorder:
    return EventRecorder(server, "volcano", host="h", **settings)


def refuse(kind: type[ApiError], code: int) -> ApiError:
    return kind(Status(code=code))


def test_a_reference_carries_the_kind_that_objects_from_a_list_lack() -> None:
    assert reference(PODS, pod(), "spec.containers{main}") == ObjectReference(
        api_version="v1",
        kind="Pod",
        namespace="ns",
        name="p",
        uid="uid-p",
        resource_version="5",
        field_path="spec.containers{main}",
    )


@pytest.mark.virtual_time
async def test_an_event_is_created_with_the_lowest_priority(outcomes: Callable[[str], float]) -> None:
    server = Server()
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "Scheduled", "Successfully assigned ns/p to n1")
        assert await found.drain(5)
    (event,) = server.stored.values()
    assert (event["type"], event["reason"]) == ("Normal", "Scheduled")
    assert event["message"] == "Successfully assigned ns/p to n1"
    assert event["source"] == {"component": "volcano", "host": "h"}
    assert server.priorities == {Priority.EVENT}
    assert outcomes("created") == 1


@pytest.mark.virtual_time
async def test_the_same_event_again_is_a_patch_of_its_count(outcomes: Callable[[str], float]) -> None:
    server = Server()
    async with running(recorder(server)) as found:
        for _ in range(3):
            found.warning(PODS, pod(), "FailedScheduling", "no node")
            assert await found.drain(5)
    assert server.requests == ["create p", "patch p", "patch p"]
    assert server.count("p") == [3]
    assert outcomes("counted") == 2


@pytest.mark.virtual_time
async def test_what_waits_together_is_sent_once() -> None:
    server = Server()
    found = recorder(server)
    for _ in range(5):
        found.normal(PODS, pod(), "R", "m")
    assert found.waiting == 1
    async with running(found):
        assert await found.drain(5)
    assert server.requests == ["create p"]
    assert server.count("p") == [5]


@pytest.mark.virtual_time
async def test_a_slow_answer_holds_up_only_its_lane() -> None:
    server = Server()
    server.is_free.clear()
    async with running(recorder(server, lanes=64)) as found:
        for number in range(40):
            found.normal(PODS, pod(f"p{number}"), "R", "m")
        await asyncio.sleep(1)
        assert len(server.requests) > 10
        server.is_free.set()
        assert await found.drain(5)
    assert len(server.stored) == 40


@pytest.mark.virtual_time
async def test_an_outage_of_hours_loses_nothing() -> None:
    server = Server()
    server.failures = [ConnectionFailed("refused", sent=False)] * 1000
    async with running(recorder(server, lanes=1)) as found:
        found.normal(PODS, pod("a"), "R", "m")
        found.normal(PODS, pod("b"), "R", "m")
        assert not await found.drain(3600)
        assert await found.drain(24 * 3600)
    assert (server.count("a"), server.count("b")) == ([1], [1])


@pytest.mark.virtual_time
@pytest.mark.parametrize("error", [ConnectionFailed("timed out"), LeaseLost("not held"), refuse(ServerError, 503)])
async def test_a_failed_try_is_repeated(error: Exception, outcomes: Callable[[str], float]) -> None:
    server = Server()
    server.failures = [error, error]
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(60)
    assert server.requests == ["create p"] * 3
    assert outcomes("created") == 1


@pytest.mark.virtual_time
async def test_a_server_that_always_fails_does_not_hold_up_the_next_event(outcomes: Callable[[str], float]) -> None:
    server = Server()
    server.failures = [refuse(ServerError, 500)] * events.MAX_REFUSALS
    async with running(recorder(server, lanes=1)) as found:
        found.normal(PODS, pod("a"), "R", "m")
        found.normal(PODS, pod("b"), "R", "m")
        assert await found.drain(600)
    assert server.count("a") == []
    assert server.count("b") == [1]
    assert outcomes("refused") == 1


@pytest.mark.virtual_time
async def test_a_refused_event_is_given_up_at_once(outcomes: Callable[[str], float]) -> None:
    server = Server()
    server.failures = [refuse(Forbidden, 403)]  # the namespace is being terminated
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(1)
    assert server.requests == ["create p"]
    assert outcomes("refused") == 1


@pytest.mark.virtual_time
async def test_an_event_that_expired_is_made_again() -> None:
    server = Server()
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(5)
        server.stored.clear()
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(5)
    assert server.requests == ["create p", "patch p", "create p"]
    assert server.count("p") == [2]


@pytest.mark.virtual_time
async def test_a_create_whose_answer_was_lost_counts_as_done(outcomes: Callable[[str], float]) -> None:
    server = Server()
    original = server.create

    async def lossy(*args: Any, **settings: Any) -> Any:
        await original(*args, **settings)
        server.create = original  # type: ignore[method-assign]  # only the first answer is lost
        raise ConnectionFailed("reset")

    server.create = lossy  # type: ignore[method-assign]  # loses an answer
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(60)
        found.normal(PODS, pod(), "R", "m")
        assert await found.drain(60)
    assert server.requests == ["create p", "create p", "patch p"]
    assert server.count("p") == [2]
    assert outcomes("created") == 1


@pytest.mark.virtual_time
async def test_an_object_that_goes_on_and_on_is_filtered(outcomes: Callable[[str], float]) -> None:
    server = Server()
    async with running(recorder(server)) as found:
        for number in range(30):
            found.warning(PODS, pod(), "R", f"{number % 5}")
            assert await found.drain(5)
    assert outcomes("filtered") == 5


@pytest.mark.virtual_time
async def test_beyond_the_bound_new_events_are_dropped_counted_and_told(
    outcomes: Callable[[str], float], caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    found = recorder(server, lanes=1, bound=3)
    for number in range(5):
        found.normal(PODS, pod(f"p{number}"), "R", "m")
    found.normal(PODS, pod("p0"), "R", "m")
    assert found.waiting == 3
    assert metrics.REGISTRY.get_sample_value("volcano_events_waiting") == 3
    assert outcomes("dropped") == 2
    assert caplog.text.count("too many events wait") == 1
    async with running(found):
        assert await found.drain(5)
    assert sorted(server.requests) == ["create p0", "create p1", "create p2"]
    assert server.count("p0") == [2]


@pytest.mark.virtual_time
async def test_a_broken_event_is_logged_and_the_lane_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.failures = [TypeError("a bug")]
    async with running(recorder(server, lanes=1)) as found:
        found.normal(PODS, pod("a"), "R", "m")
        found.normal(PODS, pod("b"), "R", "m")
        assert await found.drain(5)
    assert "a bug" in caplog.text
    assert server.count("b") == [1]


@pytest.mark.virtual_time
async def test_a_message_that_is_no_valid_text_is_sent_as_far_as_it_is() -> None:
    server = Server()
    async with running(recorder(server)) as found:
        found.normal(PODS, pod(), "R", "cgroup \udcff für x")
        assert await found.drain(5)
    assert [event["message"] for event in server.stored.values()] == ["cgroup ? für x"]


async def test_events_come_from_any_thread_and_none_is_lost() -> None:
    server = Server()

    def record(found: EventRecorder, who: int) -> None:
        for number in range(200):
            found.normal(PODS, pod(f"p{who}x{number}"), "R", "m")

    async with running(recorder(server)) as found:
        threads = [threading.Thread(target=record, args=(found, who)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert await found.drain(30)
    assert len(server.stored) == 800


def test_recording_only_remembers() -> None:
    server = Server()
    found = recorder(server)
    for number in range(5000):
        found.normal(PODS, pod(f"p{number}"), "Scheduled", "Successfully assigned")
    assert found.waiting == 5000
    assert not server.stored


async def test_recording_after_the_loop_is_closed_is_no_error() -> None:
    found = recorder(Server())

    def run_once() -> None:
        async def work() -> None:
            async with running(found):
                await asyncio.sleep(0)

        asyncio.run(work())

    await asyncio.to_thread(run_once)
    found.normal(PODS, pod(), "R", "m")
    assert found.waiting == 1
