"""The first status of a job, which waits for the end of a rush."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from msgspec.structs import replace

from controllers.job.executor import JobError
from controllers.job.first import FirstStatuses
from controllers.job.requests import Request
from controllers.job.tallies import LONGEST_FIRST
from generated.batch.v1alpha1 import JOBS, JobState, JobStatus, VolumeSpec
from generated.core.v1 import PODS, PersistentVolumeClaimSpec
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import POD_GROUPS, ClusterSpec, Queue, QueueSpec
from runtime.controller import again_after
from runtime.errors import Conflict, Forbidden
from runtime.model import Model
from runtime.ratelimit import Rush
from tests.unit.controllers.fakes import status
from tests.unit.controllers.job.reconciling import KEY, QUEUE, World, _short, with_group
from tests.unit.controllers.job.samples import NOW_TEXT, a_job, a_pod, replaced

LATER = 7.0
"""Seconds between two looks."""

pytestmark = pytest.mark.virtual_time


def in_rush(*objects: Model) -> World:
    world = World(*objects)
    go_on(world)
    return world


def go_on(world: World) -> None:
    for _ in range(Rush.MANY):
        world.reconciler._parts.executor.tallies.note_write()


def show(world: World) -> None:
    """Let the cache have the job as it was last written."""
    body = next(write.body for write in reversed(world.fakes.writes) if write.subresource == "status")
    job = world.job()
    meta = replace(job.metadata, resource_version="9")
    world.jobs.put(replace(job, metadata=meta, status=msgspec.convert(body["status"], JobStatus)))


async def pass_rush(seconds: float, world: World) -> None:
    """Let time pass in which the rush goes on."""
    for _ in range(int(seconds / 0.4)):
        await asyncio.sleep(0.4)
        go_on(world)


async def test_in_a_rush_the_group_comes_first_and_the_status_when_it_is_over() -> None:
    world = in_rush(a_job(), QUEUE)
    assert await world.look() == ["create podgroups j-u"]
    assert world.job().status.state.phase == "Pending"
    await asyncio.sleep(Rush.RECURRING)
    assert world.woken == [KEY]
    world.now += LATER
    world.fakes.log.answer(with_group(a_job(), ""), "create", POD_GROUPS)
    assert "status Pending" in await world.look()
    body = next(write.body for write in world.fakes.writes if write.subresource == "status")
    assert body["status"]["minAvailable"] == 3
    assert body["status"]["state"]["lastTransitionTime"] == NOW_TEXT  # when it began, not when it was written
    assert len(world.reader.first) == 0


async def test_pods_that_were_created_meanwhile_come_with_the_first_status() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job))
    assert await world.look() == [f"create pods j-t-{index}" for index in range(3)]
    for index in range(3):
        world.pods.put(a_pod(f"j-t-{index}", "Pending", job=job))
    await asyncio.sleep(Rush.RECURRING)
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["pending"] == 3
    show(world)
    assert await world.look() == []


async def test_a_rush_that_goes_on_holds_it_back_for_ten_seconds() -> None:
    world = in_rush(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == []
    await pass_rush(LONGEST_FIRST - 1, world)
    assert await world.look() == []
    await pass_rush(2, world)
    assert world.woken == [KEY]
    assert await world.look() == ["status Pending"]


async def test_a_job_that_runs_before_has_both_phases_in_one_write() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job, "Running"))
    await world.look()
    for index in range(3):
        world.pods.put(a_pod(f"j-t-{index}", "Running", job=job))
    world.now += LATER
    assert await world.look() == ["status Running"]
    written = world.fakes.writes[-1].body["status"]
    assert [(found["status"], found["lastTransitionTime"]) for found in written["conditions"]] == [
        ("Pending", NOW_TEXT),
        ("Running", "2026-05-01T12:00:07Z"),
    ]
    assert len(world.reader.first) == 0


async def test_what_keeps_a_job_waiting_is_said_at_once() -> None:
    world = in_rush(a_job())
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["state"]["reason"] == "QueueNotFound"
    show(world)
    await asyncio.sleep(Rush.RECURRING)
    assert await world.look() == []


async def test_an_action_finds_the_job_as_it_has_begun() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    writes = await world.look(Request(action="AbortJob"))
    assert writes[0] == "status Aborting"
    written = world.fakes.writes[0].body["status"]
    assert written["minAvailable"] == 3
    assert [found["status"] for found in written["conditions"]] == ["Pending", "Aborting"]


async def test_claims_are_named_after_the_status_is_there() -> None:
    volume = VolumeSpec(mount_path="/d", volume_claim=PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",)))
    job = replaced(a_job(), volumes=(volume,))
    world = in_rush(job, QUEUE)
    named = replaced(job, volumes=(replace(volume, volume_claim_name="j-pvc-abc"),))
    world.fakes.log.answer(replace(named, metadata=replace(job.metadata, resource_version="7")), "patch", JOBS)
    assert (await world.look())[:2] == ["status Pending", "patch jobs j"]


async def test_a_forwarded_job_is_marked_after_the_status_is_there() -> None:
    queue = Queue(metadata=ObjectMeta(name="default"), spec=QueueSpec(extend_clusters=(ClusterSpec(name="far"),)))
    assert (await in_rush(a_job(), queue).look())[:2] == ["status Pending", "patch jobs j"]


async def test_what_fails_keeps_no_job_from_its_first_status() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job))
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "create", PODS, times=None)
    with pytest.raises(JobError):
        await world.look()
    assert _short(world.fakes.writes[-1]) == "status Pending"
    show(world)
    with pytest.raises(JobError):
        await world.look()
    assert _short(world.fakes.writes[-1]).startswith("create pods")


async def test_a_first_status_that_is_refused_is_tried_again() -> None:
    world = World(a_job(), QUEUE, with_group(a_job(), ""))
    world.fakes.log.fail(Conflict(status(409, "Conflict")), "update", JOBS, times=2)
    with pytest.raises(Conflict):
        await world.look()
    assert await world.look() == ["status Pending"]


async def test_a_status_that_somebody_else_has_written_is_taken() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    meta = replace(job.metadata, resource_version="9")
    state = JobState(phase="Pending", reason="Created")
    theirs = replace(job, metadata=meta, status=replace(job.status, state=state))
    world.jobs.put(theirs)
    assert world.job() == theirs
    assert len(world.reader.first) == 0
    await asyncio.sleep(Rush.RECURRING)
    assert await world.look() == []


async def test_a_job_that_is_on_its_way_out_needs_none() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    world.jobs.put(replace(job, metadata=replace(job.metadata, resource_version="9", deletion_timestamp=NOW_TEXT)))
    await asyncio.sleep(Rush.RECURRING)
    assert await world.look() == []


async def test_a_job_that_is_gone_is_forgotten_and_its_successor_begins_anew() -> None:
    job = a_job()
    world = in_rush(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    world.reconciler.forget(job)
    assert len(world.reader.first) == 0


def test_another_job_of_the_name_has_not_begun() -> None:
    first, job = FirstStatuses(), a_job(phase="Pending")
    first.note(job)
    successor = msgspec.structs.replace(a_job(), metadata=replace(job.metadata, uid="v"))
    assert first.holds(job)
    assert not first.holds(successor)
    assert first.of(successor) is successor
    assert first.of(a_job()).status == job.status


async def test_without_a_rush_nothing_is_to_be_looked_at_again() -> None:
    world = World(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == ["status Pending"]
    assert world.result != again_after(LONGEST_FIRST)
    assert len(world.reader.first) == 0
