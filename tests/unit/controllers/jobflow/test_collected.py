"""Jobs of a flow that went when their time to live was over."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.jobflow.watches import OnJob
from generated.batch.v1alpha1 import Job, JobSpec, JobState, JobStatus, TaskState
from generated.flow.v1alpha1 import JOB_FLOWS, JobFlow
from runtime.controller import DONE, again_after
from runtime.errors import Forbidden, NotFound, ServerError
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import status
from tests.unit.controllers.jobflow.test_jobflow import KEY, World, a_flow, a_job, a_template, after, templates

RECORD = "volcano.sh/jobs-with-ttl"


def spent(
    entry: str, phase: str = "Completed", ttl: int | None = 0, finished: str = "", deleted: str | None = None
) -> Job:
    """A job that has finished and is not kept."""
    job = a_job(entry, phase)
    return msgspec.structs.replace(
        job,
        metadata=msgspec.structs.replace(job.metadata, deletion_timestamp=deleted),
        spec=JobSpec(ttl_seconds_after_finished=ttl),
        status=JobStatus(state=JobState(phase=phase, last_transition_time=finished or None)),
    )


def recorded(entry: str, state: str = "Completed") -> dict[str, Any]:
    """What a flow's status holds of a job."""
    return {
        "jobStatusList": [
            {
                "name": f"f-{entry}",
                "state": state,
                "startTimestamp": "2026-05-01T11:00:00Z",
                "restartCount": 2,
                "runningHistories": [{"state": state, "startTimestamp": "2026-05-01T11:30:00Z"}],
            }
        ],
        "conditions": {
            f"f-{entry}": {"phase": state, "runningDuration": "30m0s", "taskStatusCount": {"t": {"phase": {"X": 1}}}}
        },
    }


def marked(flow: JobFlow, *entries: str) -> JobFlow:
    """The flow with the record of its jobs that have a time to live."""
    annotations = {RECORD: ",".join(f"f-{entry}" for entry in entries)}
    return msgspec.structs.replace(flow, metadata=msgspec.structs.replace(flow.metadata, annotations=annotations))


def short(name: str, **spec: Any) -> Any:
    return a_template(name, ttlSecondsAfterFinished=5, **spec)


async def test_a_step_whose_job_was_collected_does_not_run_again_and_counts_as_completed() -> None:
    flow = a_flow("a", after("b", "a"), phase="Running", **recorded("a"))
    world = World(flow, short("a"), *templates("b"))
    assert await world.look() == ["create jobs f-b", "patch jobflows f", "update jobflows f"]
    assert (world.status["completedJobs"], world.status["state"]) == (["f-a"], {"phase": "Running"})
    assert world.status["conditions"]["f-a"]["taskStatusCount"] == {"t": {"phase": {"X": 1}}}
    (detail,) = world.status["jobStatusList"]
    assert (detail["endTimestamp"], detail["restartCount"]) == ("2026-05-01T11:30:00Z", 2)


async def test_a_flow_succeeds_though_none_of_its_jobs_is_left() -> None:
    world = World(a_flow("a", phase="Running", **recorded("a")), short("a"))
    assert await world.look() == ["patch jobflows f", "update jobflows f"]
    assert world.status["state"] == {"phase": "Succeed"}


@pytest.mark.parametrize("state", ["Failed", "Terminated"])
async def test_a_flow_that_failed_is_not_tried_again_when_the_job_is_collected(state: str) -> None:
    world = World(a_flow("a", phase="Failed", **recorded("a", state)), short("a"))
    await world.look()
    assert world.status["state"] == {"phase": "Failed"}


async def test_the_entry_may_give_its_job_the_time_to_live() -> None:
    entry = {"name": "a", "patch": {"jobSpec": {"ttlSecondsAfterFinished": 0}}}
    assert "create jobs f-a" not in await World(a_flow(entry, phase="Running", **recorded("a")), *templates("a")).look()


@pytest.mark.parametrize(
    ("state", "template"), [("Completed", a_template("a")), ("Running", short("a")), ("Aborted", short("a"))]
)
async def test_a_job_that_somebody_deleted_is_made_anew(state: str, template: Any) -> None:
    world = World(a_flow("a", phase="Running", **recorded("a", state)), template)
    assert "create jobs f-a" in await world.look()


async def test_a_job_that_is_collected_before_its_end_was_recorded_counts_too() -> None:
    world = World(
        a_flow("a", after("b", "a"), phase="Running", **recorded("a", "Running")), short("a"), *templates("b")
    )
    queue: WorkQueue[Key] = WorkQueue("test")
    OnJob(queue, world.reader, world.reconciler.collected.note).on_delete(spent("a"))
    assert len(queue) == 1
    assert await world.look() == ["create jobs f-b", "patch jobflows f", "update jobflows f"]
    assert world.status["jobStatusList"][0]["state"] == "Completed"


@pytest.mark.parametrize(
    "job",
    [
        spent("a", ttl=None),
        spent("a", "Running"),
        msgspec.structs.replace(spent("a"), metadata=msgspec.structs.replace(spent("a").metadata, owner_references=())),
    ],
)
async def test_only_a_finished_job_of_the_flow_that_had_a_time_to_live_was_collected(job: Job) -> None:
    world = World(a_flow("a", phase="Running"), short("a"))
    world.reconciler.collected.note(job)
    assert "create jobs f-a" in await world.look()


async def test_a_job_that_is_there_counts_as_it_is_and_what_is_gone_with_its_flow_is_forgotten() -> None:
    flow = a_flow("a", phase="Running", **recorded("a"))
    present = a_job("a", task_status_count={"t": TaskState(phase={"Running": 1})})
    world = World(flow, present, short("a"))
    collected = world.reconciler.collected
    collected.note(spent("a"))
    await world.look()
    assert (world.status["runningJobs"], world.status["state"]) == (["f-a"], {"phase": "Running"})
    assert collected.of(a_flow(), ()).keys() == {"f-a"}
    world.reconciler.forget(flow)
    assert collected.of(a_flow(), ()) == {}


@pytest.mark.parametrize("template", [[a_template("a")], []])
async def test_a_job_that_had_a_time_to_live_was_collected_whatever_became_of_its_template(template: list[Any]) -> None:
    world = World(marked(a_flow("a", phase="Running", **recorded("a")), "a"), *template)
    assert await world.look() == ["update jobflows f"]
    assert world.status["state"] == {"phase": "Succeed"}


async def test_a_job_that_had_no_time_to_live_was_not_collected_though_its_template_has_got_one() -> None:
    world = World(marked(a_flow("a", phase="Running", **recorded("a"))), short("a"))
    assert "create jobs f-a" in await world.look()


@pytest.mark.parametrize(
    ("noted", "is_collected"),
    [
        ("a@1777636740", True),
        ("a@1777636805", True),  # clocks differ
        ("a@1777637100", False),
        ("a@soon", True),
        ("b@1777637100", True),
    ],
)
async def test_a_job_that_went_unseen_before_its_time_could_be_over_was_not_collected(
    noted: str, is_collected: bool
) -> None:
    world = World(marked(a_flow("a", phase="Running", **recorded("a")), "a", noted), short("a"))
    assert ("create jobs f-a" in await world.look()) is not is_collected
    assert world.status["state"] == {"phase": "Succeed" if is_collected else "Running"}


async def test_a_job_that_was_seen_to_be_collected_counts_from_then_on_though_another_end_was_noted() -> None:
    flow = marked(a_flow("a", "b", phase="Running", **recorded("a")), "a", "a@1777637100")
    world = World(flow, spent("b", "Running"), short("a"))
    world.reconciler.collected.note(spent("a"))
    assert await world.look() == ["patch jobflows f", "update jobflows f"]
    (patch,) = world.fakes.log.find("patch", JOB_FLOWS)
    assert patch.body["metadata"]["annotations"] == {RECORD: "f-a,f-b"}


async def test_a_job_that_was_deleted_early_and_cannot_be_made_yet_is_not_taken_for_collected_later() -> None:
    world = World(marked(a_flow("a", phase="Running", **recorded("a")), "a", "a@1777637100"))
    assert await world.look() == ["patch jobflows f", "update jobflows f"]
    (patch,) = world.fakes.log.find("patch", JOB_FLOWS)
    assert patch.body["metadata"]["annotations"] == {RECORD: ""}


@pytest.mark.parametrize(
    ("flow", "job", "written"),
    [
        (a_flow("a"), spent("a", "Failed", 600, "2026-05-01T11:55:00Z"), "f-a,f-a@1777637100"),
        (marked(a_flow("a"), "a", "a@1777637100"), spent("a", "Running", 600), "f-a"),
        (
            marked(a_flow("a", "b", **recorded("a")), "a", "a@1777636740"),
            spent("b", "Running", 9),
            "f-a,f-b",
        ),
        (a_flow("a"), spent("a", "Running", 60), "f-a"),
        (marked(a_flow("a"), "b"), spent("a", "Running"), "f-a"),
        (marked(a_flow("a"), "a"), spent("a", "Running", None), ""),
        (marked(a_flow("a"), "a"), spent("a", "Running"), None),
        (a_flow("a"), a_job("a"), None),
    ],
)
async def test_the_flow_records_which_of_its_jobs_have_a_time_to_live(
    flow: JobFlow, job: Job, written: str | None
) -> None:
    world = World(flow, job, *templates("a"))
    writes = await world.look()
    assert writes[-1] == "update jobflows f"
    patches = [write.body for write in world.fakes.log.find("patch", JOB_FLOWS)]
    metadata = {"uid": "u", "resourceVersion": "5", "annotations": {RECORD: written}}
    assert patches == ([] if written is None else [{"metadata": metadata}])


async def test_the_status_is_written_after_the_record_and_over_it() -> None:
    world = World(a_flow("a"), spent("a", "Running", 60), *templates("a"))
    recorded_flow = marked(a_flow(), "a")
    meta = msgspec.structs.replace(recorded_flow.metadata, resource_version="6")
    world.fakes.log.answer(msgspec.structs.replace(recorded_flow, metadata=meta), "patch")
    assert await world.look() == ["patch jobflows f", "update jobflows f"]
    assert world.fakes.writes[-1].body["metadata"]["resourceVersion"] == "6"
    flow = world.reader.flow(KEY)
    assert flow is not None
    assert [entry.name for entry in flow.spec.flows] == ["a"]


@pytest.mark.parametrize("error", [Forbidden(status(403, "Forbidden")), ServerError(status(500, "InternalError"))])
async def test_a_record_that_is_refused_keeps_nobody_from_the_status(error: Exception) -> None:
    world = World(a_flow("a"), spent("a", "Running", 60), *templates("a"))
    world.fakes.log.fail(error, "patch")
    assert await world.look() == ["patch jobflows f", "update jobflows f"]
    assert world.status["state"] == {"phase": "Running"}


async def test_a_record_on_a_flow_that_is_gone_is_no_error() -> None:
    world = World(a_flow("a"), spent("a", "Running", 60), *templates("a"))
    world.fakes.log.fail(NotFound(status(404, "NotFound")), resource=JOB_FLOWS, times=None)
    await world.look()


@pytest.mark.parametrize(
    ("job", "is_collected"),
    [
        (spent("a", "Failed", 600, "2026-05-01T11:50:00Z"), True),
        (spent("a", "Failed", 600, "2026-05-01T11:50:05Z"), True),  # clocks differ
        (spent("a", "Failed", 600, "2026-05-01T11:55:00Z"), False),
        (spent("a", "Failed", 300, "2026-05-01T11:50:00Z", deleted="2026-05-01T11:55:00Z"), True),
        (spent("a", "Failed", 300, "2026-05-01T11:50:00Z", deleted="2026-05-01T11:51:00Z"), False),
    ],
)
async def test_a_job_that_somebody_deletes_before_its_time_is_over_was_not_collected(
    job: Job, is_collected: bool
) -> None:
    flow = marked(a_flow("a", phase="Failed", **recorded("a", "Failed")), "a")
    world = World(flow, short("a"))
    world.reconciler.collected.note(job)
    assert await world.look() == (["update jobflows f"] if is_collected else ["patch jobflows f", "update jobflows f"])
    assert world.status["state"] == {"phase": "Failed" if is_collected else "Running"}
    assert world.result == (DONE if is_collected else again_after(0))


async def test_what_was_known_of_a_collected_job_gives_way_to_what_became_of_the_next_of_its_name() -> None:
    world = World(a_flow("a", phase="Running", **recorded("a")), short("a"))
    collected = world.reconciler.collected
    collected.note(spent("a"))
    collected.note(a_job("a"))
    assert "create jobs f-a" in await world.look()
    assert world.status["state"] == {"phase": "Running"}
    collected.note(spent("a"))
    assert collected.of(a_flow("a"), ()).keys() == {"f-a"}
