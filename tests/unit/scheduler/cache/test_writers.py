from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from generated.core.v1 import PODS
from generated.fakes.fakes import Fakes
from runtime.errors import Conflict, ConnectionFailed
from runtime.wire import ObjectReference, Status
from scheduler.cache.writers import Writers
from scheduler.cycle import Result
from scheduler.decisions import Bind, Evict
from scheduler.nominations import Lapse
from scheduler.outcome import Condition, JobOutcome, Outcome, TaskOutcome
from scheduler.state.job import Job
from scheduler.state.task import Task
from tests.unit.scheduler.cache.test_facts import facts, group, pod


class Said:
    """Takes the place of the event recorder."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def normal(self, resource: Any, obj: Any, reason: str, message: str) -> None:
        self.lines.append(f"{resource.kind} Normal {reason}: {message}")

    def warning(self, resource: Any, obj: Any, reason: str, message: str) -> None:
        self.lines.append(f"{resource.kind} Warning {reason}: {message}")

    def record(self, ref: ObjectReference, kind: str, reason: str, message: str) -> None:
        raise AssertionError(ref)


class Bench:
    """Writers over recording clients."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        self.said = Said()
        self.unbound: list[str] = []
        self.now = 1000.0
        self.writers = Writers(
            self.fakes.clients,
            self.said,  # type: ignore[arg-type]  # the part in use
            unbound=self.unbound.append,
            clock=lambda: self.now,
        )

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.writers.run())
        yield
        await self.writers.drain()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    @property
    def writes(self) -> list[str]:
        return [str(write) for write in self.fakes.writes]


def task(name: str = "g-w-0") -> Task:
    made = facts()
    made.apply(("Pod", None, pod(name)))
    return made.cluster.tasks[f"uid-{name}"]


def waiting(message: str = "1/1 tasks in gang unschedulable: x", phase: str = "Pending") -> JobOutcome:
    job = Job("ns/g")
    job.pod_group = group("u")
    condition = Condition("Unschedulable", "NotEnoughResources", message, "session-1")
    return JobOutcome(job, phase, 0, 0, 0, condition, message)


async def test_a_bind_is_posted_with_the_uid_and_told_on_the_pod() -> None:
    bench = Bench()
    async with bench.at_work():
        bench.writers.submit(Result((Bind(task(), "n1", 1),), Outcome()))
    assert bench.writes == ["create pods/binding ns/g-w-0"]
    assert bench.fakes.writes[0].body["metadata"]["uid"] == "uid-g-w-0"
    assert bench.fakes.writes[0].body["target"]["name"] == "n1"
    assert bench.said.lines == ["Pod Normal Scheduled: Successfully assigned ns/g-w-0 to n1"]
    assert (bench.writers.bound, bench.writers.owed, bench.unbound) == (1, 0, [])


async def test_a_failed_bind_is_told_to_the_pod_and_to_the_scheduling_thread() -> None:
    bench = Bench()
    bench.fakes.log.fail(ConnectionFailed("connection refused"), "create", PODS)
    async with bench.at_work():
        bench.writers.submit(Result((Bind(task(), "n1", 1),), Outcome()))
    assert bench.unbound == ["uid-g-w-0"]
    assert bench.writes == ["create pods/binding ns/g-w-0", "patch pods/status ns/g-w-0"]
    condition = bench.fakes.writes[1].body["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "PodScheduled",
        "False",
        "SchedulerError",
        "failed to bind to node n1: connection refused",
    )


async def test_an_eviction_is_handed_on_to_be_carried_out() -> None:
    bench = Bench()
    async with bench.at_work():
        bench.writers.submit(Result((Evict(task(), "preempt", "ns/h"),), Outcome()))
    assert bench.writes == ["patch pods/status ns/g-w-0", "delete pods ns/g-w-0"]


async def test_an_eviction_in_vain_is_told_on_the_group_it_was_for() -> None:
    bench = Bench()
    lapse = Lapse("ns/g", ("ns/g-w-0",), "preempt", ("ns/x",), "the pod is gone", group("u"))
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome(lapses=(lapse,))))
    assert bench.said.lines == [
        "PodGroup Warning EvictionInVain: Evicted ns/x (preempt) for ns/g-w-0, which did not get the room: the pod is gone"
    ]


@pytest.mark.parametrize(
    ("nominated", "written"), [("n1", {"nominatedNodeName": "n1"}), ("", {}), (None, {"nominatedNodeName": None})]
)
async def test_the_node_kept_for_a_pod_is_named_left_alone_or_taken_away(
    nominated: str | None, written: dict[str, Any]
) -> None:
    bench = Bench()
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((), (TaskOutcome(task(), "Unschedulable", "full", nominated),))))
    body = bench.fakes.writes[0].body["status"]
    assert {key: value for key, value in body.items() if key != "conditions"} == written


async def test_a_group_hears_its_status_once_by_a_patch_of_the_status_alone() -> None:
    bench = Bench()
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
    assert bench.writes == ["patch podgroups.scheduling.volcano.sh ns/g"]
    body = bench.fakes.writes[0].body
    assert list(body) == ["status"]
    assert body["status"]["phase"] == "Pending"
    assert body["status"]["conditions"][0]["transitionID"] == "session-1"
    assert bench.said.lines == ["PodGroup Warning Unschedulable: 1/1 tasks in gang unschedulable: x"]


async def test_a_status_that_could_not_be_written_is_offered_again() -> None:
    bench = Bench()
    bench.fakes.log.fail(Conflict(Status(code=409, message="busy")), "patch")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        await bench.writers.drain()
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
    assert len(bench.writes) == 2


async def test_a_waiting_pod_hears_why_once() -> None:
    bench = Bench()
    told = TaskOutcome(task(), "Unschedulable", "0/1 nodes are unavailable: 1 Insufficient cpu.", "")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((), (told,))))
        bench.writers.submit(Result((), Outcome((), (told,))))
    assert bench.writes == ["patch pods/status ns/g-w-0"]
    assert bench.said.lines == ["Pod Warning FailedScheduling: 0/1 nodes are unavailable: 1 Insufficient cpu."]


async def test_a_refused_admission_is_told_once_for_each_reason() -> None:
    bench = Bench()
    first, second = (
        "queue resource quota insufficient: insufficient cpu",
        "resource in cluster is overused: overused cpu",
    )
    async with bench.at_work():
        for refusal in (first, first, second, "", second):
            told = replace(waiting(), refusal=refusal)
            bench.writers.submit(Result((), Outcome((told,))))
    said = [line for line in bench.said.lines if " Normal Unschedulable" in line]
    assert said == [f"PodGroup Normal Unschedulable: {text}" for text in (first, second, second)]
