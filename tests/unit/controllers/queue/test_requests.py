"""Which changes wake which queue."""

from __future__ import annotations

import pytest

from controllers.queue.requests import OnCommand, OnPodGroup, OnQueue, Order, Request, Work
from generated.bus.v1alpha1 import Command
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, PodGroupStatus, Queue, QueueSpec, QueueStatus
from runtime.queue import WorkQueue


def queue(name: str, parent: str = "root", state: str = "Open", weight: int = 1) -> Queue:
    spec = QueueSpec(parent=parent, weight=weight)
    return Queue(metadata=ObjectMeta(name=name), spec=spec, status=QueueStatus(state=state))


def group(phase: str = "Pending", of: str | None = "q", message: int = 0) -> PodGroup:
    status = PodGroupStatus(phase=phase, running=message)
    return PodGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=PodGroupSpec(queue=of), status=status)


async def drained(requests: WorkQueue[Work]) -> list[Work]:
    found = []
    while len(requests):
        found.append(await requests.get())
        requests.done(found[-1])
    return found


async def names(requests: WorkQueue[Work]) -> list[str]:
    return [work.queue for work in await drained(requests)]


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        (queue("q"), queue("q", weight=2), []),
        (queue("q"), queue("q", parent="p"), ["q"]),
        (queue("q"), queue("q", state="Closed"), ["child"]),
    ],
)
async def test_a_changed_queue_wakes_itself_when_it_moves_and_its_children_when_its_state_changes(
    old: Queue, new: Queue, woken: list[str]
) -> None:
    requests: WorkQueue[Work] = WorkQueue("t")
    handler = OnQueue(requests, QueueLister.filled([new, queue("child", parent="q")]), lambda _: None)
    handler.on_update(old, new)
    assert await names(requests) == woken


async def test_a_new_queue_wakes_itself_and_children_that_waited_for_it() -> None:
    requests: WorkQueue[Work] = WorkQueue("t")
    handler = OnQueue(requests, QueueLister.filled([queue("child", parent="q")]), lambda _: None)
    handler.on_add(queue("q"), initial=True)
    assert await names(requests) == ["q"]
    handler.on_add(queue("q"), initial=False)
    assert await names(requests) == ["q", "child"]


async def test_a_deleted_queue_is_forgotten() -> None:
    forgotten: list[Queue] = []
    OnQueue(WorkQueue("t"), QueueLister.filled(), forgotten.append).on_delete(queue("q"))
    assert forgotten == [queue("q")]


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        (group(), group(), []),
        (group(), group(message=1), []),
        (group(), group("Inqueue"), ["q"]),
        (group(), group(of="r"), ["r", "q"]),
        (group(of=None), group(of="r"), ["r"]),
    ],
)
async def test_a_changed_pod_group_wakes_the_queues_that_it_concerns(
    old: PodGroup, new: PodGroup, woken: list[str]
) -> None:
    requests: WorkQueue[Work] = WorkQueue("t")
    OnPodGroup(requests).on_update(old, new)
    assert await names(requests) == woken


async def test_many_pod_groups_that_come_and_go_are_one_request() -> None:
    requests: WorkQueue[Work] = WorkQueue("t")
    handler = OnPodGroup(requests)
    for _ in range(100):
        handler.on_add(group(), initial=False)
        handler.on_delete(group())
    assert await drained(requests) == [Request("q", "SyncQueue", "OutOfSync")]


@pytest.mark.parametrize(
    ("api_version", "kind", "is_taken"),
    [
        ("scheduling.volcano.sh/v1beta1", "Queue", True),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", False),
        ("batch.volcano.sh/v1alpha1", "Job", False),
        ("scheduling.volcano.sh/v1", "Queue", False),
    ],
)
async def test_only_commands_for_queues_are_taken(api_version: str, kind: str, is_taken: bool) -> None:  # a column
    requests: WorkQueue[Work] = WorkQueue("t")
    target = OwnerReference(api_version=api_version, kind=kind, name="q")
    meta = ObjectMeta(name="c", namespace="ns", uid="u")
    OnCommand(requests).on_add(Command(metadata=meta, target=target, action="CloseQueue"), initial=True)
    assert await drained(requests) == ([Order("ns", "c", "u", "q", "CloseQueue")] if is_taken else [])


async def test_a_command_without_target_is_left_alone() -> None:
    requests: WorkQueue[Work] = WorkQueue("t")
    OnCommand(requests).on_add(Command(metadata=ObjectMeta(name="c", namespace="ns")), initial=False)
    assert await drained(requests) == []
