"""Random clusters whose pods look at each other: host ports, inter-pod affinity, topology spread."""

from __future__ import annotations

import random
from typing import Any

from generated.core.v1 import (
    Affinity,
    Container,
    ContainerPort,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from generated.meta.v1 import LabelSelector, LabelSelectorRequirement, ObjectMeta
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import GIB, World, prefer, require, shape

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
APPS = ("red", "blue")


def selector(rng: random.Random) -> LabelSelector | None:
    """Mostly one that some pods of `sociable_world` match."""
    kind = rng.random()
    if kind < 0.05:
        return None
    if kind < 0.1:
        return LabelSelector()
    if kind < 0.2:
        want = LabelSelectorRequirement(key="tier", operator=rng.choice(["Exists", "DoesNotExist"]))
        return LabelSelector(match_expressions=(want,))
    if kind < 0.3:
        want = LabelSelectorRequirement(key="app", operator=rng.choice(["In", "NotIn"]), values=(rng.choice(APPS),))
        return LabelSelector(match_expressions=(want,))
    return LabelSelector(match_labels={"app": rng.choice(APPS)})


def term(rng: random.Random, keys: tuple[str, ...] = (ZONE, HOST, RACK)) -> PodAffinityTerm:
    """An affinity term, sometimes about other namespaces."""
    scope: dict[str, Any] = {}
    if rng.random() < 0.2:
        scope["namespaces"] = ("other",)
    elif rng.random() < 0.2:
        scope["namespace_selector"] = LabelSelector(match_labels={"team": "a"} if rng.random() < 0.5 else {})
    return PodAffinityTerm(label_selector=selector(rng), topology_key=rng.choice(keys), **scope)


def wishes(rng: random.Random) -> tuple[WeightedPodAffinityTerm, ...]:
    """One or two weighted terms."""
    return tuple(
        WeightedPodAffinityTerm(weight=rng.choice([1, 50, 100]), pod_affinity_term=term(rng))
        for _ in range(rng.randint(1, 2))
    )


def affinity(rng: random.Random) -> Affinity | None:
    """Terms of one or several kinds."""
    near: dict[str, Any] = {}
    far: dict[str, Any] = {}
    if rng.random() < 0.25:
        near["required_during_scheduling_ignored_during_execution"] = (term(rng),)
    if rng.random() < 0.3:
        near["preferred_during_scheduling_ignored_during_execution"] = wishes(rng)
    if rng.random() < 0.35:
        far["required_during_scheduling_ignored_during_execution"] = (term(rng),)
    if rng.random() < 0.3:
        far["preferred_during_scheduling_ignored_during_execution"] = wishes(rng)
    base = prefer(5, RACK, "r1") if rng.random() < 0.2 else require(RACK, "r0", "r1") if rng.random() < 0.2 else None
    if not near and not far:
        return base
    return Affinity(
        node_affinity=base.node_affinity if base else None,
        pod_affinity=PodAffinity(**near) if near else None,
        pod_anti_affinity=PodAntiAffinity(**far) if far else None,
    )


def spread(rng: random.Random) -> tuple[TopologySpreadConstraint, ...]:
    """Up to two constraints with all their options."""
    return tuple(
        TopologySpreadConstraint(
            topology_key=key,
            max_skew=rng.choice([1, 1, 2, 3]),
            min_domains=rng.choice([None, None, 2, 5]),
            when_unsatisfiable=rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
            label_selector=selector(rng),
            match_label_keys=("tier",) if rng.random() < 0.2 else (),
            node_affinity_policy=rng.choice([None, None, "Ignore"]),
            node_taints_policy=rng.choice([None, None, "Honor"]),
        )
        for key in rng.sample([ZONE, HOST, RACK], rng.randint(1, 2))
    )


def sociable_shape(rng: random.Random) -> Shape:
    """A pod with some of it."""
    spec: dict[str, Any] = {"affinity": affinity(rng) if rng.random() < 0.6 else None}
    if rng.random() < 0.5:
        spec["topology_spread_constraints"] = spread(rng)
    if rng.random() < 0.15:
        port = ContainerPort(container_port=80, host_port=rng.choice([80, 81]), host_ip=rng.choice(["", "10.0.0.1"]))
        spec["containers"] = (Container(name="main", image="busybox", ports=(port,)),)
    if rng.random() < 0.3:
        spec["tolerations"] = (Toleration(key="dedicated", operator="Exists"),)
    return shape(rng.choice([0.0, 250.0, 1000.0]), rng.choice([0.5, 1, 3]) * GIB, **spec)


def pod_task(name: str, namespace: str, labels: dict[str, str], wanted: Shape, **more: Any) -> Task:
    """A task with labels."""
    pod = Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), spec=wanted.spec)
    return Task(uid=f"uid-{name}", namespace=namespace, name=name, shape=wanted, pod=pod, **more)


def sociable_gang(
    world: World, name: str, roles: list[tuple[str, int, Shape]], labels: dict[str, str], **more: Any
) -> None:
    """Add a job whose pods have labels; each has one more of its own."""
    more.setdefault("minimum", sum(count for _, count, _ in roles))
    world.gang(name, [], **more)
    for role, count, wanted in roles:
        for ordinal in range(count):
            pod = f"{name}-{role}-{ordinal}"
            world.cluster.add_task(pod_task(pod, "ns", labels | {"pod": pod}, wanted, job=f"ns/{name}", role=role))


def random_labels(rng: random.Random) -> dict[str, str]:
    """Those that `selector` looks at, and one of the pod's own."""
    labels = {"own": str(rng.random())}
    if rng.random() < 0.9:
        labels["app"] = rng.choice(APPS)
    if rng.random() < 0.5:
        labels["tier"] = rng.choice(["front", "back"])
    return labels


def sociable_world(seed: int) -> World:
    """Up to 20 nodes in zones and racks, pods that stand there, and gangs that look at them and at each other."""
    rng = random.Random(seed)
    world = World()
    world.cluster.sight.set_namespace("ns", {"team": "a"})
    world.cluster.sight.set_namespace("other", {"team": rng.choice("ab")})
    nodes = rng.randint(1, 20)
    for number in range(nodes):
        labels = {HOST: f"host-{number:02d}"} if rng.random() < 0.95 else {}
        labels |= {ZONE: rng.choice("abc")} if rng.random() < 0.9 else {}
        labels |= {RACK: f"r{rng.randint(0, 3)}"} if rng.random() < 0.8 else {}
        tainted = rng.random() < 0.15
        world.node(
            f"node-{number:02d}", labels=labels, cpu=rng.choice([2000.0, 4000.0]), memory=rng.choice([8, 16]) * GIB,
            taints=(Taint(key="dedicated", effect=rng.choice(["NoSchedule", "PreferNoSchedule"])),) if tainted else (),
        )  # fmt: skip
    shapes = [sociable_shape(rng) for _ in range(5)]
    for number in range(rng.randint(0, 12)):
        status = rng.choice([Status.RUNNING, Status.BOUND, Status.RELEASING])
        task = pod_task(
            f"old-{number}", rng.choice(["ns", "other"]), random_labels(rng), rng.choice(shapes), job="", status=status
        )
        world.cluster.add_task(task, f"node-{rng.randrange(20):02d}")
    for number in range(rng.randint(1, 5)):
        roles = [("w", rng.randint(1, 9), rng.choice(shapes)), ("x", rng.randint(0, 3), rng.choice(shapes))]
        total = sum(count for _, count, _ in roles)
        labels = random_labels(rng)
        minimum = rng.choice([total, 1, rng.randint(0, total)])
        sociable_gang(world, f"job-{number}", roles, labels, minimum=minimum, priority=rng.choice([0, 0, 100]))
    return world
