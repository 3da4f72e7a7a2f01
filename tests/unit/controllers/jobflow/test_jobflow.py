"""The JobFlow controller on filled listers and a recording client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from api.owners import owner_reference
from controllers.freshest import Freshest
from controllers.job.reader import POD_INDEXERS
from controllers.jobflow.probes import Prober
from controllers.jobflow.reader import FLOW_INDEXERS, JOB_INDEXERS, Reader
from controllers.jobflow.reconcile import JobFlowError, JobFlowReconciler
from controllers.jobflow.texts import FLOW_DECODER, TEMPLATE_DECODER
from controllers.jobflow.watches import OnFlow, OnJob, OnTemplate
from generated.batch.v1alpha1 import JOBS, Job, JobSpec, JobState, JobStatus
from generated.core.v1 import Pod
from generated.fakes.fakes import Fakes
from generated.flow.v1alpha1 import JOB_FLOWS, JobFlow, JobTemplate, Probe
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE, Result, again_after
from runtime.errors import AlreadyExists, NotFound
from runtime.lister import Lister
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import Events, readable, status

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
KEY = Key("ns", "f")


def a_flow(*entries: Mapping[str, Any] | str, phase: str = "", policy: str = "", **old: Any) -> JobFlow:
    flows = [{"name": entry} if isinstance(entry, str) else dict(entry) for entry in entries]
    document = {
        "metadata": {"name": "f", "namespace": "ns", "uid": "u", "resourceVersion": "5"},
        "spec": {"flows": flows, "jobRetainPolicy": policy},
        "status": {"state": {"phase": phase}, **old},
    }
    return FLOW_DECODER.decode(msgspec.json.encode(document))


def after(name: str, *targets: str, **probe: Any) -> dict[str, Any]:
    return {"name": name, "dependsOn": {"targets": list(targets), **({"probe": probe} if probe else {})}}


def a_template(name: str, **spec: Any) -> JobTemplate:
    document = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"minAvailable": 1, **spec}}
    return TEMPLATE_DECODER.decode(msgspec.json.encode(document))


def a_job(entry: str, phase: str = "Running", owner: JobFlow | None = None, **fields: Any) -> Job:
    owners = (owner_reference(JOB_FLOWS, owner or a_flow()),)
    meta = ObjectMeta(
        name=f"f-{entry}",
        namespace="ns",
        uid=f"uid-{entry}",
        resource_version="7",
        owner_references=owners,
        creation_timestamp="2026-05-01T11:00:00Z",
    )
    return Job(metadata=meta, spec=JobSpec(), status=JobStatus(state=JobState(phase=phase), **fields))


class FixedProber(Prober):
    def __init__(self, *, passes: bool) -> None:
        super().__init__(lambda _: [])
        self.answer = passes
        self.asked: list[tuple[Probe, list[str]]] = []

    async def passes(self, probe: Probe, jobs: Sequence[Job]) -> bool:
        self.asked.append((probe, [job.metadata.name for job in jobs]))
        return self.answer


class World:
    def __init__(self, flow: JobFlow | None, *objects: Any, probe: bool = False) -> None:
        stored = [each for each in objects if isinstance(each, JobTemplate)]
        self.fakes = Fakes(*(each for each in objects if not isinstance(each, JobTemplate)))
        self.events = Events()
        self.reader = Reader(
            flows=Lister.filled([flow] if flow else [], FLOW_INDEXERS),
            templates=Lister.filled(stored),
            jobs=Lister.filled(self.fakes.objects_of(Job), JOB_INDEXERS),
            pods=Lister.filled(self.fakes.objects_of(Pod), POD_INDEXERS),
            fresh=Freshest(),
        )
        self.prober = FixedProber(passes=probe)
        self.reconciler = JobFlowReconciler(self.fakes.clients, self.reader, self.prober, self.events, NOW.timestamp)
        self.result: Result | None = None

    async def look(self) -> list[str]:
        before = len(self.fakes.writes)
        self.result = await self.reconciler.reconcile(KEY)
        return [f"{write.verb} {write.resource.partition('.')[0]} {write.name}" for write in self.fakes.writes[before:]]

    @property
    def status(self) -> dict[str, Any]:
        written: dict[str, Any] = self.fakes.log.find("update", JOB_FLOWS)[-1].body["status"]
        return written


def templates(*names: str) -> list[JobTemplate]:
    return [a_template(name) for name in names]


async def test_entries_without_dependencies_start_at_once() -> None:
    world = World(a_flow("a", after("b", "a"), after("c")), *templates("a", "b", "c"))
    assert await world.look() == ["create jobs f-a", "create jobs f-c", "update jobflows f"]
    created = world.fakes.writes[0].body
    assert (
        created["metadata"]["labels"]
        == created["metadata"]["annotations"]
        == {
            "volcano.sh/createdByJobTemplate": "ns.a",
            "volcano.sh/createdByJobFlow": "ns.f",
        }
    )
    (owner,) = created["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("JobFlow", "u", True)
    assert created["spec"] == {"minAvailable": 1}
    assert world.events.seen == [
        ("Normal", "f", "Created", "create a job named f-a!"),
        ("Normal", "f", "Created", "create a job named f-c!"),
    ]
    assert world.status["state"] == {"phase": "Pending"}
    assert world.result == DONE


@pytest.mark.parametrize(("phase", "creates"), [("Completed", True), ("Running", False), ("Completing", False)])
async def test_an_entry_starts_when_its_targets_are_completed(phase: str, creates: bool) -> None:
    world = World(a_flow("a", after("b", "a"), phase="Running"), a_job("a", phase), *templates("a", "b"))
    writes = await world.look()
    assert ("create jobs f-b" in writes) is creates


async def test_an_entry_with_a_target_that_does_not_exist_waits() -> None:
    world = World(a_flow("a", after("b", "a", "nope"), phase="Running"), a_job("a", "Completed"), *templates("a", "b"))
    assert "create jobs f-b" not in await world.look()


@pytest.mark.parametrize(("passes", "created"), [(True, True), (False, False)])
async def test_with_a_probe_the_target_need_not_be_completed(passes: bool, created: bool) -> None:
    probe = {"taskStatusList": [{"taskName": "t", "phase": "Running"}]}
    flow = a_flow("a", after("b", "a", **probe), phase="Running")
    world = World(flow, a_job("a"), *templates("a", "b"), probe=passes)
    assert ("create jobs f-b" in await world.look()) is created
    assert world.prober.asked[0][1] == ["f-a"]
    assert world.result == (DONE if passes else again_after(5))


async def test_changes_of_the_entry_are_merged_over_its_template() -> None:
    entry = {"name": "a", "patch": {"jobSpec": {"queue": "q", "tasks": [{"name": "t", "replicas": 0}]}}}
    template = a_template("a", tasks=[{"name": "t", "replicas": 2, "unknownField": {"x": 1}}])
    world = World(a_flow(entry), template)
    await world.look()
    assert world.fakes.writes[0].body["spec"] == {
        "minAvailable": 1,
        "queue": "q",
        "tasks": [{"name": "t", "replicas": 0, "unknownField": {"x": 1}}],
    }


@pytest.mark.parametrize(
    ("patch", "queue", "retries"),
    [
        ({"queue": "default", "maxRetry": 3}, "q2", 7),  # what the server fills in
        ({"queue": "q3", "maxRetry": 1}, "q3", 1),
        ({}, "q2", 7),
    ],
)
async def test_defaults_of_a_patch_leave_the_templates_queue_and_retries(
    patch: dict[str, Any], queue: str, retries: int
) -> None:
    entry = {"name": "a", "patch": {"jobSpec": {**patch, "minAvailable": 1}}}
    world = World(a_flow(entry), a_template("a", queue="q2", maxRetry=7))
    await world.look()
    spec = world.fakes.writes[0].body["spec"]
    assert (spec["queue"], spec["maxRetry"]) == (queue, retries)


async def test_a_missing_template_is_told_once_and_the_rest_goes_on() -> None:
    world = World(a_flow("gone", "b"), *templates("b"))
    assert await world.look() == ["create jobs f-b", "update jobflows f"]
    await world.look()
    reasons = [seen[2] for seen in world.events.seen]
    assert reasons.count("JobTemplateNotFound") == 1
    assert "ns/gone" in world.events.seen[1][3]


async def test_a_job_that_another_look_has_made_is_no_error() -> None:
    world = World(a_flow("a"), *templates("a"))
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", JOBS)
    readable(world.fakes, JOBS.plural, a_job("a"))
    assert await world.look() == ["create jobs f-a", "update jobflows f"]
    assert world.events.seen == []


async def test_a_job_of_somebody_else_is_an_error() -> None:
    world = World(a_flow("a"), *templates("a"))
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", JOBS)
    readable(world.fakes, JOBS.plural, Job(metadata=ObjectMeta(name="f-a", namespace="ns")))
    with pytest.raises(JobFlowError, match="job f-a exists and is not owned by jobflow ns/f"):
        await world.look()


async def test_jobs_of_an_earlier_flow_of_that_name_do_not_count() -> None:
    earlier = msgspec.structs.replace(a_flow(), metadata=ObjectMeta(name="f", namespace="ns", uid="old"))
    world = World(a_flow("a", phase="Running"), a_job("a", "Completed", earlier), *templates("a"))
    await world.look()
    assert "create jobs f-a" in [
        f"{write.verb} {write.resource.partition('.')[0]} {write.name}" for write in world.fakes.writes
    ]


async def test_the_status_tells_where_all_jobs_stand() -> None:
    job = a_job("a", "Completed", retry_count=2, running_duration="1m30s")
    world = World(a_flow("a", "b", phase="Running"), job, a_job("b"), *templates("a", "b"))
    assert await world.look() == ["update jobflows f"]
    assert world.status["completedJobs"] == ["f-a"]
    assert world.status["runningJobs"] == ["f-b"]
    assert world.status["conditions"]["f-a"] == {
        "phase": "Completed",
        "createTime": "2026-05-01T11:00:00Z",
        "runningDuration": "1m30s",
    }
    assert world.status["jobStatusList"][0] == {
        "name": "f-a",
        "state": "Completed",
        "startTimestamp": "2026-05-01T11:00:00Z",
        "endTimestamp": "2026-05-01T11:01:30Z",
        "restartCount": 2,
        "runningHistories": [{"startTimestamp": "2026-05-01T12:00:00Z", "state": "Completed"}],
    }
    assert world.status["state"] == {"phase": "Running"}


async def test_a_new_phase_of_a_job_closes_the_one_before() -> None:
    old = [{"name": "f-a", "runningHistories": [{"startTimestamp": "2026-05-01T10:00:00Z", "state": "Pending"}]}]
    gone = [{"name": "f-gone", "state": "Failed"}]
    world = World(a_flow("a", phase="Pending", jobStatusList=gone + old), a_job("a"), *templates("a"))
    await world.look()
    assert [entry["name"] for entry in world.status["jobStatusList"]] == ["f-gone", "f-a"]
    assert world.status["jobStatusList"][1]["runningHistories"] == [
        {"startTimestamp": "2026-05-01T10:00:00Z", "endTimestamp": "2026-05-01T12:00:00Z", "state": "Pending"},
        {"startTimestamp": "2026-05-01T12:00:00Z", "state": "Running"},
    ]


async def test_a_status_that_is_right_is_not_written_again() -> None:
    world = World(a_flow("a", phase="Running"), a_job("a"), *templates("a"))
    world.fakes.log.answer(
        msgspec.structs.replace(a_flow("a"), status=msgspec.structs.replace(a_flow().status)), "update"
    )
    await world.look()
    written = msgspec.convert(world.status, type(a_flow().status))
    settled = msgspec.structs.replace(a_flow("a"), status=written)
    assert await World(settled, a_job("a"), *templates("a")).look() == []


async def test_all_entries_completed_is_success() -> None:
    world = World(a_flow("a", phase="Running"), a_job("a", "Completed"), a_job("removed", "Running"), *templates("a"))
    await world.look()
    assert world.status["state"] == {"phase": "Succeed"}


async def test_a_flow_whose_failed_job_was_deleted_goes_on_at_once() -> None:
    world = World(a_flow("a", phase="Failed"), *templates("a"))
    assert await world.look() == ["update jobflows f"]
    assert (world.status["state"], world.result) == ({"phase": "Running"}, again_after(0))


async def test_a_flow_that_has_succeeded_creates_nothing_any_more() -> None:
    world = World(a_flow("a", phase="Succeed"), *templates("a"))
    assert "create jobs f-a" not in await world.look()


async def test_a_flow_that_has_succeeded_may_want_its_jobs_gone() -> None:
    world = World(a_flow("a", "b", phase="Succeed", policy="delete"), a_job("a", "Completed"), a_job("b", "Completed"))
    world.fakes.log.fail(NotFound(status(404, "NotFound")), "delete", JOBS)
    assert sorted(await world.look()) == ["delete jobs f-a", "delete jobs f-b"]
    assert {write.body["preconditions"]["uid"] for write in world.fakes.writes} == {"uid-a", "uid-b"}


async def test_a_suspended_job_is_told() -> None:
    world = World(a_flow("a", phase="Running"), a_job("a", "Aborted"), *templates("a"))
    await world.look()
    assert world.status["unKnowJobs"] == ["f-a"]
    assert [seen[0] for seen in world.events.seen] == ["Warning"]
    assert "f-a is suspended" in world.events.seen[0][3]


@pytest.mark.parametrize("phase", ["Odd", "running"])
async def test_an_unknown_phase_is_an_error(phase: str) -> None:
    world = World(a_flow("a", phase=phase), *templates("a"))
    with pytest.raises(JobFlowError, match=rf"jobflow f state \{{{phase}\}} is invalid"):
        await world.look()
    await world.reconciler.give_up(KEY, JobFlowError("x"))
    text = "SyncJobFlow JobFlow failed for sync jobflow f failed for x, event is OutOfSync, action is SyncJobFlow"
    assert world.events.seen == [("Warning", "f", "SyncJobFlow", text)]


async def test_a_flow_that_is_gone_or_ending_needs_nothing() -> None:
    assert await World(None).look() == []
    assert await World(a_flow("a", phase="Terminating"), *templates("a")).look() == []


async def test_a_flow_whose_jobs_name_was_taken_is_woken_when_it_is_free() -> None:
    flow = a_flow("a")
    queue: WorkQueue[Key] = WorkQueue("test")
    handler = OnJob(queue, World(flow).reader, lambda _: None)
    taken = msgspec.structs.replace(a_job("a").metadata, owner_references=())
    other = msgspec.structs.replace(taken, name="f-other")
    handler.on_delete(msgspec.structs.replace(a_job("a"), metadata=other))
    assert len(queue) == 0
    handler.on_delete(msgspec.structs.replace(a_job("a"), metadata=taken))
    assert await queue.get() == key_of(flow)


async def test_what_wakes_a_flow() -> None:
    flow = a_flow("a")
    world = World(flow)
    queue: WorkQueue[Key] = WorkQueue("test")
    OnJob(queue, world.reader, lambda _: None).on_delete(a_job("a"))
    assert await queue.get() == KEY
    queue.done(KEY)
    OnTemplate(queue, world.reader).on_add(a_template("a"), initial=False)
    assert await queue.get() == KEY
    queue.done(KEY)
    handler = OnFlow(queue, lambda _: None)
    handler.on_update(flow, a_flow("a", phase="Running"))
    OnTemplate(queue, world.reader).on_add(a_template("other"), initial=False)
    OnJob(queue, world.reader, lambda _: None).on_update(a_job("a"), a_job("a"))
    assert len(queue) == 0
    handler.on_update(flow, a_flow("a", "b"))
    assert await queue.get() == key_of(flow)
