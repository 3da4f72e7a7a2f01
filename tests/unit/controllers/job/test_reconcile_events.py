"""What the job reconciler does about restarts, failures, commands and actions that wait: which writes, in which order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from controllers.job.commands import Order
from controllers.job.executor import Executor, JobError
from controllers.job.requests import SYNC, Request, Target
from generated.batch.v1alpha1 import JOBS, LifecyclePolicy
from generated.core.v1 import (
    PODS,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
)
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
)
from runtime.lease import LeaseLost
from tests.unit.controllers.fakes import readable, status
from tests.unit.controllers.job.reconciling import KEY, POLICY, QUEUE, World, _short, failing, restarting, with_group
from tests.unit.controllers.job.samples import NOW, a_job, a_pod, a_task, with_counts


async def test_a_restart_marks_deletes_writes_the_status_and_drops_the_group() -> None:
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))
    world.fakes.log.answer(restarting(job), "update", JOBS)
    writes = await world.look(failing())
    assert writes[:4] == ["patch pods j-t-0", "delete pods j-t-0", "status Restarting", "delete podgroups j-u"]
    assert world.events.seen == [("Normal", "j", "ExecuteAction", "Start to execute action RestartJob ")]
    mark, delete, written, _ = world.fakes.writes[:4]
    assert mark.body["metadata"]["annotations"] == {"volcano.sh/controller-out-of-sync": "true"}
    assert delete.body["preconditions"] == {"uid": "uid-j-t-0"}
    body = written.body["status"]
    assert (body["version"], body["retryCount"], body["terminating"]) == (1, 1, 1)
    assert body["state"]["reason"] == "PodFailed"
    # then a new group is asked for at once, while the old one may still be in the cache
    assert writes[4:] == ["create podgroups j-u"]


async def test_a_failed_kill_writes_no_status_and_bumps_no_version() -> None:
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete", PODS)
    with pytest.raises(JobError, match="failed to kill 1 pods of 1"):
        await world.look(failing())
    assert world.events.seen[-1][2:] == ("FailedDelete", "Error deleting pods: [refused: InternalError]")
    assert not world.fakes.log.find("update")
    assert world.reconciler.inbox.take(KEY) == [failing(), SYNC]


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
@pytest.mark.parametrize("verb", ["patch", "delete"])
async def test_a_pod_that_is_gone_meanwhile_is_no_failure(error: ApiError, verb: str) -> None:
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))
    world.fakes.log.fail(error, verb, PODS)
    world.fakes.log.answer(restarting(job), "update", JOBS)
    assert "status Restarting" in await world.look(failing())


async def test_conflicts_use_up_no_retry() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job), max_retries=0)
    world.fakes.log.fail(Conflict(status(409, "Conflict")), "update", JOBS, times=None)
    for _ in range(3):
        with pytest.raises(Conflict):
            await world.look()
    assert world.events.seen == []


@pytest.mark.parametrize(
    "error",
    [
        ServerError(status(503, "ServiceUnavailable")),
        TooManyRequests(status(429, "TooManyRequests")),
        ConnectionFailed("refused"),
        LeaseLost("not renewed"),
    ],
)
@pytest.mark.parametrize(("verb", "resource"), [("update", JOBS), ("create", PODS)])
async def test_an_outage_terminates_no_job(error: Exception, verb: str, resource: Any) -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job), max_retries=1)
    world.fakes.log.fail(error, verb, resource, times=None)
    for _ in range(4):
        with pytest.raises((type(error), JobError)):
            await world.look()
    assert not any(event[2] == "ExecuteAction" for event in world.events.seen)
    assert world.reconciler.inbox.take(KEY) == [SYNC]


async def test_a_look_that_is_broken_off_forgets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))

    async def broken_off(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Executor, "carry_out", broken_off)
    with pytest.raises(asyncio.CancelledError):
        await world.look(failing())
    assert world.reconciler.inbox.take(KEY) == [failing(), SYNC]


async def test_a_job_that_failed_too_often_is_terminated() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job), max_retries=2)
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "create", PODS, times=None)
    for _ in range(2):
        with pytest.raises(JobError):
            await world.look()
    writes = await world.look()
    assert writes[-2:] == ["status Terminating", "delete podgroups j-u"]
    told = [event[2:] for event in world.events.seen if event[2] == "ExecuteAction"]
    assert told == [
        ("ExecuteAction", "Job failed on action SyncJob for retry limit reached"),
        ("ExecuteAction", "Action SyncJob failed: failed to create 3 pods of 1"),
    ]


async def test_a_group_that_could_not_be_dropped_is_dropped_before_there_is_a_new_one() -> None:
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    group = with_group(job, "Running")
    world = World(job, QUEUE, group, a_pod("j-t-0", "Failed"))
    world.fakes.log.answer(restarting(job), "update", JOBS)
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete", POD_GROUPS)
    with pytest.raises(ServerError):
        await world.look(failing())
    assert world.reader.world(world.job()).group is None
    assert (await world.look())[:2] == ["delete podgroups j-u", "create podgroups j-u"]


async def test_a_command_is_deleted_first_and_carried_out_then() -> None:
    world = World(a_job(phase="Running"), QUEUE)
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "j", "AbortJob"))
    assert [_short(write) for write in world.fakes.writes] == ["delete commands c"]
    text = "Start to execute command AbortJob, and clean it up to make sure executed not more than once."
    assert world.events.seen == [("Normal", "j", "CommandIssued", text)]
    assert world.woken == [KEY]
    assert world.reconciler.inbox.take(KEY) == [Request("CommandIssued", action="AbortJob")]


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
async def test_a_command_that_somebody_took_is_not_carried_out(error: ApiError) -> None:
    world = World(a_job(phase="Running"), QUEUE)
    world.fakes.log.fail(error)
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "j", "AbortJob"))
    assert (world.events.seen, world.woken) == ([], [])


async def test_a_command_for_nobody_is_dropped() -> None:
    world = World()
    readable(world.fakes, JOBS.plural, NotFound(status(404, "NotFound")))
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "j", "AbortJob"))
    assert ([_short(write) for write in world.fakes.writes], world.woken) == (["delete commands c"], [])
    assert world.reconciler.inbox.take(KEY) == []


async def test_a_command_that_comes_before_its_job_is_kept_until_the_job_comes() -> None:
    world = World()
    readable(world.fakes, JOBS.plural, a_job())
    await world.reconciler.reconcile(Order("ns", "c", "uid-c", "j", "AbortJob"))
    assert ([_short(write) for write in world.fakes.writes], world.woken) == (["delete commands c"], [])
    assert world.reconciler.inbox.take(KEY) == [Request("CommandIssued", action="AbortJob")]


async def test_a_command_is_left_alone_while_nobody_knows_whether_its_job_exists() -> None:
    world = World()
    readable(world.fakes, JOBS.plural, ConnectionFailed("down"))
    with pytest.raises(ConnectionFailed):
        await world.reconciler.reconcile(Order("ns", "c", "uid-c", "j", "AbortJob"))
    assert world.fakes.writes == []


PENDING = Request("PodPending", job_uid="u", version=0, target=Target("t", "j-t-0"), pod_uid="uid-j-t-0")


def _pending_world() -> World:
    policy = LifecyclePolicy(event="PodPending", action="RestartPod", timeout="1m0s")
    job = a_job(
        a_task(replicas=1),
        phase="Running",
        policies=(policy,),
        max_retry=3,
        min_available=0,
        status=with_counts(Pending=1),
    )
    pod = a_pod("j-t-0", "Pending")
    created = (NOW - timedelta(seconds=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=created))
    return World(job, QUEUE, with_group(job), pod)


async def test_a_delayed_action_waits_from_the_pods_creation_on() -> None:
    world = _pending_world()
    assert await world.look(PENDING) == []
    assert world.events.seen == [("Normal", "j", "ExecuteAction", "Execute action RestartPod after 1m0s")]
    assert world.result.again_after == 40
    world.now += 41
    writes = await world.look()
    assert writes[:3] == ["patch pods j-t-0", "delete pods j-t-0", "status Restarting"]
    assert len(world.reconciler.delays) == 0


@pytest.mark.parametrize("seconds", [-3600, 3600])
async def test_a_clock_that_is_set_moves_no_delayed_action(seconds: float) -> None:
    world = _pending_world()
    await world.look(PENDING)
    world.set_by = seconds
    world.now += 39
    assert await world.look() == []
    assert world.result.again_after == 1
    world.now += 2
    assert (await world.look())[1] == "delete pods j-t-0"


async def test_a_delayed_action_that_fails_is_tried_again_once() -> None:
    world = _pending_world()
    await world.look(PENDING)
    world.now += 41
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete", PODS)
    with pytest.raises(JobError):
        await world.look()
    assert len(world.reconciler.delays) == 0
    assert PENDING._replace(action="RestartPod") in world.reconciler.inbox.take(KEY)
    assert world.job().status.retry_count == 0


async def test_a_delayed_action_that_fails_takes_nothing_else_with_it() -> None:
    world = _pending_world()
    await world.look(PENDING)
    world.now += 41
    world.fakes.log.fail(ServerError(status(500, "InternalError")), "delete", PODS)
    with pytest.raises(JobError):
        await world.look(failing("j-t-1"))
    assert world.reconciler.inbox.take(KEY) == [PENDING._replace(action="RestartPod"), failing("j-t-1"), SYNC]


async def test_a_delayed_action_for_a_pod_that_runs_by_then_is_dropped() -> None:
    world = _pending_world()
    await world.look(PENDING)
    world.pods.put(a_pod("j-t-0", "Running"))
    world.now += 41
    assert "delete pods j-t-0" not in await world.look()
    assert len(world.reconciler.delays) == 0


def _policy(event: str, action: str, **fields: Any) -> LifecyclePolicy:
    return LifecyclePolicy(event=event, action=action, **fields)


def _task_world(policy: LifecyclePolicy, phase: str) -> World:
    """A running job of two pods in one phase."""
    job = a_job(a_task(replicas=2), phase="Running", policies=(policy,), max_retry=3, min_available=0)
    return World(job, QUEUE, with_group(job), a_pod("j-t-0", phase), a_pod("j-t-1", phase))


def _restarts(world: World) -> int:
    return sum(
        write.subresource == "status" and write.body["status"]["state"]["phase"] == "Restarting"
        for write in world.fakes.writes
    )


async def test_pods_of_a_task_that_expire_together_restart_it_once() -> None:
    world = _task_world(_policy("PodPending", "RestartTask", timeout="1m"), "Pending")
    await world.look(PENDING, PENDING._replace(target=Target("t", "j-t-1"), pod_uid="uid-j-t-1"))
    assert len(world.reconciler.delays) == 2
    world.now += 61
    await world.look()
    assert _restarts(world) == 1
    assert len(world.reconciler.delays) == 0


async def test_pods_of_a_task_that_fail_together_restart_it_once() -> None:
    world = _task_world(_policy("PodFailed", "RestartTask"), "Failed")
    await world.look(failing("j-t-0"), failing("j-t-1"))
    assert _restarts(world) == 1
    # one that failed before its end was asked for, and is only heard of now
    await world.look(failing("j-t-1"))
    assert _restarts(world) == 1


async def test_a_pod_that_takes_the_place_of_another_has_its_own_time() -> None:
    world = _pending_world()
    await world.look(PENDING)
    pod = a_pod("j-t-0", "Pending")
    meta = msgspec.structs.replace(pod.metadata, uid="new", creation_timestamp="2026-05-01T12:00:30Z")
    world.pods.put(msgspec.structs.replace(pod, metadata=meta))
    world.now += 35
    await world.look(PENDING._replace(pod_uid="new"))
    assert world.result.again_after == pytest.approx(55)


async def test_the_time_of_a_failed_pod_runs_from_its_end_on() -> None:
    world = _task_world(_policy("PodFailed", "RestartPod", timeout="5m"), "Failed")
    ended = (NOW - timedelta(seconds=240)).strftime("%Y-%m-%dT%H:%M:%SZ")
    state = ContainerState(terminated=ContainerStateTerminated(finished_at=ended, exit_code=1))
    world.pods.put(a_pod("j-t-0", "Failed", container_statuses=(ContainerStatus(state=state),)))
    await world.look(failing())
    assert world.result.again_after == pytest.approx(60)


async def test_an_exit_code_is_read_as_the_jobs_policies_ask_for_it() -> None:
    policy = LifecyclePolicy(exit_code=137, action="RestartJob")
    job = a_job(a_task(replicas=1), phase="Running", policies=(policy,), max_retry=3)
    ends = tuple(
        ContainerStatus(name=name, state=ContainerState(terminated=ContainerStateTerminated(exit_code=code)))
        for name, code in (("a", 0), ("b", 137))
    )
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed", container_statuses=ends))
    await world.look(failing(exit_code=0))  # as it was noted before the job was seen
    assert _restarts(world) == 1


async def test_a_job_that_goes_while_it_is_looked_at_leaves_nothing_behind() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    create = world.reconciler._parts.executor._create_pod

    async def last_look(*arguments: Any, **options: Any) -> None:
        await create(*arguments, **options)
        world.fakes.batch_v1alpha1.jobs.lister.remove(KEY)  # type: ignore[attr-defined]  # a filled lister is a store
        world.reconciler.forget(job)

    world.reconciler._parts.executor._create_pod = last_look  # type: ignore[method-assign]  # what happens meanwhile
    await world.look()
    assert world.reader.recent._made == {}


async def test_what_was_found_at_the_start_counts_only_where_nothing_reacted() -> None:
    found = failing()._replace(is_found=True)
    job = a_job(a_task(replicas=1), phase="Running", policies=POLICY, max_retry=3)
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))
    world.fakes.log.answer(restarting(job), "update", JOBS)
    assert "status Restarting" in await world.look(found)
    job = a_job(a_task(replicas=1), phase="Restarting", policies=POLICY, max_retry=3, status={"failed": 1})
    world = World(job, QUEUE, with_group(job), a_pod("j-t-0", "Failed"))
    assert "delete pods j-t-0" not in await world.look(found)
