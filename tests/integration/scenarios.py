"""
What scenarios of jobs are played on: a case whose pod groups are let in and whose pods are bound as they come, a film of
the phases that a watch shows, and things that happen to pods.

Scheduler and kubelet are played; the controllers and everything behind the API are real.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any

from msgspec.structs import replace

from cluster.annotations import STOP_SECONDS
from generated.batch.v1alpha1 import Job, TaskSpec
from generated.bus.v1alpha1 import Command
from generated.clients.clientset import Clientset
from generated.core.v1 import PODS
from generated.meta.v1 import ObjectMeta, OwnerReference
from runtime.errors import Conflict, NotFound
from runtime.patches import MergePatch
from tests.integration.controllers import end
from tests.integration.test_job_controller import TEMPLATE, Case, a_job

LEAVING = {"Restarting", "Terminating", "Aborting", "Completing"}
SETTLED = {"Terminated", "Aborted", "Completed", "Failed"}
AGAIN = ("Restarting", "Pending", "Running")


@contextlib.asynccontextmanager
async def played(clients: Clientset, namespace: str, node: str) -> AsyncIterator[Case]:
    """A namespace in which every pod group is let in and every pod is bound as soon as it is seen."""
    async with playing(let_in(clients, namespace), place(clients, namespace, node)):
        yield Case(clients, namespace)


@contextlib.asynccontextmanager
async def playing(*parts: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Actors who play until the block ends. Fails when one of them has stopped by itself."""
    actors = [asyncio.create_task(part) for part in parts]
    try:
        yield
    finally:
        for actor in actors:
            actor.cancel()
        ended = await asyncio.gather(*actors, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


async def let_in(clients: Clientset, namespace: str) -> None:
    groups = clients.scheduling_v1beta1.pod_groups
    async for change in groups.watch(namespace):
        meta = change.object.metadata
        if change.object.status.phase in {"", "Pending"}:
            patch = MergePatch({"metadata": {"uid": meta.uid}, "status": {"phase": "Inqueue"}})
            with contextlib.suppress(NotFound, Conflict):
                await groups.patch(meta.name, namespace, patch)


async def place(clients: Clientset, namespace: str, node: str) -> None:
    async for change in clients.core_v1.pods.watch(namespace):
        name = change.object.metadata.name
        if not change.object.spec.node_name:
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            with contextlib.suppress(NotFound, Conflict):
                await clients.client.create_subresource(PODS, name, namespace, "binding", binding)


def shows(job: Job, phase: str) -> bool:
    """Whether the job is in the phase, with counters that say why."""
    status = job.status
    if status.state.phase != phase:
        return False
    if phase in LEAVING:
        return status.terminating > 0
    if phase in SETTLED:
        return status.pending + status.running + status.terminating == 0
    return phase != "Running" or status.running >= job.spec.min_available


async def film(case: Case, *phases: str) -> None:
    """Watch until the phases were shown, in this order."""
    scenes: Iterator[str] = iter(phases)
    wanted = next(scenes)
    seen: list[str] = []
    try:
        async with asyncio.timeout(30):
            async for change in case.clients.batch_v1alpha1.jobs.watch(case.namespace):
                seen.append(change.object.status.state.phase)
                if change.object.metadata.name == case.name and shows(change.object, wanted):
                    wanted = next(scenes, "")
                    if not wanted:
                        return
    except TimeoutError:
        raise AssertionError(f"{wanted} was not shown; seen: {seen}") from None


def with_tasks(*tasks: TaskSpec, **spec: Any) -> Job:
    """A job of these tasks that needs all of their pods."""
    job = a_job()
    least = sum(task.replicas for task in tasks)
    return replace(job, spec=replace(job.spec, tasks=tasks, min_available=least, **spec))


def a_task(name: str = "t", replicas: int = 2, **fields: Any) -> TaskSpec:
    return TaskSpec(name=name, replicas=replicas, template=TEMPLATE, **fields)


async def evict(case: Case, pod: str) -> None:
    await case.clients.core_v1.pods.delete(pod, case.namespace)


async def stop_well(case: Case, pod: str) -> None:
    """Evict a pod whose program answers with exit code 0 when it is told to stop."""
    pods = case.clients.core_v1.pods
    await pods.patch(pod, case.namespace, MergePatch({"metadata": {"annotations": {STOP_SECONDS: "25"}}}))
    await evict(case, pod)
    await end(case.clients, case.namespace, pod, "Succeeded")


async def fail(case: Case, pod: str, code: int = 1) -> None:
    ended = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
             "state": {"terminated": {"exitCode": code}}}  # fmt: skip
    body = {"status": {"phase": "Failed", "containerStatuses": [ended]}}
    await case.clients.core_v1.pods.patch_status(pod, case.namespace, MergePatch(body))


async def uids(case: Case) -> dict[str, str]:
    """Of the pods that run and stay, by name."""
    return {
        pod.metadata.name: pod.metadata.uid
        for pod in await case.pods()
        if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
    }


async def command(case: Case, action: str) -> None:
    """What `vcctl job suspend` and `resume` leave for the controller."""
    owner = (await case.read()).metadata
    target = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name=owner.name, uid=owner.uid)
    body = Command(metadata=ObjectMeta(generate_name=f"{owner.name}-"), target=target, action=action)
    await case.clients.bus_v1alpha1.commands.create(body, case.namespace)
