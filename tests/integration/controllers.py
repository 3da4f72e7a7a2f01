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
from runtime.lease import LeaseLost
from runtime.patches import MergePatch
from runtime.requests import Request
from runtime.responses import Response
from runtime.transport import Transport

T = TypeVar("T")


class MortalTransport(Transport):
    """A connection of a process that dies: from then on its writes reach nobody."""

    left = -1
    """Writes until it is dead, below zero for no end."""
    subject = ""
    """Part of the paths of the writes that count and fail."""

    async def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        if request.is_write and self.subject in request.path and "/events" not in request.path:
            if self.left == 0:
                raise LeaseLost("this process is dead")
            self.left -= 1
        return await super().send(request, guard=guard)


@contextlib.asynccontextmanager
async def goodbyes() -> AsyncIterator[None]:
    """Wait in the end for connections that were closed: TLS says goodbye on the loop, which the test would take away."""
    sockets = asyncio.get_running_loop()._selector.get_map()  # type: ignore[attr-defined]  # no public way
    before = len(sockets)
    yield
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            while len(sockets) > before:  # nothing tells when a socket is gone
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(
    kubeconfig: Path, *blueprints: Blueprint, namespace: str = "", writes: int = -1
) -> AsyncIterator[Clientset]:
    """
    The controllers at work until the block ends. From then on they write nothing more, as if they had been killed.

    In `namespace` they are dead after so many `writes` already. Gives clients that live on.
    """
    config = load(str(kubeconfig))
    async with goodbyes(), MortalTransport(config, qps=500, burst=500) as transport, Transport(config) as own:
        transport.left, transport.subject = writes, namespace
        client = Client(transport)
        context = Context(Clientset(client), Informers(client), EventRecorder(client, "vc-controller-manager"))
        built = [blueprint.build(context) for blueprint in blueprints]
        services = [asyncio.create_task(context.events.run()), asyncio.create_task(context.informers.run())]
        work = [asyncio.create_task(controller.run()) for controller in built]
        try:
            yield Clientset(Client(own))
        finally:
            transport.left, transport.subject = 0, ""
            for controller in built:
                controller.shut_down()
            await asyncio.gather(*work)
            await context.events.drain(2)
            for task in services:
                task.cancel()
            ended = await asyncio.gather(*services, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], bool], seconds: float = 90) -> T:
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
