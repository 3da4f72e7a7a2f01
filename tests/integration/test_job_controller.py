"""The job controller against a real API server; the tests play scheduler and kubelet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from api import names
from controllers import job as job_controller
from generated.batch.v1alpha1 import Job, JobSpec, LifecyclePolicy, TaskSpec
from generated.bus.v1alpha1 import Command
from generated.clients.clientset import Clientset
from generated.core.v1 import Container, Pod, PodSpec, PodTemplateSpec
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import Queue, QueueSpec
from runtime.errors import AlreadyExists
from runtime.patches import JsonPatch, replace
from tests.integration.controllers import admit, bind, end, eventually, running

TEMPLATE = PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image="busybox"),)))
SCHEDULER = "nobody"


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[Clientset]:
    async with running(kubeconfig, job_controller.BLUEPRINT) as clientset:
        await with_queue(clientset)
        yield clientset


async def with_queue(clients: Clientset) -> None:
    try:
        await clients.scheduling_v1beta1.queues.create(Queue(metadata=ObjectMeta(name="default"), spec=QueueSpec()))
    except AlreadyExists:
        return


def a_job(name: str = "j", replicas: int = 3, policies: tuple[LifecyclePolicy, ...] = ()) -> Job:
    tasks = (TaskSpec(name="t", replicas=replicas, template=TEMPLATE),)
    spec = JobSpec(
        min_available=replicas, tasks=tasks, scheduler_name=SCHEDULER, policies=policies, queue="default", max_retry=3
    )
    return Job(metadata=ObjectMeta(name=name), spec=spec)


class Case:
    """One job under test."""

    def __init__(self, clients: Clientset, namespace: str, name: str = "j") -> None:
        self.clients = clients
        self.namespace = namespace
        self.name = name

    async def read(self) -> Job:
        return await self.clients.batch_v1alpha1.jobs.get(self.name, self.namespace)

    async def pods(self) -> tuple[Pod, ...]:
        return (await self.clients.core_v1.pods.list(self.namespace)).items

    async def reaches(self, phase: str) -> Job:
        return await eventually(self.read, lambda job: job.status.state.phase == phase)

    async def has_pods(self, *pods: str) -> tuple[Pod, ...]:
        return await eventually(self.pods, lambda found: sorted(p.metadata.name for p in found) == sorted(pods))

    async def runs(self, node: str) -> Job:
        await admit(self.clients, self.namespace)
        replicas = (await self.read()).spec.tasks[0].replicas
        await self.has_pods(*(f"{self.name}-t-{i}" for i in range(replicas)))
        await bind(self.clients, self.namespace, node)
        return await self.reaches("Running")


async def test_a_job_goes_from_pending_over_running_to_completed(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes()
    case = Case(clients, namespace)
    created = await clients.batch_v1alpha1.jobs.create(a_job(), namespace)
    pending = await case.reaches("Pending")
    assert pending.status.min_available == 3

    group = await admit(clients, namespace)
    assert group.metadata.name == f"j-{created.metadata.uid}"
    assert (group.spec.min_member, group.spec.min_task_member, group.spec.queue) == (3, {"t": 3}, "default")
    pods = await case.has_pods("j-t-0", "j-t-1", "j-t-2")
    pod = pods[0]
    assert pod.spec.scheduler_name == SCHEDULER
    assert pod.metadata.annotations[names.GROUP_NAME_ANNOTATION] == group.metadata.name
    assert [owner.uid for owner in pod.metadata.owner_references] == [created.metadata.uid]

    await bind(clients, namespace, node)
    await case.reaches("Running")
    running_job = await eventually(case.read, lambda job: job.status.running == 3)
    assert running_job.status.task_status_count["t"].phase == {"Running": 3}

    for pod in pods:
        await end(clients, namespace, pod.metadata.name, "Succeeded")
    completed = await case.reaches("Completed")
    assert (completed.status.succeeded, completed.status.retry_count) == (3, 0)
    assert [condition.status for condition in completed.status.conditions] == ["Pending", "Running", "Completed"]
    assert completed.status.running_duration

    async def groups() -> int:
        return len((await clients.scheduling_v1beta1.pod_groups.list(namespace)).items)

    await eventually(groups, lambda count: count == 0)
    assert len(await case.pods()) == 3


async def test_a_deleted_job_leaves_nothing_behind(clients: Clientset, namespace: str) -> None:
    case = Case(clients, namespace)
    await clients.batch_v1alpha1.jobs.create(a_job(), namespace)
    await admit(clients, namespace)
    await case.has_pods("j-t-0", "j-t-1", "j-t-2")
    await clients.batch_v1alpha1.jobs.delete("j", namespace, propagation="Background")

    async def left() -> int:
        groups = await clients.scheduling_v1beta1.pod_groups.list(namespace)
        return len(groups.items) + len(await case.pods())

    await eventually(left, lambda count: count == 0)


async def test_a_controller_that_is_killed_and_started_again_creates_nothing_twice(
    kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes()
    async with running(kubeconfig, job_controller.BLUEPRINT) as clients:
        await with_queue(clients)
        await clients.batch_v1alpha1.jobs.create(a_job(), namespace)
        await admit(clients, namespace)
        case = Case(clients, namespace)
        await eventually(case.pods, lambda found: len(found) > 0)
    async with running(kubeconfig, job_controller.BLUEPRINT) as clients:
        case = Case(clients, namespace)
        pods = await case.has_pods("j-t-0", "j-t-1", "j-t-2")
        await bind(clients, namespace, node)
        await case.reaches("Running")
        assert {pod.metadata.uid for pod in await case.pods()} == {pod.metadata.uid for pod in pods}
    async with running(kubeconfig, job_controller.BLUEPRINT) as clients:
        case = Case(clients, namespace)
        for pod in pods:
            await end(clients, namespace, pod.metadata.name, "Succeeded")
        done = await case.reaches("Completed")
        assert (done.status.retry_count, done.status.succeeded) == (0, 3)
        assert {pod.metadata.uid for pod in await case.pods()} == {pod.metadata.uid for pod in pods}


async def test_a_failed_pod_restarts_the_job_when_a_policy_says_so(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes()
    case = Case(clients, namespace)
    policy = LifecyclePolicy(event="PodFailed", action="RestartJob")
    await clients.batch_v1alpha1.jobs.create(a_job(replicas=2, policies=(policy,)), namespace)
    await case.runs(node)
    first = {pod.metadata.uid for pod in await case.pods()}
    await end(clients, namespace, "j-t-0", "Failed")
    restarted = await eventually(case.read, lambda job: job.status.retry_count == 1)
    assert restarted.status.version == 1
    again = await case.runs(node)
    assert again.status.retry_count == 1
    second = {pod.metadata.uid for pod in await case.pods()}
    assert len(second) == 2
    assert not first & second


async def test_commands_suspend_and_resume_a_job(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes()
    case = Case(clients, namespace)
    created = await clients.batch_v1alpha1.jobs.create(a_job(replicas=2), namespace)
    await case.runs(node)

    async def command(action: str) -> None:
        target = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="j", uid=created.metadata.uid)
        meta = ObjectMeta(name=action.lower())
        await clients.bus_v1alpha1.commands.create(Command(metadata=meta, target=target, action=action), namespace)

    await command("AbortJob")
    await case.reaches("Aborted")
    assert await case.pods() == ()
    assert (await clients.bus_v1alpha1.commands.list(namespace)).items == ()
    await command("ResumeJob")
    resumed = await case.runs(node)
    assert resumed.status.retry_count == 1


@pytest.mark.parametrize("event", ["PodEvicted", "PodFailed"])
async def test_a_job_is_scaled_down_without_being_restarted(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]], event: str
) -> None:
    """Not by pods that are gone, nor by how they end when they are told to go (#4072)."""
    (node,) = kwok_nodes()
    case = Case(clients, namespace)
    policy = LifecyclePolicy(event=event, action="RestartJob")
    await clients.batch_v1alpha1.jobs.create(a_job(replicas=3, policies=(policy,)), namespace)
    await case.runs(node)
    patch = JsonPatch([replace("/spec/tasks/0/replicas", 1), replace("/spec/minAvailable", 1)])
    await clients.batch_v1alpha1.jobs.patch("j", namespace, patch)
    await case.has_pods("j-t-0")
    settled = await eventually(case.read, lambda job: job.status.terminating == 0 and job.status.running == 1)
    assert (settled.status.retry_count, settled.status.state.phase) == (0, "Running")


async def test_a_job_waits_for_its_queue_and_says_so(clients: Clientset, namespace: str) -> None:
    case = Case(clients, namespace)
    queue = f"late-{namespace}"[:60].strip("-")
    spec = a_job().spec
    await clients.batch_v1alpha1.jobs.create(
        Job(metadata=ObjectMeta(name="j"), spec=msgspec.structs.replace(spec, queue=queue)), namespace
    )
    waiting = await eventually(case.read, lambda job: job.status.state.reason == "QueueNotFound")
    assert waiting.status.state.phase == "Pending"
    await clients.scheduling_v1beta1.queues.create(Queue(metadata=ObjectMeta(name=queue), spec=QueueSpec()))
    await admit(clients, namespace)
    await case.has_pods("j-t-0", "j-t-1", "j-t-2")
    await clients.scheduling_v1beta1.queues.delete(queue)


async def test_a_template_field_that_we_do_not_know_reaches_the_pods(clients: Clientset, namespace: str) -> None:
    document = {
        "metadata": {"name": "j"},
        "spec": {
            "minAvailable": 1,
            "schedulerName": SCHEDULER,
            "queue": "default",
            "tasks": [
                {
                    "name": "t",
                    "replicas": 1,
                    "template": {"spec": {"containers": [{"name": "c", "image": "i"}], "enableServiceLinks": False}},
                }
            ],
        },
    }
    await clients.batch_v1alpha1.jobs.create(document, namespace)
    await admit(clients, namespace)
    case = Case(clients, namespace)
    (pod,) = await case.has_pods("j-t-0")
    assert pod.spec.enable_service_links is False


@pytest.mark.parametrize("writes", [1, 2, 3, 5])
async def test_a_controller_that_dies_after_any_write_is_continued_by_the_next(
    kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], writes: int
) -> None:
    """Writes: status, pod group, three pods, status; later writes of the run are left to the second controller."""
    (node,) = kwok_nodes()
    async with running(kubeconfig, job_controller.BLUEPRINT, namespace=namespace, writes=writes) as clients:
        await with_queue(clients)
        await clients.batch_v1alpha1.jobs.create(a_job(), namespace)
        case = Case(clients, namespace)
        if writes > 1:
            await admit(clients, namespace)
            await eventually(case.pods, lambda found: len(found) == min(3, writes - 2))
        else:
            await case.reaches("Pending")
        made = {pod.metadata.uid for pod in await case.pods()}
    async with running(kubeconfig, job_controller.BLUEPRINT) as clients:
        case = Case(clients, namespace)
        if writes == 1:
            await admit(clients, namespace)
        pods = await case.has_pods("j-t-0", "j-t-1", "j-t-2")
        assert made <= {pod.metadata.uid for pod in pods}
        await bind(clients, namespace, node)
        job = await case.reaches("Running")
        assert (job.status.retry_count, job.status.version) == (0, 0)
