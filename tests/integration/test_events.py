from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from runtime.client import Client
from runtime.event_correlator import COMBINED
from runtime.events import NORMAL, EventRecorder
from runtime.kubeconfig import load
from runtime.transport import Transport
from runtime.wire import ObjectReference

Running = Callable[[], contextlib.AbstractAsyncContextManager[EventRecorder]]


@pytest.fixture
def running(kubeconfig: Path) -> Running:
    @asynccontextmanager
    async def run() -> AsyncIterator[EventRecorder]:
        async with Transport(load(str(kubeconfig)), qps=500, burst=500) as transport:
            recorder = EventRecorder(Client(transport), "vc-test", host="here")
            task = asyncio.create_task(recorder.run())
            try:
                yield recorder
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    return run


def pod(namespace: str, name: str = "p") -> ObjectReference:
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=f"uid-{name}")


def stored(control_plane: ControlPlane, namespace: str, name: str = "p") -> list[dict[str, Any]]:
    """The events of an object, oldest first."""
    found = control_plane.api.items(
        f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={name},source=vc-test"
    )
    return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))


async def test_the_same_event_again_raises_a_count(
    control_plane: ControlPlane, namespace: str, running: Running
) -> None:
    async with running() as recorder:
        for _ in range(5):
            recorder.record(pod(namespace), "Warning", "FailedScheduling", "0/3 nodes are available")
            assert await recorder.drain(20)
    (event,) = await asyncio.to_thread(stored, control_plane, namespace)
    assert event["count"] == 5
    assert event["reason"] == "FailedScheduling"
    assert event["type"] == "Warning"
    assert event["source"] == {"component": "vc-test", "host": "here"}
    assert event["reportingComponent"] == "vc-test"
    assert event["involvedObject"]["uid"] == "uid-p"
    assert event["firstTimestamp"] <= event["lastTimestamp"]


async def test_many_similar_events_become_one(control_plane: ControlPlane, namespace: str, running: Running) -> None:
    async with running() as recorder:
        for number in range(15):
            recorder.record(pod(namespace), "Warning", "Unschedulable", f"{number}/15 tasks in gang unschedulable")
            assert await recorder.drain(20)
    events = await asyncio.to_thread(stored, control_plane, namespace)
    assert len(events) == 10
    assert events[-1]["message"] == f"{COMBINED}14/15 tasks in gang unschedulable"
    assert events[-1]["count"] == 6


async def test_events_of_many_pods_all_arrive(control_plane: ControlPlane, namespace: str, running: Running) -> None:
    async with running() as recorder:
        for number in range(300):
            recorder.record(pod(namespace, f"p{number}"), NORMAL, "Scheduled", "Successfully assigned")
        assert await recorder.drain(60)
    path = f"/api/v1/namespaces/{namespace}/events"
    found = await asyncio.to_thread(control_plane.api.items, path, fieldSelector="source=vc-test")
    assert {event["involvedObject"]["name"] for event in found} == {f"p{number}" for number in range(300)}


async def test_events_of_objects_without_namespace_are_kept_in_default(
    control_plane: ControlPlane, namespace: str, running: Running
) -> None:
    queue = ObjectReference(api_version="scheduling.volcano.sh/v1beta1", kind="Queue", name=namespace, uid="q")
    async with running() as recorder:
        recorder.record(queue, NORMAL, "CloseQueue", "Close queue succeed")
        assert await recorder.drain(20)
    (event,) = await asyncio.to_thread(stored, control_plane, "default", namespace)
    assert event["involvedObject"]["kind"] == "Queue"


async def test_an_expired_event_is_made_again(control_plane: ControlPlane, namespace: str, running: Running) -> None:
    async with running() as recorder:
        recorder.record(pod(namespace), NORMAL, "R", "m")
        assert await recorder.drain(20)
        (event,) = await asyncio.to_thread(stored, control_plane, namespace)
        name = event["metadata"]["name"]
        await asyncio.to_thread(control_plane.api.delete, f"/api/v1/namespaces/{namespace}/events/{name}")
        recorder.record(pod(namespace), NORMAL, "R", "m")
        assert await recorder.drain(20)
    (event,) = await asyncio.to_thread(stored, control_plane, namespace)
    assert event["count"] == 2


async def test_a_namespace_that_is_gone_costs_its_own_events_only(
    control_plane: ControlPlane, namespace: str, running: Running
) -> None:
    async with running() as recorder:
        recorder.record(pod("no-such-namespace"), NORMAL, "R", "m")
        recorder.record(pod(namespace), NORMAL, "R", "m")
        assert await recorder.drain(20)
    assert len(await asyncio.to_thread(stored, control_plane, namespace)) == 1


async def test_an_outage_loses_no_event(control_plane: ControlPlane, namespace: str, running: Running) -> None:
    async with running() as recorder:
        await asyncio.to_thread(control_plane.kill_apiserver)
        try:
            for number in range(20):
                recorder.record(pod(namespace, f"p{number}"), NORMAL, "Scheduled", "m")
            assert not await recorder.drain(1)
        finally:
            await asyncio.to_thread(control_plane.start_apiserver)
        assert await recorder.drain(60)
    path = f"/api/v1/namespaces/{namespace}/events"
    found = await asyncio.to_thread(control_plane.api.items, path, fieldSelector="source=vc-test")
    assert {event["involvedObject"]["name"] for event in found} == {f"p{number}" for number in range(20)}
    assert all(event["count"] == 1 for event in found)
