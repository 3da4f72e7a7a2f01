"""What a job needs beside pods: other tasks that run, claims that exist, a priority, a time after which it goes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from controllers import garbagecollector
from controllers import job as job_controller
from generated.batch.v1alpha1 import DependsOn, VolumeSpec
from generated.clients.clientset import Clientset
from generated.core.v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    VolumeResourceRequirements,
)
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1 import PRIORITY_CLASSES
from generated.scheduling.v1beta1 import PodGroup
from runtime.errors import NotFound
from runtime.patches import JsonPatch
from runtime.patches import replace as replaced
from tests.integration.controllers import end, eventually, running
from tests.integration.scenarios import a_task, film, let_in, place, played, playing, with_tasks
from tests.integration.test_job_controller import Case, with_queue

CLAIM = PersistentVolumeClaimSpec(
    access_modes=("ReadWriteOnce",), resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
)


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[Clientset]:
    async with running(kubeconfig, job_controller.BLUEPRINT, garbagecollector.BLUEPRINT) as clientset:
        await with_queue(clientset)
        yield clientset


@pytest.fixture
def node(kwok_nodes: Callable[..., list[str]]) -> str:
    return kwok_nodes()[0]


async def group(case: Case) -> PodGroup:
    """The one of the job, once it is there."""
    groups = case.clients.scheduling_v1beta1.pod_groups

    async def found() -> tuple[PodGroup, ...]:
        return (await groups.list(case.namespace)).items

    (only,) = await eventually(found, bool)
    return only


async def test_a_task_waits_for_the_one_that_it_depends_on(clients: Clientset, namespace: str, node: str) -> None:
    last = a_task("last", depends_on=DependsOn(name=("first", "no-task-of-the-job"), iteration="any"))
    job = with_tasks(a_task("first"), last)
    case = Case(clients, namespace)
    async with playing(let_in(clients, namespace)):
        await clients.batch_v1alpha1.jobs.create(replace(job, spec=replace(job.spec, min_available=2)), namespace)
        waiting = await eventually(case.read, lambda found: found.status.state.reason == "DependencyNotReady")
        assert "last" in waiting.status.state.message
        await case.has_pods("j-first-0", "j-first-1")
        async with playing(place(clients, namespace, node)):
            await case.has_pods("j-first-0", "j-first-1", "j-last-0", "j-last-1")
            settled = await eventually(case.read, lambda found: found.status.running == 4)
    assert settled.status.state.phase == "Running"


async def test_claims_are_waited_for_or_made_and_go_with_the_job(clients: Clientset, namespace: str, node: str) -> None:
    claims = clients.core_v1.persistent_volume_claims
    given, made = VolumeSpec(mount_path="/a", volume_claim_name="mine"), VolumeSpec(mount_path="/b", volume_claim=CLAIM)
    async with played(clients, namespace, node) as case:
        await clients.batch_v1alpha1.jobs.create(with_tasks(a_task("t", 1), volumes=(given, made)), namespace)
        waiting = await eventually(case.read, lambda job: job.status.state.reason == "ClaimNotFound")
        assert waiting.status.state.message.startswith("pvc mine is not found, the job will be in the Pending state")
        assert await case.pods() == ()
        await claims.create(PersistentVolumeClaim(metadata=ObjectMeta(name="mine"), spec=CLAIM), namespace)
        await film(case, "Running")
        job = await case.read()
        name = job.spec.volumes[1].volume_claim_name
        assert (await claims.get(name, namespace)).metadata.owner_references[0].uid == job.metadata.uid
        assert {f"volume-pvc-{claim}" for claim in ("mine", name)} <= job.status.controlled_resources.keys()
        (pod,) = await case.pods()
        mounts = {mount.mount_path for mount in pod.spec.containers[0].volume_mounts}
        assert {"/a", "/b"} <= mounts
        await clients.batch_v1alpha1.jobs.delete("j", namespace, propagation="Background")

        async def left() -> set[str]:
            return {claim.metadata.name for claim in (await claims.list(namespace)).items}

        await eventually(left, lambda found: found == {"mine"})


async def test_a_priority_reaches_pods_and_group_and_may_be_changed(
    clients: Clientset, namespace: str, node: str
) -> None:
    low, high = (f"{word}-{secrets.token_hex(3)}" for word in ("low", "high"))
    for value, name in enumerate((low, high)):
        await clients.client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    async with played(clients, namespace, node) as case:
        await clients.batch_v1alpha1.jobs.create(with_tasks(a_task(), priority_class_name=low), namespace)
        await film(case, "Running")
        assert {pod.spec.priority_class_name for pod in await case.pods()} == {low}
        assert (await group(case)).spec.priority_class_name == low
        patch = JsonPatch([replaced("/spec/priorityClassName", high), replaced("/spec/minAvailable", 1)])
        await clients.batch_v1alpha1.jobs.patch("j", namespace, patch)
        await eventually(lambda: group(case), lambda found: found.spec.priority_class_name == high)
        await eventually(lambda: group(case), lambda found: found.spec.min_member == 1)
        assert (await case.read()).status.retry_count == 0


async def test_a_finished_job_goes_when_its_time_is_over(clients: Clientset, namespace: str, node: str) -> None:
    async with played(clients, namespace, node) as case:
        await clients.batch_v1alpha1.jobs.create(with_tasks(a_task("t", 1), ttl_seconds_after_finished=1), namespace)
        await film(case, "Running")
        await end(clients, namespace, "j-t-0", "Succeeded")
        await film(case, "Completed")

        async def is_there() -> bool:
            try:
                await case.read()
            except NotFound:
                return False
            return True

        await eventually(is_there, lambda found: not found)
        await case.has_pods()
