"""The generated clients, models, builders and defaults against a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from generated.apply.batch import v1alpha1 as batch_apply
from generated.apply.meta import v1 as meta_apply
from generated.apply.scheduling import v1beta1 as scheduling_apply
from generated.batch.v1alpha1 import CronJob, CronJobSpec, Job, JobSpec, JobState, JobStatus, JobTemplateSpec, TaskSpec
from generated.clients.clientset import Clientset
from generated.clients.clientset_sync import SyncClientset
from generated.core.v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec
from generated.defaults import defaulted
from generated.meta.v1 import Condition, ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, PodGroupStatus, Queue, QueueSpec
from generated.shard.v1alpha1 import NodeShard, NodeShardSpec
from generated.topology.v1alpha1 import HyperNode, HyperNodeSpec, HyperNodeStatus
from runtime import patches
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.errors import Conflict, Invalid, NotFound
from runtime.kubeconfig import load
from runtime.patches import JsonPatch, MergePatch, StrategicPatch
from runtime.transport import Transport
from runtime.transport_sync import SyncTransport
from runtime.watching import Change

T = TypeVar("T")
TEMPLATE = PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image="busybox"),)))


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[Clientset]:
    async with Transport(load(str(kubeconfig))) as transport:
        yield Clientset(Client(transport))


@pytest.fixture
def sync_clients(kubeconfig: Path) -> Iterator[SyncClientset]:
    transport = SyncTransport(load(str(kubeconfig)))
    yield SyncClientset(SyncClient(transport))
    transport.close()


def job(name: str, **spec: object) -> Job:
    tasks = (TaskSpec(name="t", replicas=1, template=TEMPLATE),)
    return Job(metadata=ObjectMeta(name=name), spec=msgspec.structs.replace(JobSpec(tasks=tasks), **spec))


async def test_a_job_lives_through_every_verb(clients: Clientset, namespace: str) -> None:
    jobs = clients.batch_v1alpha1.jobs
    created = await jobs.create(job("j", min_available=1), namespace)
    assert (created.spec.queue, created.spec.max_retry, created.kind) == ("default", 3, "Job")
    assert await jobs.get("j", namespace) == created

    patched = await jobs.patch("j", namespace, MergePatch(batch_apply.Job(spec=batch_apply.JobSpec(max_retry=0))))
    assert patched.spec.max_retry == 0
    patched = await jobs.patch("j", namespace, JsonPatch([patches.add("/metadata/labels", {"a": "b"})]))
    assert [found.metadata.name for found in (await jobs.list(namespace, label_selector="a=b")).items] == ["j"]

    running = JobStatus(state=JobState(phase="Running"), min_available=1)
    updated = await jobs.update_status(msgspec.structs.replace(patched, status=running))
    assert (updated.status.state.phase, updated.metadata.generation) == ("Running", patched.metadata.generation)
    await jobs.patch_status("j", namespace, MergePatch({"status": {"running": 1}}))
    assert (await jobs.get("j", namespace)).status.running == 1

    await jobs.delete("j", namespace, uid=created.metadata.uid)
    with pytest.raises(NotFound):
        await jobs.get("j", namespace)


async def test_a_builder_applies_the_fields_that_it_sets(clients: Clientset, namespace: str) -> None:
    jobs = clients.batch_v1alpha1.jobs
    await jobs.create(job("j"), namespace)
    wanted = batch_apply.Job(spec=batch_apply.JobSpec(priority_class_name="high"))
    applied = await jobs.apply("j", namespace, wanted, field_manager="me")
    assert (applied.spec.priority_class_name, len(applied.spec.tasks)) == ("high", 1)
    other = batch_apply.Job(spec=batch_apply.JobSpec(priority_class_name="low"))
    with pytest.raises(Conflict, match="priorityClassName"):
        await jobs.apply("j", namespace, other, field_manager="you")
    taken = await jobs.apply("j", namespace, other, field_manager="you", force=True)
    assert taken.spec.priority_class_name == "low"
    status = batch_apply.Job(status=batch_apply.JobStatus(pending=2))
    assert (await jobs.apply_status("j", namespace, status, field_manager="me")).status.pending == 2


async def test_apply_creates_what_is_missing(clients: Clientset, namespace: str) -> None:
    groups = clients.scheduling_v1beta1.pod_groups
    wanted = scheduling_apply.PodGroup(
        metadata=meta_apply.ObjectMeta(name="g"), spec=scheduling_apply.PodGroupSpec(min_member=2)
    )
    assert (await groups.apply("g", namespace, wanted, field_manager="me")).spec.min_member == 2


async def test_a_pod_group_keeps_the_status_that_its_creation_carries(clients: Clientset, namespace: str) -> None:
    groups = clients.scheduling_v1beta1.pod_groups
    group = PodGroup(
        metadata=ObjectMeta(name="g"), spec=PodGroupSpec(min_member=1), status=PodGroupStatus(phase="Inqueue")
    )
    assert (await groups.create(group, namespace)).status.phase == "Inqueue"


async def test_cluster_scoped_kinds_take_no_namespace(clients: Clientset, namespace: str) -> None:
    queues = clients.scheduling_v1beta1.queues
    queue = Queue(metadata=ObjectMeta(name=namespace, labels={"test": namespace}), spec=QueueSpec(weight=2))
    assert (await queues.create(queue)).spec.dequeue_strategy == "traverse"
    assert len((await queues.list(label_selector=f"test={namespace}")).items) == 1
    await queues.delete_collection(label_selector=f"test={namespace}")
    assert not (await queues.list(label_selector=f"test={namespace}")).items


async def test_required_zero_values_are_accepted(clients: Clientset, namespace: str) -> None:
    """What the server requires is written even where it is zero: an empty list, a tier of 0, an empty message."""
    shard = await clients.shard_v1alpha1.node_shards.create(
        NodeShard(metadata=ObjectMeta(name=namespace), spec=NodeShardSpec())
    )
    assert shard.spec.nodes_desired == ()
    nodes = clients.topology_v1alpha1.hyper_nodes
    made = await nodes.create(HyperNode(metadata=ObjectMeta(name=namespace), spec=HyperNodeSpec()))
    condition = Condition(type="Ready", status="True", reason="Fine", last_transition_time="2026-01-01T00:00:00Z")
    status = HyperNodeStatus(conditions=(condition,))
    updated = await nodes.update_status(msgspec.structs.replace(made, status=status))
    assert updated.status.conditions == (condition,)
    await nodes.delete(namespace)
    await clients.shard_v1alpha1.node_shards.delete(namespace)


async def test_local_defaults_are_the_servers(clients: Clientset, namespace: str) -> None:
    batch, groups = clients.batch_v1alpha1, clients.scheduling_v1beta1.pod_groups
    assert (await batch.jobs.create(job("j"), namespace)).spec == defaulted(job("j")).spec
    spec = CronJobSpec(schedule="* * * * *", job_template=JobTemplateSpec(spec=job("x").spec))
    cron_job = CronJob(metadata=ObjectMeta(name="c"), spec=spec)
    assert (await batch.cron_jobs.create(cron_job, namespace)).spec == defaulted(cron_job).spec
    group = PodGroup(metadata=ObjectMeta(name="g"), spec=PodGroupSpec(min_member=1))
    assert (await groups.create(group, namespace)).spec == defaulted(group).spec


async def test_the_server_names_what_it_refuses(clients: Clientset, namespace: str) -> None:
    with pytest.raises(Invalid, match=r"spec\.queue"):
        await clients.batch_v1alpha1.jobs.create(job("j", queue=""), namespace)


async def test_pages_follow_each_other(clients: Clientset, namespace: str) -> None:
    maps = clients.core_v1.config_maps
    for index in range(5):
        await maps.create(ConfigMap(metadata=ObjectMeta(name=f"m{index}"), data={"x": ""}), namespace)
    page = await maps.list_page(namespace, limit=2)
    assert len(page.items) == 2
    assert page.continue_
    whole = await maps.list(namespace, field_selector="metadata.name!=kube-root-ca.crt", page_size=2)
    assert [item.metadata.name for item in whole.items] == [f"m{index}" for index in range(5)]


async def _until_deleted(changes: AsyncIterator[Change[T]]) -> AsyncIterator[Change[T]]:
    async for change in changes:
        yield change
        if change.type == "DELETED":
            return


async def test_changes_are_watched(clients: Clientset, namespace: str) -> None:
    maps = clients.core_v1.config_maps
    start = (await maps.list(namespace)).resource_version
    changes = maps.watch(namespace, field_selector="metadata.name=m", resource_version=start, seconds=60)
    await maps.create(ConfigMap(metadata=ObjectMeta(name="m")), namespace)
    await maps.patch("m", namespace, StrategicPatch({"data": {"a": "b"}}))
    await maps.delete("m", namespace)
    async with asyncio.timeout(30):
        seen = [(change.type, change.object.data.get("a", "")) async for change in _until_deleted(changes)]
    await changes.aclose()
    assert seen == [("ADDED", ""), ("MODIFIED", "b"), ("DELETED", "b")]


async def test_a_pod_is_bound_once_and_evicted(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes(1)
    pods = clients.core_v1.pods
    spec = PodSpec(containers=(Container(name="c", image="busybox"),), scheduler_name="nobody")
    created = await pods.create(Pod(metadata=ObjectMeta(name="p"), spec=spec), namespace)
    assert created.status.phase == "Pending"
    with pytest.raises(Conflict):
        await pods.bind("p", namespace, node, uid="another")
    await pods.bind("p", namespace, node, uid=created.metadata.uid, annotations={"a": "b"})
    bound = await pods.get("p", namespace)
    assert (bound.spec.node_name, bound.metadata.annotations["a"]) == (node, "b")
    with pytest.raises(Conflict):
        await pods.bind("p", namespace, node)
    await pods.evict("p", namespace, uid=created.metadata.uid, grace_period=0, dry_run=True)
    await pods.get("p", namespace)
    await pods.evict("p", namespace, uid=created.metadata.uid, grace_period=0)
    changes = pods.watch(namespace, resource_version=bound.metadata.resource_version, seconds=60)
    async with asyncio.timeout(30):
        assert "DELETED" in [change.type async for change in _until_deleted(changes)]
    await changes.aclose()


def test_the_sync_twin_does_the_same(sync_clients: SyncClientset, namespace: str) -> None:
    jobs = sync_clients.batch_v1alpha1.jobs
    created = jobs.create(job("j"), namespace)
    assert jobs.list(namespace).items == (created,)
    jobs.patch("j", namespace, MergePatch({"spec": {"maxRetry": 1}}))
    changes = list(jobs.watch(namespace, resource_version=created.metadata.resource_version, seconds=1))
    assert [(change.type, change.object.spec.max_retry) for change in changes] == [("MODIFIED", 1)]
    jobs.delete_collection(namespace)
    assert jobs.list(namespace).items == ()
