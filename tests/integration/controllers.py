"""A controller of ours in the test's own loop, and how tests drive what surrounds it: no scheduler runs here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from controllers.blueprint import Blueprint, Context
from generated.clients.clientset import Clientset
from generated.core.v1 import PODS
from generated.scheduling.v1beta1 import PodGroup
from runtime.client import Client
from runtime.errors import Conflict, NotFound
from runtime.events import EventRecorder
from runtime.informers import Informers
from runtime.kubeconfig import load
from runtime.patches import MergePatch
from runtime.transport import Transport

T = TypeVar("T")


@contextlib.asynccontextmanager
async def running(kubeconfig: Path, *blueprints: Blueprint) -> AsyncIterator[Clientset]:
    """The controllers at work until the block ends, which breaks them off in the middle of whatever they do."""
    async with Transport(load(str(kubeconfig)), qps=500, burst=500) as transport:
        client = Client(transport)
        context = Context(Clientset(client), Informers(client), EventRecorder(client, "vc-controller-manager"))
        built = [blueprint.build(context) for blueprint in blueprints]
        work = [context.events.run(), context.informers.run(), *(controller.run() for controller in built)]
        tasks = [asyncio.create_task(coroutine) for coroutine in work]
        try:
            yield context.clients
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            defects = [end for end in ended if not isinstance(end, asyncio.CancelledError)]
            assert not defects, defects


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], bool], seconds: float = 30) -> T:
    """Read until the condition holds; what was read then. Fails with what was read last."""
    last: list[T] = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                last = [await read()]
                if holds(last[0]):
                    return last[0]
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g}s; last seen: {last}") from None


async def admit(clients: Clientset, namespace: str, phase: str = "Inqueue") -> PodGroup:
    """Play the scheduler that lets the namespace's only pod group in, as soon as there is one that waits."""
    groups = clients.scheduling_v1beta1.pod_groups

    async def let_in() -> PodGroup | None:
        for group in (await groups.list(namespace)).items:
            if group.status.phase in {"", "Pending"}:
                head = {"uid": group.metadata.uid}
                with contextlib.suppress(NotFound, Conflict):  # it was deleted at this moment
                    patch = MergePatch({"metadata": head, "status": {"phase": phase}})
                    return await groups.patch(group.metadata.name, namespace, patch)
        return None

    admitted = await eventually(let_in, lambda group: group is not None)
    assert admitted is not None
    return admitted


async def bind(clients: Clientset, namespace: str, node: str) -> None:
    """Play the scheduler that binds every unbound pod of the namespace."""
    for pod in (await clients.core_v1.pods.list(namespace)).items:
        if not pod.spec.node_name:
            binding = {"metadata": {"name": pod.metadata.name}, "target": {"kind": "Node", "name": node}}
            await clients.client.create_subresource(PODS, pod.metadata.name, namespace, "binding", binding)


async def end(clients: Clientset, namespace: str, pod: str, phase: str) -> None:
    """Play the kubelet whose containers end."""
    status = {"phase": phase}
    await clients.core_v1.pods.patch_status(pod, namespace, MergePatch({"status": status}))
