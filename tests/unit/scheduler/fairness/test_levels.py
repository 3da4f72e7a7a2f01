"""What queues hold with all below them (scheduler.md 14.5)."""

from __future__ import annotations

import msgspec
import pytest

from generated.scheduling.v1beta1 import Queue
from scheduler.fairness.levels import levels
from scheduler.state.status import Status
from tests.unit.scheduler.build import GIB, World, shape


def queue(world: World, name: str, parent: str = "") -> None:
    world.cluster.queue(name).object = msgspec.convert({"metadata": {"name": name}, "spec": {"parent": parent}}, Queue)


def holding(world: World, name: str, in_queue: str, cpu: float, status: Status = Status.RUNNING) -> None:
    world.gang(name, [("w", 1, shape(cpu=cpu, memory=0.0, scalars={"nvidia.com/gpu": 1000.0}))], queue=in_queue)
    task = world.cluster.jobs[f"ns/{name}"].tasks[f"uid-{name}-w-0"]
    world.cluster.remove_task(task.uid)
    task.status = status
    world.cluster.add_task(task, "n")


def cpus(world: World) -> dict[str, float]:
    return {level.queue.name: level.amounts["cpu"] for level in levels(world.cluster)}


def test_a_pod_counts_once_for_its_queue_and_each_ancestor() -> None:
    world = World()
    world.node("n")
    for name, parent in (("root", ""), ("a", "root"), ("b", "a"), ("c", "a"), ("lone", "")):
        queue(world, name, parent)
    for name, in_queue, cpu in (
        ("j1", "b", 1.0),
        ("j2", "c", 2.0),
        ("j3", "a", 4.0),
        ("j4", "lone", 8.0),
        ("j5", "root", 16.0),
    ):
        holding(world, name, in_queue, cpu)
    assert cpus(world) == {"a": 7.0, "b": 1.0, "c": 2.0, "lone": 8.0, "root": 31.0}


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        (Status.BOUND, True), (Status.BINDING, True), (Status.RUNNING, True), (Status.RELEASING, False),
        (Status.SUCCEEDED, False), (Status.FAILED, False), (Status.UNKNOWN, False),
    ],
)  # fmt: skip
def test_only_pods_in_allocated_statuses_count(status: Status, counts: bool) -> None:
    world = World()
    world.node("n")
    queue(world, "q")
    holding(world, "j", "q", 1000.0, status)
    assert cpus(world) == {"q": 1000.0 if counts else 0.0}


def test_a_missing_parent_and_a_circle_end_the_walk() -> None:
    world = World()
    world.node("n")
    for name, parent in (("orphan", "nowhere"), ("a", "b"), ("b", "a"), ("self", "self")):
        queue(world, name, parent)
    for name in ("orphan", "a", "self"):
        holding(world, f"j-{name}", name, 1.0)
    assert cpus(world) == {"orphan": 1.0, "a": 1.0, "b": 1.0, "self": 1.0}


def test_a_queue_that_is_only_named_has_no_level_and_cpu_and_memory_are_always_there() -> None:
    world = World()
    world.node("n", memory=GIB)
    queue(world, "q")
    world.gang("j", [("w", 1, shape())], queue="q")
    world.cluster.queue("named")
    found = levels(world.cluster)
    assert [(level.queue.name, level.amounts) for level in found] == [("q", {"cpu": 0.0, "memory": 0.0})]


def test_other_resources_are_there_when_something_holds_them() -> None:
    world = World()
    world.node("n")
    queue(world, "q")
    holding(world, "j", "q", 1000.0)
    assert levels(world.cluster)[0].amounts == {"cpu": 1000.0, "memory": 0.0, "pods": 1.0, "nvidia.com/gpu": 1000.0}
