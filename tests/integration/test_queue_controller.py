"""The queue controller against a real API server."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from controllers import queue as queue_controller
from generated.bus.v1alpha1 import Command
from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, Queue, QueueSpec
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running

MARK = "volcano.sh/closed-by-parent"


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[Clientset]:
    async with running(kubeconfig, queue_controller.BLUEPRINT) as clientset:
        yield clientset


class Queues:
    """Queues with names of this test alone, and Commands on them."""

    def __init__(self, clients: Clientset, namespace: str) -> None:
        self.clients = clients
        self.namespace = namespace
        self.suffix = secrets.token_hex(3)
        self.verbs = clients.scheduling_v1beta1.queues

    def name(self, short: str) -> str:
        return f"{short}-{self.suffix}"

    async def create(self, short: str, parent: str = "") -> None:
        spec = QueueSpec(parent=self.name(parent)) if parent else QueueSpec()
        await self.verbs.create(Queue(metadata=ObjectMeta(name=self.name(short)), spec=spec))

    async def reaches(self, short: str, state: str) -> Queue:
        return await eventually(lambda: self.verbs.get(self.name(short)), lambda queue: queue.status.state == state)

    async def state(self, short: str) -> str:
        return (await self.verbs.get(self.name(short))).status.state

    async def order(self, short: str, action: str) -> None:
        target = OwnerReference(api_version="scheduling.volcano.sh/v1beta1", kind="Queue", name=self.name(short))
        meta = ObjectMeta(name=f"{action.lower()}-{secrets.token_hex(3)}")
        command = Command(metadata=meta, target=target, action=action)
        await self.clients.bus_v1alpha1.commands.create(command, self.namespace)


@pytest.fixture
def queues(clients: Clientset, namespace: str) -> Queues:
    return Queues(clients, namespace)


async def test_a_new_queue_is_opened_and_hung_below_root(queues: Queues) -> None:
    await queues.create("q")
    queue = await queues.reaches("q", "Open")
    assert queue.spec.parent == "root"
    managers = {
        entry["manager"] for entry in await _managed_fields(queues, "q") if entry.get("subresource") == "status"
    }
    assert managers == {"queue-controller"}


async def _managed_fields(queues: Queues, short: str) -> list[dict[str, str]]:
    path = f"/apis/scheduling.volcano.sh/v1beta1/queues/{queues.name(short)}"
    document = msgspec.json.decode(await queues.clients.client.raw(path))
    fields: list[dict[str, str]] = document["metadata"]["managedFields"]
    return fields


async def test_commands_close_and_open_a_queue(queues: Queues) -> None:
    await queues.create("q")
    await queues.reaches("q", "Open")
    await queues.order("q", "CloseQueue")
    await queues.reaches("q", "Closed")
    await queues.order("q", "OpenQueue")
    await queues.reaches("q", "Open")
    assert (await queues.clients.bus_v1alpha1.commands.list(queues.namespace)).items == ()


async def test_a_queue_is_closing_until_its_last_pod_group_is_gone(queues: Queues) -> None:
    await queues.create("q")
    await queues.reaches("q", "Open")
    groups = queues.clients.scheduling_v1beta1.pod_groups
    group = PodGroup(metadata=ObjectMeta(name="g"), spec=PodGroupSpec(queue=queues.name("q")))
    await groups.create(group, queues.namespace)
    await queues.order("q", "CloseQueue")
    await queues.reaches("q", "Closing")
    await groups.delete("g", queues.namespace)
    await queues.reaches("q", "Closed")


async def test_children_close_and_open_with_their_parent_but_not_one_that_a_user_closed(queues: Queues) -> None:
    await queues.create("p")
    await queues.create("a", "p")
    await queues.create("b", "p")
    for short in ("p", "a", "b"):
        await queues.reaches(short, "Open")
    await queues.order("b", "CloseQueue")
    await queues.reaches("b", "Closed")
    await queues.order("p", "CloseQueue")
    await queues.reaches("p", "Closed")
    closed = await queues.reaches("a", "Closed")
    assert closed.metadata.annotations[MARK] == "true"
    await queues.order("p", "OpenQueue")
    opened = await queues.reaches("a", "Open")
    assert await queues.state("b") == "Closed"
    assert opened.status.state == "Open"


async def test_a_cascade_goes_on_after_a_restart(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, queue_controller.BLUEPRINT) as clients:
        queues = Queues(clients, namespace)
        await queues.create("p")
        await queues.create("a", "p")
        await queues.reaches("p", "Open")
        await queues.reaches("a", "Open")
    async with running(kubeconfig) as clients:
        parent, child = queues.name("p"), queues.name("a")
        await clients.scheduling_v1beta1.queues.patch_status(parent, MergePatch({"status": {"state": "Closed"}}))
        assert (await clients.scheduling_v1beta1.queues.get(child)).status.state == "Open"
    async with running(kubeconfig, queue_controller.BLUEPRINT) as clients:
        await eventually(lambda: clients.scheduling_v1beta1.queues.get(child), lambda q: q.status.state == "Closed")
