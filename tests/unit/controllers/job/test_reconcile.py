"""The job reconciler on filled listers and a recording client: which writes, in which order, and what failures do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from api.owners import owner_reference
from controllers.freshest import Freshest
from controllers.job.executor import JobError
from controllers.job.plugins.base import PluginError
from controllers.job.requests import SYNC, Request
from generated.batch.v1alpha1 import JOBS, Job, JobStatus, VolumeSpec
from generated.core.v1 import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    SECRETS,
    SERVICES,
    ConfigMap,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    Service,
)
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import POD_GROUPS, ClusterSpec, PodGroupCondition, Queue, QueueSpec
from runtime.controller import DONE, again_after
from runtime.errors import (
    AlreadyExists,
    Forbidden,
    NotFound,
)
from runtime.ratelimit import Rush
from runtime.wire import StatusCause, StatusDetails
from tests.unit.controllers.fakes import readable, status
from tests.unit.controllers.job.reconciling import KEY, QUEUE, World, _short, failing, with_group
from tests.unit.controllers.job.samples import a_group, a_job, a_pod, a_task, replaced, with_counts


async def test_a_new_job_gets_its_status_first_and_its_group_then() -> None:
    world = World(a_job(), QUEUE)
    assert await world.look() == ["status Pending", "create podgroups j-u"]
    body = world.fakes.writes[0].body
    assert body["status"]["minAvailable"] == 3
    assert body["metadata"] == {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "5"}
    assert "spec" not in body


async def test_a_group_is_created_once_even_while_the_cache_lags() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE)
    world.fakes.log.answer(with_group(job, ""), "create", POD_GROUPS)
    assert await world.look() == ["create podgroups j-u"]
    assert await world.look() == []


async def test_a_group_that_is_still_going_is_not_taken_for_the_new_one() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE)
    world.reader.recent.dropping_group("u", "g")
    world.reader.recent.dropped_group("u")
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", POD_GROUPS)
    readable(world.fakes, POD_GROUPS.plural, with_group(job, "Running"))
    assert await world.look() == ["create podgroups j-u"]
    assert await world.look() == ["create podgroups j-u"]


async def test_pods_are_created_once_the_group_is_admitted_and_the_status_is_written_last() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    writes = await world.look()
    assert sorted(writes[:3]) == ["create pods j-t-0", "create pods j-t-1", "create pods j-t-2"]
    assert writes[3:] == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["pending"] == 3


async def test_what_was_just_written_is_not_written_again_while_the_caches_lag() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    world.fakes.log.answer(_answered(job, 6, pending=3), resource=JOBS)
    for name in ("j-t-0", "j-t-1", "j-t-2"):
        world.fakes.log.answer(a_pod(name, "Pending"), "create", PODS, name=name)
    assert len(await world.look()) == 4
    assert await world.look() == []


def _answered(job: Job, version: int, **counts: int) -> Job:
    phases = {key.capitalize(): value for key, value in counts.items()}
    filled = msgspec.structs.replace(
        job.status,
        state=msgspec.structs.replace(job.status.state, last_transition_time="2026-05-01T12:00:00Z"),
        **with_counts(**phases),
    )
    meta = msgspec.structs.replace(job.metadata, resource_version=str(version))
    return msgspec.structs.replace(job, metadata=meta, status=filled)


async def test_a_settled_job_costs_nothing() -> None:
    running = a_job(phase="Running", status=with_counts(Running=3))
    world = World(running, QUEUE, with_group(running, "Running"), *(a_pod(f"j-t-{i}") for i in range(3)))
    assert (await world.look(), world.events.seen, world.result) == ([], [], DONE)
    finished = World(
        a_job(phase="Completed", status=with_counts(Succeeded=3)), *(a_pod(f"j-t-{i}", "Succeeded") for i in range(3))
    )
    assert (await finished.look(), finished.events.seen) == ([], [])


async def test_a_pod_that_is_ours_already_is_adopted() -> None:
    job = a_job(a_task(replicas=1), phase="Pending")
    world = World(job, QUEUE, with_group(job))
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", PODS)
    readable(world.fakes, PODS.plural, a_pod("j-t-0"))
    assert await world.look() == ["create pods j-t-0", "status Pending"]
    assert world.events.seen == []


async def test_a_pod_of_somebody_else_is_reported_and_the_status_not_written() -> None:
    job = a_job(a_task(replicas=1), phase="Pending")
    world = World(job, QUEUE, with_group(job))
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", PODS)
    foreign = msgspec.structs.replace(a_pod("j-t-0"), metadata=ObjectMeta(name="j-t-0", namespace="ns", uid="x"))
    readable(world.fakes, PODS.plural, foreign)
    with pytest.raises(JobError, match="failed to create 1 pods of 1"):
        await world.look()
    assert world.events.seen == [
        (
            "Warning",
            "j",
            "FailedCreate",
            "Error creating pods: [pod j-t-0 exists and is not owned by job ns/j]",
        )
    ]
    assert not world.fakes.log.find("update")


async def test_a_failed_create_is_told_and_tried_again() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    world.fakes.log.fail(Forbidden(status(403, "Forbidden")), "create", PODS, name="j-t-1")
    with pytest.raises(JobError, match="failed to create 1 pods of 1"):
        await world.look()
    assert world.events.seen[0][2:] == ("FailedCreate", "Error creating pods: [refused: Forbidden]")
    assert sorted(map(_short, world.fakes.writes)) == [f"create pods j-t-{i}" for i in range(3)]
    assert world.reconciler.inbox.take(KEY) == [SYNC]


async def test_what_is_wrong_with_pods_is_told_in_their_order_whichever_is_answered_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the next pass would tell the same in other words: an event more."""
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    answered = {f"j-t-{index}": asyncio.Event() for index in range(4)}
    answered["j-t-3"].set()

    async def refused_from_the_last_on(pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        await answered[f"j-t-{int(name[-1]) + 1}"].wait()
        answered[name].set()
        raise Forbidden(msgspec.structs.replace(status(403, "Forbidden"), message=f"{name} is refused"))

    monkeypatch.setattr(world.fakes.clients.core_v1.pods, "create", refused_from_the_last_on)
    with pytest.raises(JobError, match="failed to create 3 pods"):
        await world.look()
    [told] = [event[3] for event in world.events.seen if event[2] == "FailedCreate"]
    assert told == "Error creating pods: [j-t-0 is refused, j-t-1 is refused, j-t-2 is refused]"


NO_CLAIM = (
    "Failed to create PVC, err: pvc mine is not found, the job will be in the Pending state until the PVC is created"
)


async def test_a_job_in_a_namespace_that_is_being_deleted_is_let_go() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job), max_retries=0)
    causes = (StatusCause(reason="NamespaceTerminating"),)
    refusal = msgspec.structs.replace(status(403, "Forbidden"), details=StatusDetails(causes=causes))
    world.fakes.log.fail(Forbidden(refusal), "create", PODS, times=None)
    assert len(await world.look()) == 3
    assert (len(world.reconciler.inbox), world.result) == (0, DONE)


async def test_a_job_without_its_queue_waits_and_says_so_once() -> None:
    job = a_job(phase="Pending")
    world = World(job)
    answer = msgspec.structs.replace(
        job,
        metadata=msgspec.structs.replace(job.metadata, resource_version="6"),
        status=msgspec.structs.replace(
            job.status,
            state=msgspec.structs.replace(
                job.status.state, reason="QueueNotFound", message="queue default is not found"
            ),
        ),
    )
    world.fakes.log.answer(answer, "update", JOBS)
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[0].body["status"]["state"]["message"] == "queue default is not found"
    assert world.result.again_after == 60
    assert await world.look() == []


@pytest.mark.parametrize(
    ("spec", "event"),
    [
        (
            {"plugins": {"nope": ()}},
            ("PluginError", "Execute plugin when job add failed, err: failed to get plugin nope"),
        ),
        (
            {"volumes": (VolumeSpec(mount_path="/d", volume_claim_name="mine"),)},
            (
                "PVCError",
                NO_CLAIM,
            ),
        ),
    ],
)
async def test_a_job_that_lacks_something_waits_and_an_event_says_what(
    spec: Mapping[str, Any], event: tuple[str, str]
) -> None:
    world = World(replaced(a_job(phase="Pending"), **spec), QUEUE)
    assert await world.look() == ["status Pending"]
    assert world.events.seen == [("Warning", "j", *event)]
    assert world.result.again_after == 60


async def test_a_claim_that_exists_is_noted() -> None:
    job = replaced(a_job(phase="Pending"), volumes=(VolumeSpec(mount_path="/d", volume_claim_name="mine"),))
    world = World(job, QUEUE, PersistentVolumeClaim(metadata=ObjectMeta(name="mine", namespace="ns")))
    assert await world.look() == ["status Pending", "create podgroups j-u"]
    assert world.fakes.writes[0].body["status"]["controlledResources"] == {"volume-pvc-mine": "mine"}


async def test_a_claim_to_be_made_gets_its_name_saved_before_it_is_created() -> None:
    volume = VolumeSpec(mount_path="/d", volume_claim=PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",)))
    job = replaced(a_job(phase="Pending"), volumes=(volume,))
    world = World(job, QUEUE)
    named = replaced(job, volumes=(msgspec.structs.replace(volume, volume_claim_name="j-pvc-abc"),))
    meta = msgspec.structs.replace(job.metadata, resource_version="6")
    world.fakes.log.answer(msgspec.structs.replace(named, metadata=meta), "patch", JOBS)
    writes = await world.look()
    assert writes == [
        "patch jobs j",
        "create persistentvolumeclaims j-pvc-abc",
        "status Pending",
        "create podgroups j-u",
    ]
    pin, name = world.fakes.writes[0].body
    assert pin == {"op": "test", "path": "/metadata/resourceVersion", "value": "5"}
    assert (name["path"], name["value"][:6], len(name["value"])) == ("/spec/volumes/0/volumeClaimName", "j-pvc-", 18)
    (claim,) = world.fakes.log.find("create", PERSISTENT_VOLUME_CLAIMS)
    assert claim.body["metadata"]["ownerReferences"][0]["uid"] == "u"


async def test_a_group_follows_its_job() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(a_job(a_task(replicas=2), phase="Pending"), "Pending"))
    assert await world.look() == ["patch podgroups j-u"]
    assert world.fakes.writes[0].body["spec"]["minMember"] == 3


async def test_a_running_job_whose_objects_are_somebody_elses_still_ends() -> None:
    job = replaced(a_job(a_task(replicas=1), phase="Running", status=with_counts(Running=1)), plugins={"svc": ()})
    world = World(job, QUEUE, with_group(job, "Running"), a_pod("j-t-0", "Succeeded"))
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", CONFIG_MAPS)
    readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=ObjectMeta(name="j-svc", namespace="ns")))
    assert (await world.look())[-1] == "status Completed"


async def test_a_pod_whose_name_is_taken_is_waited_for() -> None:
    job = a_job(a_task(replicas=1), phase="Pending")
    foreign = Pod(metadata=ObjectMeta(name="j-t-0", namespace="ns", uid="f"))
    world = World(job, QUEUE, with_group(job), foreign)
    assert await world.look() == ["status Pending"]
    assert world.result == again_after(60)
    assert "j-t-0" in world.fakes.writes[-1].body["status"]["state"]["message"]


async def test_more_pods_than_a_cluster_holds_are_an_obstacle() -> None:
    job = a_job(a_task(replicas=2_147_483_647), phase="Pending", min_available=1)
    world = World(job, QUEUE)
    assert await world.look() == ["status Pending"]
    state = world.fakes.writes[-1].body["status"]["state"]
    assert state["reason"] == "TooManyPods"
    assert "2147483647 pods" in state["message"]


async def test_a_running_job_that_is_scaled_beyond_all_bounds_goes_on_as_it_is() -> None:
    job = replaced(
        a_job(a_task(replicas=2_147_483_647), phase="Running", min_available=1),
        plugins={"svc": ("--disable-network-policy",), "ssh": ()},
    )
    pods = [a_pod(f"j-t-{index}", job=job) for index in (0, 160_000)]
    world = World(job, QUEUE, with_group(job, "Running"), *pods)
    assert set(await world.look()) == {"status Running"}
    written = world.fakes.writes[-1].body["status"]
    assert written["state"]["reason"] == "TooManyPods"
    assert written["running"] == 2
    assert ("Warning", "j", "TooManyPods", written["state"]["message"]) in world.events.seen
    for resource in (CONFIG_MAPS, SECRETS, SERVICES):
        readable(world.fakes, resource.plural, NotFound(status(404, "NotFound")))
    assert "status Aborting" in await world.look(Request(action="AbortJob"))


async def test_a_group_of_somebody_else_is_reported() -> None:
    world = World(a_job(phase="Pending"), QUEUE)
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", POD_GROUPS)
    foreign = msgspec.structs.replace(a_group(), metadata=ObjectMeta(name="j-u", namespace="ns"))
    readable(world.fakes, POD_GROUPS.plural, foreign)
    with pytest.raises(JobError, match="PodGroup j-u exists and is not owned by job ns/j"):
        await world.look()
    assert world.events.seen[0][2] == "PodGroupError"


async def test_why_the_scheduler_keeps_a_group_waiting_is_told() -> None:
    job = a_job(phase="Pending")
    group = with_group(job, "Pending")
    conditions = (
        PodGroupCondition(type="Scheduled", status="True", last_transition_time="2026-01-01T00:00:00Z"),
        PodGroupCondition(
            type="Unschedulable", status="True", message="no room", last_transition_time="2026-01-02T00:00:00Z"
        ),
        PodGroupCondition(type="Scheduled", status="False", last_transition_time="2026-01-03T00:00:00Z"),
    )
    group = msgspec.structs.replace(group, status=msgspec.structs.replace(group.status, conditions=conditions))
    world = World(job, QUEUE, group)
    assert await world.look() == []
    text = "PodGroup ns:j unschedulable, reason: no room"
    assert world.events.seen == [("Warning", "j", "PodGroupPending", text)]


async def test_a_queue_that_forwards_marks_job_and_pods() -> None:
    job = a_job(a_task(replicas=1), phase="Pending")
    queue = Queue(metadata=ObjectMeta(name="default"), spec=QueueSpec(extend_clusters=(ClusterSpec(name="far"),)))
    world = World(job, queue, with_group(job))
    writes = await world.look()
    assert writes[0] == "patch jobs j"
    (pod,) = world.fakes.log.find("create", PODS)
    assert pod.body["metadata"]["labels"]["volcano.sh/job-forwarding"] == "true"


async def test_a_job_that_is_gone_is_forgotten() -> None:
    world = World()
    world.reconciler.delays.forget(KEY)
    assert await world.look(failing()) == []
    world.reconciler.inbox.add(KEY, SYNC)
    world.reconciler.forget(a_job())
    assert len(world.reconciler.inbox) == 0


async def test_a_status_for_a_job_that_is_gone_is_no_failure() -> None:
    world = World(a_job(), QUEUE)
    world.fakes.log.fail(NotFound(status(404, "NotFound")), "update", JOBS)
    assert "status Pending" in await world.look()


def test_a_reader_starts_with_nothing_written() -> None:
    fresh: Freshest[Job] = World(a_job()).reader.fresh
    assert len(fresh) == 0


async def test_what_plugins_need_is_there_and_noted_before_the_group() -> None:
    job = replaced(
        a_job(a_task(replicas=1), phase="Pending"), plugins={"svc": ("--disable-network-policy",), "env": ()}
    )
    world = World(job, QUEUE)
    assert await world.look() == [
        "create configmaps j-svc",
        "create services j",
        "status Pending",
        "create podgroups j-u",
    ]
    marked = world.fakes.log.find("update")[0].body["status"]["controlledResources"]
    assert marked == {"plugin-svc": "svc", "plugin-env": "env"}


async def test_pods_are_dressed_by_plugins() -> None:
    job = replaced(a_job(a_task(replicas=1), phase="Pending"), plugins={"env": ()})
    world = World(job, QUEUE, with_group(job))
    assert await world.look() == ["status Pending", "create pods j-t-0", "status Pending"]
    variables = world.fakes.log.find("create", PODS)[0].body["spec"]["containers"][0]["env"]
    assert [variable["name"] for variable in variables] == ["VK_TASK_INDEX", "VC_TASK_INDEX"]


async def test_a_plugin_that_fails_creates_no_pod() -> None:
    job = replaced(a_job(phase="Pending"), plugins={"ray": ()})
    world = World(job, QUEUE, with_group(job))
    with pytest.raises(PluginError, match="doesn't have head task"):
        await world.look()
    assert not world.fakes.log.find("create", PODS)


async def test_a_job_whose_objects_are_somebody_elses_waits_and_says_so() -> None:
    job = replaced(a_job(phase="Pending"), plugins={"svc": ()})
    world = World(job, QUEUE)
    world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", CONFIG_MAPS)
    readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=ObjectMeta(name="j-svc", namespace="ns")))
    assert await world.look() == ["create configmaps j-svc", "status Pending"]
    text = "ConfigMap j-svc exists and is not owned by job ns/j"
    assert world.events.seen == [("Warning", "j", "PluginError", text)]
    assert world.fakes.writes[-1].body["status"]["state"]["message"] == text
    assert world.result.again_after == 60


async def test_what_an_earlier_job_of_the_name_has_left_is_told_once_and_waited_for() -> None:
    job = replaced(a_job(phase="Pending"), plugins={"svc": ()})
    earlier = msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, uid="earlier"))
    meta = ObjectMeta(name="j-svc", namespace="ns", owner_references=(owner_reference(JOBS, earlier),))

    async def look(at: Job) -> World:
        world = World(at, QUEUE)
        world.fakes.log.fail(AlreadyExists(status(409, "AlreadyExists")), "create", CONFIG_MAPS)
        readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=meta))
        await world.look()
        return world

    first = await look(job)
    told = "ConfigMap j-svc exists and is not owned by job ns/j: waits until it is gone with its own job"
    assert (first.events.seen, first.result.again_after) == ([("Warning", "j", "PluginError", told)], 1)
    written = first.fakes.writes[-1].body["status"]
    assert written["state"]["message"] == told
    second = await look(msgspec.structs.replace(job, status=msgspec.convert(written, JobStatus)))
    assert (second.events.seen, second.result.again_after) == ([], 1)
    assert [_short(write) for write in second.fakes.writes] == ["create configmaps j-svc"]


async def test_a_killed_job_loses_what_its_plugins_made_before_the_status_says_so() -> None:
    marked = {"controlled_resources": {"plugin-svc": "svc", "volume-pvc-x": "x"}}
    job = replaced(a_job(phase="Running", status=marked), plugins={"svc": ("--disable-network-policy",)})
    world = World(job, QUEUE)
    meta = ObjectMeta(name="j", namespace="ns", uid="s", owner_references=(owner_reference(JOBS, job),))
    readable(world.fakes, SERVICES.plural, Service(metadata=meta))
    readable(world.fakes, CONFIG_MAPS.plural, ConfigMap(metadata=meta))
    request = Request(action="AbortJob")
    writes = await world.look(request)
    assert writes[:3] == ["delete configmaps j-svc", "delete services j", "status Aborting"]
    assert world.fakes.writes[2].body["status"]["controlledResources"] == {"volume-pvc-x": "x"}


async def test_what_a_job_noted_after_its_successor_came_is_forgotten() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    successor = msgspec.structs.replace(job, metadata=msgspec.structs.replace(job.metadata, uid="v"))
    forgotten: list[str] = []
    world.reader.recent.forget = forgotten.append  # type: ignore[assignment, method-assign]  # what is noted shows nowhere else
    create = world.reconciler._parts.executor._create_pod

    async def replaced_meanwhile(*arguments: Any) -> None:
        world.jobs.put(successor)
        await create(*arguments)

    world.reconciler._parts.executor._create_pod = replaced_meanwhile  # type: ignore[assignment, method-assign]  # while it works
    await world.look()
    assert forgotten == ["u"]


@pytest.mark.virtual_time
async def test_in_a_rush_pods_are_created_and_their_count_is_written_when_it_is_over() -> None:
    job = a_job(phase="Pending")
    world = World(job, QUEUE, with_group(job))
    for _ in range(Rush.MANY):
        world.reconciler._parts.executor.tallies.note_write()
    assert await world.look() == [f"create pods j-t-{index}" for index in range(3)]
    for index in range(3):
        world.pods.put(a_pod(f"j-t-{index}", "Pending", job=job))
    assert await world.look() == []
    await asyncio.sleep(Rush.WINDOW + 0.1)
    assert world.woken == [KEY]
    assert await world.look() == ["status Pending"]
    assert world.fakes.writes[-1].body["status"]["pending"] == 3
