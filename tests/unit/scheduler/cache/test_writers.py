from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from generated.core.v1 import PODS
from generated.fakes.fakes import Fakes
from runtime.errors import Conflict, ConnectionFailed, Forbidden, NotFound, ServerError
from runtime.lease import LeaseLost
from runtime.metrics import REGISTRY
from runtime.wire import ObjectReference, Status
from scheduler.cache.writers import PODS_EXPECTED, Writers
from scheduler.contract.decisions import Bind, Evict
from scheduler.cycle import Result
from scheduler.evicting.nominations import Lapse
from scheduler.reporting.outcome import Condition, JobOutcome, Outcome, TaskOutcome
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


@pytest.mark.virtual_time
async def test_after_a_failed_bind_the_old_reason_is_news_again() -> None:
    bench = Bench()
    bench.fakes.log.fail(ConnectionFailed("connection refused"), "create", PODS)
    waits = TaskOutcome(task(), "Unschedulable", "full", "")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((), (waits,))))
        await settled(bench)
        bench.writers.submit(Result((Bind(task(), "n1", 1),), Outcome()))
        await settled(bench)
        bench.writers.submit(Result((), Outcome((), (waits,))))
    reasons = [
        write.body["status"]["conditions"][0]["reason"] for write in bench.fakes.writes if "status" in write.body
    ]
    assert reasons == ["Unschedulable", "SchedulerError", "Unschedulable"]


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
    assert body["metadata"] == {"uid": "u"}
    assert list(body) == ["metadata", "status"]
    assert body["status"]["phase"] == "Pending"
    assert body["status"]["conditions"][0]["transitionID"] == "session-1"
    assert bench.said.lines == ["PodGroup Warning Unschedulable: 1/1 tasks in gang unschedulable: x"]


OUTAGES = [
    ConnectionFailed("connection refused"),
    LeaseLost("lost"),
    ServerError(Status(code=500, message="etcd")),
    Forbidden(Status(code=403, message="a policy says no")),
]


async def settled(bench: Bench) -> None:
    """Until nothing waits, timers included."""
    async with asyncio.timeout(600):
        while bench.writers.owed:  # nobody tells
            await asyncio.sleep(0.1)


@pytest.mark.virtual_time
@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: type(error).__name__)
async def test_a_status_that_could_not_be_written_is_written_later_though_nobody_offers_it_again(
    error: Exception,
) -> None:
    bench = Bench()
    bench.fakes.log.fail(error, "patch", times=3)
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        await settled(bench)
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        await settled(bench)
    assert len(bench.writes) == 4
    assert len(bench.said.lines) == 1


@pytest.mark.virtual_time
async def test_no_phase_is_skipped_because_a_write_failed() -> None:
    bench = Bench()
    bench.fakes.log.fail(OUTAGES[0], "patch")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        await asyncio.sleep(0)
        bench.writers.submit(Result((), Outcome((waiting(phase="Inqueue"),), ())))
        await settled(bench)
    assert [write.body["status"]["phase"] for write in bench.fakes.writes] == ["Pending", "Pending", "Inqueue"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("error", [NotFound(Status(code=404)), Conflict(Status(code=409, message="uid"))])
async def test_a_group_that_is_gone_is_told_nothing_more(error: Exception) -> None:
    bench = Bench()
    bench.fakes.log.fail(error, "patch")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(),), ())))
        await settled(bench)
    assert len(bench.writes) == 1


@pytest.mark.virtual_time
@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: type(error).__name__)
async def test_a_condition_that_could_not_be_written_is_written_later_and_its_event_sent_once(error: Exception) -> None:
    bench = Bench()
    bench.fakes.log.fail(error, "patch", times=2)
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((), (TaskOutcome(task(), "Unschedulable", "full", ""),))))
        await settled(bench)
    assert bench.writes == ["patch pods/status ns/g-w-0"] * 3
    assert len(bench.said.lines) == 1


async def test_a_bind_that_finds_the_lease_lost_lets_the_pod_wait_again() -> None:
    bench = Bench()
    bench.fakes.log.fail(LeaseLost("lost"), times=None)
    async with bench.at_work():
        bench.writers.submit(Result((Bind(task(), "n1", 1),), Outcome()))
        await asyncio.sleep(0)
    assert bench.unbound == ["uid-g-w-0"]


async def test_a_condition_that_waited_behind_a_bind_is_not_written_any_more() -> None:
    bench = Bench()
    waits = TaskOutcome(task(), "Unschedulable", "full", "")
    bench.writers.submit(Result((), Outcome((), (waits,))))
    bench.writers.submit(Result((Bind(waits.task, "n1", 1),), Outcome()))
    async with bench.at_work():
        await asyncio.sleep(0)
    assert bench.writes == ["create pods/binding ns/g-w-0"]


async def test_a_bind_waits_for_a_condition_on_its_way() -> None:
    bench = Bench()
    waits = TaskOutcome(task(), "Unschedulable", "full", "")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((), (waits,))))
        while not bench.writers._telling:
            await asyncio.sleep(0)
        bench.writers.submit(Result((Bind(waits.task, "n1", 1),), Outcome()))
    assert bench.writes == ["patch pods/status ns/g-w-0", "create pods/binding ns/g-w-0"]


async def test_events_are_sent_though_a_status_write_is_under_way() -> None:
    bench = Bench()
    runs = replace(waiting(phase="Running"), event="", condition=Condition("Scheduled", "ready", "", "session-2"))
    bench.writers.submit(Result((), Outcome((waiting(),), ())))
    bench.writers.submit(Result((), Outcome((runs,), ())))
    async with bench.at_work():
        await asyncio.sleep(0)
    assert bench.said.lines[1:] == ["PodGroup Normal Scheduled: pod group is ready"]


def let_in() -> JobOutcome:
    """A group that has no pods yet."""
    return replace(waiting("0/0 tasks in gang unschedulable: x", "Inqueue"), condition=None)


@pytest.mark.virtual_time
async def test_a_group_that_was_let_in_has_some_seconds_until_it_is_told_that_it_has_no_pods() -> None:
    bench = Bench()
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((let_in(),), ())))
        await asyncio.sleep(PODS_EXPECTED - 0.1)
        bench.writers.submit(Result((), Outcome((let_in(),), ())))
        assert bench.said.lines == []
        await asyncio.sleep(0.2)
        assert bench.said.lines == ["PodGroup Warning Unschedulable: 0/0 tasks in gang unschedulable: x"]
    assert bench.writers.owed == 0


@pytest.mark.virtual_time
@pytest.mark.parametrize("comes", ["pods", "news", "end"])
async def test_what_comes_meanwhile_takes_its_place(comes: str) -> None:
    bench = Bench()
    bench.writers._clock = asyncio.get_running_loop().time
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((let_in(),), ())))
        await asyncio.sleep(1.0)
        if comes == "end":
            bench.writers.forget("u")
        else:
            found = waiting("1/1 tasks in gang unschedulable: x", "Inqueue" if comes == "pods" else "Pending")
            bench.writers.submit(Result((), Outcome((found,), ())))
        await asyncio.sleep(2 * PODS_EXPECTED)
    assert [line for line in bench.said.lines if "0/0" in line] == []
    assert bench.writers.owed == 0


@pytest.mark.virtual_time
async def test_numbers_alone_are_written_half_a_minute_later() -> None:
    bench = Bench()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    bench.writers._clock = lambda: 1000.0 + loop.time() - begun
    async with bench.at_work():
        for text in ("3/6 tasks", "4/6 tasks", "5/6 tasks"):
            bench.writers.submit(
                Result((), Outcome((waiting(text),), (TaskOutcome(task(), "Unschedulable", text, ""),)))
            )
            await asyncio.sleep(1)
        await settled(bench)
    groups = [write for write in bench.fakes.writes if "podgroups" in str(write)]
    messages = [write.body["status"]["conditions"][0]["message"] for write in groups]
    assert messages == ["3/6 tasks", "5/6 tasks"]
    pods = [write.body["status"]["conditions"][0]["message"] for write in bench.fakes.writes if "pods" in str(write)]
    assert pods == ["3/6 tasks", "5/6 tasks"]


@pytest.mark.virtual_time
async def test_what_holds_no_longer_when_its_time_comes_is_not_written() -> None:
    bench = Bench()
    loop = asyncio.get_running_loop()
    bench.writers._clock = loop.time
    async with bench.at_work():
        for text in ("no pods", "too few pods", "no pods"):
            bench.writers.submit(Result((), Outcome((waiting(text),), ())))
            await asyncio.sleep(0.01)
        await settled(bench)
        bench.writers.submit(Result((), Outcome((waiting("no room"),), ())))
        await asyncio.sleep(0.01)
        bench.writers.submit(Result((), Outcome((waiting("no node"),), ())))
    messages = [write.body["status"]["conditions"][0]["message"] for write in bench.fakes.writes]
    assert messages == ["no pods", "no room", "no node"]  # the last one by the drain


async def test_what_waits_for_its_turn_or_its_time_is_counted() -> None:
    def counted() -> float | None:
        return REGISTRY.get_sample_value("volcano_scheduler_writes_waiting")

    bench = Bench()
    bench.writers.submit(Result((Bind(task(), "n1", 1),), Outcome((waiting("no pods"),), ())))
    assert counted() == 2
    async with bench.at_work():
        await asyncio.sleep(0.01)
        assert counted() == 0
        bench.writers.submit(Result((), Outcome((waiting("no room"),), ())))
        assert counted() == 1


async def test_nothing_is_kept_of_what_is_gone() -> None:
    bench = Bench()
    async with bench.at_work():
        told = (TaskOutcome(task(), "Unschedulable", "full", ""),)
        bench.writers.submit(Result((), Outcome((replace(waiting(), refusal="full"),), told)))
    for uid in ("u", "uid-g-w-0"):
        bench.writers.forget(uid)
    kept = (bench.writers._pod_groups, bench.writers._refusals, bench.writers._groups._told, bench.writers._tasks._told)
    assert not any(kept)


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


@pytest.mark.virtual_time
@pytest.mark.parametrize(("binds", "pause"), [(2, 0.0), (20, 5.0)])
async def test_that_a_gang_runs_is_written_some_seconds_later_in_a_rush_of_binds(binds: int, pause: float) -> None:
    bench = Bench()
    loop = asyncio.get_running_loop()
    bench.writers._clock = loop.time
    running = JobOutcome(waiting().job, "Running", 0, 0, 0, None, "")
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(phase="Inqueue"),), ())))
        rush = tuple(Bind(task(f"g-w-{number}"), "n1", 1) for number in range(binds))
        bench.writers.submit(Result(rush, Outcome()))
        await asyncio.sleep(0.01)
        begun = loop.time()
        bench.writers.submit(Result((), Outcome((running,), ())))
        await settled(bench)
        assert loop.time() - begun == pytest.approx(pause, abs=0.5)
    phases = [write.body["status"]["phase"] for write in bench.fakes.writes if "podgroups" in str(write)]
    assert phases == ["Inqueue", "Running"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("binds", [2, 20])
async def test_the_event_that_a_gang_runs_is_sent_also_where_its_next_phase_comes_first(binds: int) -> None:
    bench = Bench()
    bench.writers._clock = asyncio.get_running_loop().time
    job = waiting().job
    async with bench.at_work():
        bench.writers.submit(Result((), Outcome((waiting(phase="Inqueue"),), ())))
        bench.writers.submit(Result(tuple(Bind(task(f"g-w-{number}"), "n1", 1) for number in range(binds)), Outcome()))
        await asyncio.sleep(0.01)
        for phase in ("Running", "Completed"):
            bench.writers.submit(Result((), Outcome((JobOutcome(job, phase, 0, 0, 0, None, ""),), ())))
            await asyncio.sleep(1.0)
    phases = [write.body["status"]["phase"] for write in bench.fakes.writes if "podgroups" in str(write)]
    assert phases == ["Inqueue", "Running", "Completed"]
    assert [line for line in bench.said.lines if "Scheduled: pod group" in line] == [
        "PodGroup Normal Scheduled: pod group is ready"
    ]
