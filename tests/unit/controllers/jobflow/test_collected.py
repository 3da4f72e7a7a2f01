"""Jobs of a flow that went when their time to live was over."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controllers.jobflow.watches import OnJob
from generated.batch.v1alpha1 import Job, JobSpec, TaskState
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.jobflow.test_jobflow import World, a_flow, a_job, a_template, after, templates


def spent(entry: str, phase: str = "Completed", ttl: int | None = 0) -> Job:
    """A job that has finished and is not kept."""
    return msgspec.structs.replace(a_job(entry, phase), spec=JobSpec(ttl_seconds_after_finished=ttl))


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


def short(name: str, **spec: Any) -> Any:
    return a_template(name, ttlSecondsAfterFinished=5, **spec)


async def test_a_step_whose_job_was_collected_does_not_run_again_and_counts_as_completed() -> None:
    flow = a_flow("a", after("b", "a"), phase="Running", **recorded("a"))
    world = World(flow, short("a"), *templates("b"))
    assert await world.look() == ["create jobs f-b", "update jobflows f"]
    assert (world.status["completedJobs"], world.status["state"]) == (["f-a"], {"phase": "Running"})
    assert world.status["conditions"]["f-a"]["taskStatusCount"] == {"t": {"phase": {"X": 1}}}
    (detail,) = world.status["jobStatusList"]
    assert (detail["endTimestamp"], detail["restartCount"]) == ("2026-05-01T11:30:00Z", 2)


async def test_a_flow_succeeds_though_none_of_its_jobs_is_left() -> None:
    world = World(a_flow("a", phase="Running", **recorded("a")), short("a"))
    assert await world.look() == ["update jobflows f"]
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
    OnJob(queue, world.reconciler.collected.note).on_delete(spent("a"))
    assert len(queue) == 1
    assert await world.look() == ["create jobs f-b", "update jobflows f"]
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
