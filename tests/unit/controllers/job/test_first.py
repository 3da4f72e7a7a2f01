"""The first status of a job, which waits for the end of a rush."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import msgspec
import pytest
from msgspec.structs import replace

from controllers.job.executor import JobError
from controllers.job.first import CALM, LONGEST, LOOK, MANY, FirstStatuses
from controllers.job.requests import Request
from generated.batch.v1alpha1 import JOBS, JobState, JobStatus, VolumeSpec
from generated.core.v1 import PODS, PersistentVolumeClaimSpec
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import POD_GROUPS, ClusterSpec, Queue, QueueSpec
from runtime.errors import Forbidden
from runtime.model import Model
from tests.unit.controllers.fakes import status
from tests.unit.controllers.job.reconciling import KEY, QUEUE, World, _short, with_group
from tests.unit.controllers.job.samples import NOW_TEXT, a_job, a_pod, replaced

LATER = 7.0
"""Seconds between two looks."""

pytestmark = pytest.mark.virtual_time


class Busy(World):
    """A world in which many writes are on their way until `rest`."""

    def __init__(self, *objects: Model) -> None:
        super().__init__(*objects)
        self._others = ExitStack()
        for _ in range(MANY):
            self._others.enter_context(self.reader.first.writing())

    def rest(self) -> None:
        self._others.close()


def show(world: World) -> None:
    """Let the cache have the job as it was last written."""
    body = next(write.body for write in reversed(world.fakes.writes) if write.subresource == "status")
    job = world.job()
    meta = replace(job.metadata, resource_version="9")
    world.jobs.put(replace(job, metadata=meta, status=msgspec.convert(body["status"], JobStatus)))


async def test_on_a_busy_server_the_group_comes_first_and_the_status_when_others_are_done() -> None:
    world = Busy(a_job(), QUEUE)
    assert await world.look() == ["create podgroups j-u"]
    assert world.job().status.state.phase == "Pending"
    await asyncio.sleep(2 * LOOK)
    assert world.woken == []
    world.rest()
    await asyncio.sleep(CALM + LOOK)
    assert world.woken == [KEY]
    world.now += LATER
    world.fakes.log.answer(with_group(a_job(), ""), "create", POD_GROUPS)
    assert "status Pending" in await world.look()
    body = next(write.body for write in world.fakes.writes if write.subresource == "status")
    assert body["status"]["minAvailable"] == 3
    assert body["status"]["state"]["lastTransitionTime"] == NOW_TEXT  # when it began, not when it was written
    assert len(world.reader.first) == 0


async def test_what_was_woken_is_written_though_the_server_is_busy_again() -> None:
    world = Busy(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == []
    world.rest()
    await asyncio.sleep(CALM + LOOK)
    with ExitStack() as others:
        for _ in range(MANY):
            others.enter_context(world.reader.first.writing())
        assert await world.look() == ["status Pending"]


async def test_pods_that_were_created_meanwhile_come_with_the_first_status() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job))
    assert await world.look() == [f"create pods j-t-{index}" for index in range(3)]
    for index in range(3):
        world.pods.put(a_pod(f"j-t-{index}", "Pending", job=job))
    world.rest()
    await asyncio.sleep(CALM + LOOK)
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["pending"] == 3
    show(world)
    assert await world.look() == []


async def test_a_server_that_stays_busy_gets_it_after_ten_seconds() -> None:
    world = Busy(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == []
    await asyncio.sleep(LONGEST - 1)
    assert await world.look() == []
    assert world.woken == []
    await asyncio.sleep(1 + LOOK)
    assert world.woken == [KEY]
    assert await world.look() == ["status Pending"]


async def test_the_wait_that_is_over_is_urgent_and_the_end_of_the_work_is_not() -> None:
    woken: list[tuple[str, bool]] = []
    first = FirstStatuses(lambda key, is_urgent: woken.append((key.name, is_urgent)))
    with ExitStack() as others:
        for _ in range(MANY):
            others.enter_context(first.writing())
        begin(first, "early")
        await asyncio.sleep(LONGEST / 2)
        begin(first, "late")
        await asyncio.sleep(LONGEST / 2 + LOOK)
        assert woken == [("early", True)]
    await asyncio.sleep(CALM + LOOK)
    assert woken[1:] == [("late", False)]
    await asyncio.sleep(LONGEST)  # nobody has come to it
    assert woken[2:] == [("late", True)]
    await asyncio.sleep(LONGEST)
    assert len(woken) == 3


def begin(first: FirstStatuses, name: str) -> None:
    job = a_job(phase="Pending")
    job = replace(job, metadata=replace(job.metadata, name=name))
    first.note(job)
    assert first.puts_off(job)


async def test_watchers_see_each_phase_in_turn() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job, "Running"))
    await world.look()
    for index in range(3):
        world.pods.put(a_pod(f"j-t-{index}", "Running", job=job))
    world.now += LATER
    assert await world.look() == ["status Pending", "status Running"]
    written = world.fakes.writes[-1].body["status"]
    assert [(found["status"], found["lastTransitionTime"]) for found in written["conditions"]] == [
        ("Pending", NOW_TEXT),
        ("Running", "2026-05-01T12:00:07Z"),
    ]
    assert len(world.reader.first) == 0


async def test_what_keeps_a_job_waiting_is_said_at_once() -> None:
    world = Busy(a_job())
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["state"]["reason"] == "QueueNotFound"
    show(world)
    await asyncio.sleep(LONGEST + LOOK)
    assert await world.look() == []


async def test_an_action_finds_the_job_as_it_has_begun() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    writes = await world.look(Request(action="AbortJob"))
    assert writes[:2] == ["status Pending", "status Aborting"]
    written = world.fakes.writes[1].body["status"]
    assert written["minAvailable"] == 3
    assert [found["status"] for found in written["conditions"]] == ["Pending", "Aborting"]


async def test_claims_are_named_after_the_status_is_there() -> None:
    volume = VolumeSpec(mount_path="/d", volume_claim=PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",)))
    job = replaced(a_job(), volumes=(volume,))
    world = Busy(job, QUEUE)
    named = replaced(job, volumes=(replace(volume, volume_claim_name="j-pvc-abc"),))
    world.fakes.log.answer(replace(named, metadata=replace(job.metadata, resource_version="7")), "patch", JOBS)
    assert (await world.look())[:2] == ["status Pending", "patch jobs j"]


async def test_a_forwarded_job_is_marked_after_the_status_is_there() -> None:
    queue = Queue(metadata=ObjectMeta(name="default"), spec=QueueSpec(extend_clusters=(ClusterSpec(name="far"),)))
    assert (await Busy(a_job(), queue).look())[:2] == ["status Pending", "patch jobs j"]


async def test_what_fails_keeps_no_job_from_its_first_status() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job))
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "create", PODS, times=None)
    with pytest.raises(JobError):
        await world.look()
    assert _short(world.fakes.writes[-1]) == "status Pending"
    show(world)
    with pytest.raises(JobError):
        await world.look()
    assert _short(world.fakes.writes[-1]).startswith("create pods")


async def test_an_action_on_a_job_without_a_status_begins_it() -> None:
    job = a_job()
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Running", job=job))
    assert (await world.look(Request(action="RestartJob")))[0] == "status Pending"
    written = next(write for write in world.fakes.writes if "Restarting" in str(write.body)).body["status"]
    assert written["minAvailable"] == 3
    assert [found["status"] for found in written["conditions"]] == ["Pending", "Restarting"]


async def test_without_its_first_status_nothing_is_made_for_a_job() -> None:
    job = a_job()
    world = World(job, QUEUE, with_group(job))
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "update", JOBS, times=None)
    for _ in range(3):
        world.events.seen.clear()
        before = len(world.fakes.writes)
        with pytest.raises(Forbidden):
            await world.look()
        assert [_short(write) for write in world.fakes.writes[before:]] == ["status Pending"]
        [(kind, _, reason, message)] = world.events.seen
        assert (kind, reason) == ("Warning", "JobStatusError")
        assert message.startswith("Failed to initialize job status, err: ")


async def test_one_that_waited_and_is_refused_comes_before_all_else_from_then_on() -> None:
    world = Busy(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == []
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "update", JOBS, times=2)
    await asyncio.sleep(LONGEST + LOOK)
    for _ in range(2):
        with pytest.raises(Forbidden):
            await world.look()
    assert [seen[2] for seen in world.events.seen] == ["JobStatusError", "JobStatusError"]
    assert await world.look() == ["status Pending"]


async def test_a_status_that_somebody_else_has_written_is_taken() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    meta = replace(job.metadata, resource_version="9")
    state = JobState(phase="Pending", reason="Created")
    theirs = replace(job, metadata=meta, status=replace(job.status, state=state))
    world.jobs.put(theirs)
    assert world.job() == theirs
    assert len(world.reader.first) == 0
    await asyncio.sleep(LONGEST + LOOK)
    assert await world.look() == []


async def test_a_job_that_is_on_its_way_out_needs_none() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    world.jobs.put(replace(job, metadata=replace(job.metadata, resource_version="9", deletion_timestamp=NOW_TEXT)))
    await asyncio.sleep(LONGEST + LOOK)
    assert await world.look() == []


async def test_a_job_that_is_gone_is_forgotten_and_its_successor_begins_anew() -> None:
    job = a_job()
    world = Busy(job, QUEUE, with_group(job, ""))
    assert await world.look() == []
    world.reconciler.forget(job)
    assert len(world.reader.first) == 0


async def test_another_job_of_the_name_has_not_begun() -> None:
    first, job = FirstStatuses(lambda *_: None), a_job(phase="Pending")
    first.note(job)
    successor = replace(a_job(), metadata=replace(job.metadata, uid="v"))
    assert first.holds(job)
    assert not first.holds(successor)
    assert first.of(successor) is successor
    assert first.of(a_job()).status == job.status


async def test_a_server_that_keeps_up_has_it_at_once() -> None:
    world = World(a_job(), QUEUE, with_group(a_job(), ""))
    assert await world.look() == ["status Pending"]
    assert len(world.reader.first) == 0
