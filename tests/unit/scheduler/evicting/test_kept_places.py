"""Places that were cleared for pods: what is kept beside resources, and that nobody clears more while victims leave."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Affinity, Container, ContainerPort, Pod, PodAffinityTerm, PodAntiAffinity
from generated.meta.v1 import LabelSelector, ObjectMeta
from scheduler.contract.decisions import Evict
from scheduler.cycle import Result
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World, binds, require, shape
from tests.unit.scheduler.evictions import configured, evicted, nominated, reasons, run, victim_job

HOST = "kubernetes.io/hostname"


def with_port(cpu: float = 1.0, **spec: Any) -> Shape:
    """A pod that wants port 80 of its node."""
    ports = (ContainerPort(container_port=80, host_port=80),)
    return shape(cpu * 1000.0, 0.0, containers=(Container(name="main", image="busybox", ports=ports),), **spec)


def alone(cpu: float = 1.0) -> Shape:
    """A pod that suffers no pod labelled `app: web` on its node."""
    term = PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "web"}), topology_key=HOST)
    apart = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
    return shape(cpu * 1000.0, 0.0, affinity=Affinity(pod_anti_affinity=apart))


def add(
    world: World, job: str, each: Shape, *, priority: int = 0, count: int = 1, labels: dict[str, str] | None = None
) -> None:
    """A pending gang whose pods have labels."""
    world.gang(job, [], minimum=count, priority=priority)
    for ordinal in range(count):
        pod = Pod(metadata=ObjectMeta(name=f"{job}-w-{ordinal}", namespace="ns", labels=labels or {}), spec=each.spec)
        name = f"{job}-w-{ordinal}"
        world.cluster.add_task(
            Task(uid=f"uid-{name}", namespace="ns", name=name, job=f"ns/{job}", shape=each, role="w", pod=pod)
        )


def leave(world: World, result: Result) -> list[Task]:
    """The victims of a cycle are being deleted, but still there."""
    victims = [decision.task for decision in result.decisions if isinstance(decision, Evict)]
    for victim in victims:
        node = victim.node
        world.cluster.remove_task(victim.uid)
        victim.status = Status.RELEASING
        world.cluster.add_task(victim, node.name if node else "")
    return victims


def die(world: World, victims: list[Task]) -> None:
    for victim in victims:
        world.cluster.remove_task(victim.uid)


def full(each: Shape, nodes: int = 1) -> World:
    """Nodes with one pod of a job that may be evicted, and much room beside it."""
    world = World()
    for number in range(nodes):
        world.node(f"n{number}", labels={HOST: f"n{number}"})
    victim_job(world, "low", {f"n{number}": 1 for number in range(nodes)}, each=each)
    return world


def test_a_host_port_that_was_cleared_is_kept_for_whom_it_was_cleared() -> None:
    world = full(with_port())
    world.gang("high", [("w", 1, with_port())], priority=10)
    memory = configured("preempt", world=world)
    first = run(world, memory)
    assert (evicted(first), nominated(first)) == (["low-w-0"], {"high-w-0": "n0"})
    die(world, leave(world, first))
    world.gang("thief", [("w", 1, with_port())], priority=100)
    second = run(world, memory)
    assert binds(second) == [("high-w-0", "n0")]
    assert evicted(second) == []


def test_a_pod_that_others_may_not_stand_beside_is_looked_out_for_before_it_is_there() -> None:
    world = full(shape(4000.0, 0.0))
    add(world, "high", alone(2.0), priority=10)
    memory = configured("preempt", world=world)
    first = run(world, memory)
    assert nominated(first) == {"high-w-0": "n0"}
    die(world, leave(world, first))
    add(world, "web", shape(1000.0, 0.0), priority=100, labels={"app": "web"})
    assert binds(run(world, memory)) == [("high-w-0", "n0")]


def test_what_is_kept_leaves_no_trace_in_the_tallies() -> None:
    world = full(with_port(), nodes=2)
    world.gang("high", [("w", 1, with_port(node_selector={HOST: "n0"}))], priority=10)
    memory = configured("preempt", world=world)
    victims = leave(world, run(world, memory))
    for _ in range(3):
        run(world, memory)
    die(world, victims)
    world.cluster.remove_task("uid-high-w-0")
    world.gang("next", [("w", 1, with_port())])
    assert binds(run(world, memory)) == [("next-w-0", "n0")]


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_while_victims_leave_no_others_are_evicted_for_the_same_pod(action: str) -> None:
    """A host port stays taken until its pod is gone, whatever the accounts of resources say."""
    world = full(with_port(), nodes=3)
    queue = "own" if action.endswith("reclaim") else "default"
    world.gang("high", [("w", 1, with_port())], priority=10, queue=queue)
    memory = configured(action, world=world)
    first = run(world, memory)
    assert (len(evicted(first)), reasons(first)) == (1, {action})
    victims = leave(world, first)
    for _ in range(3):
        later = run(world, memory)
        assert (evicted(later), later.outcome.lapses) == ([], ())
    die(world, victims)
    ((pod, node),) = binds(run(world, memory))
    assert (pod, node) == ("high-w-0", next(iter(nominated(first).values())))


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_where_no_eviction_could_help_any_more_others_are_evicted(action: str) -> None:
    world = full(with_port(), nodes=2)
    queue = "own" if action.endswith("reclaim") else "default"
    world.gang("high", [("w", 1, with_port(affinity=require("disk", "ssd")))], priority=10, queue=queue)
    for name in ("n0", "n1"):
        world.node(name, labels={HOST: name, "disk": "ssd"})
    memory = configured(action, world=world)
    first = run(world, memory)
    (node,) = nominated(first).values()
    leave(world, first)
    world.node(node, labels={HOST: node, "disk": "hdd"})
    later = [evicted(run(world, memory)) for _ in range(2)]
    assert [len(victims) for victims in later if victims] == [1]


def test_the_pods_for_which_room_was_made_come_before_their_equals() -> None:
    """Otherwise another of the role would be tried in vain, the role be passed over and the room be given up."""
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4})
    world.gang("high", [("w", 2, shape(4000.0, 0.0))], minimum=1, priority=10)
    world.cluster.remove_task("uid-high-w-0")
    memory = configured("preempt", world=world)
    first = run(world, memory)
    assert nominated(first) == {"high-w-1": "n0"}
    die(world, leave(world, first))
    huge = Task(uid="uid-high-w-0", namespace="ns", name="high-w-0", job="ns/high", shape=shape(5000.0, 0.0), role="w")
    world.cluster.add_task(huge)
    second = run(world, memory)
    assert (binds(second), second.outcome.lapses) == ([("high-w-1", "n0")], ())
