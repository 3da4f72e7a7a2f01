"""Random clusters for tests of the kernel: nodes, gangs and templates from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from generated.core.v1 import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    PodSpec,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, QueueSpec, QueueStatus
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.decisions import Bind
from scheduler.cycle import Result, run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

GIB = 2.0**30
FIVE_PLUGINS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
  - name: binpack
"""


@dataclass
class World:
    """A cluster together with what it was made from."""

    cluster: Cluster = field(default_factory=Cluster)
    shapes: list[Shape] = field(default_factory=list)

    def node(
        self, name: str, *, labels: dict[str, str] | None = None, taints: tuple[Taint, ...] = (), **amounts: Any
    ) -> None:
        """Add a node. Amounts are cpu in millicores, memory in bytes, pods; `cordoned=True` cordons it."""
        cordoned = amounts.pop("cordoned", False)
        scalars = amounts.pop("scalars", {})
        offered = {"cpu": 4000.0, "memory": 16 * GIB, "pods": 110.0} | amounts | scalars
        spec = NodeSpec(taints=taints, unschedulable=cordoned)
        self.cluster.set_node(NodeObject(metadata=ObjectMeta(name=name, labels=labels or {}), spec=spec), offered)

    def queue(
        self, name: str = "default", *, annotations: dict[str, str] | None = None, state: str = "", **spec: Any
    ) -> None:
        """Add a queue, or give it another spec."""
        queue = self.cluster.queue(name)
        queue.object = QueueObject(
            metadata=ObjectMeta(name=name, annotations=annotations or {}),
            spec=QueueSpec(**spec),
            status=QueueStatus(state=state),
        )
        queue.uid = f"uid-{name}"

    def member(
        self,
        job: str,
        name: str,
        node: str,
        shape: Shape,
        status: Status = Status.RUNNING,
        *,
        role: str = "w",
        namespace: str = "ns",
        priority: int = 1,
    ) -> Task:
        """Add a pod to a job, on a node."""
        task = Task(
            uid=f"uid-{name}", namespace=namespace, name=name, job=f"ns/{job}", shape=shape, role=role, status=status,
            priority=priority,
        )  # fmt: skip
        self.cluster.add_task(task, node)
        return task

    def gang(
        self,
        name: str,
        shapes: list[tuple[str, int, Shape]],
        *,
        minimum: int | None = None,
        queue: str = "default",
        priority: int = 0,
        phase: str = "",
        role_minimum: dict[str, int] | None = None,
        resources: Mapping[str, str] | None = None,
    ) -> None:
        """Add a job with `count` pending tasks a role; the minimum is all of them unless given."""
        job = self.cluster.job(f"ns/{name}")
        least = dict[str, int | float | str](resources) if resources is not None else None
        group_spec = PodGroupSpec(min_member=minimum or 0, min_resources=least)
        job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"), spec=group_spec)
        job.uid, job.created, job.priority, job.phase = f"uid-{name}", float(len(self.cluster.jobs)), priority, phase
        job.min_available = sum(count for _, count, _ in shapes) if minimum is None else minimum
        job.role_minimum = role_minimum or {}
        if queue not in self.cluster.queues:
            self.queue(queue)
        self.cluster.set_job_queue(job, queue)
        for role, count, shape in shapes:
            for ordinal in range(count):
                pod = f"{name}-{role}-{ordinal}"
                self.cluster.add_task(
                    Task(uid=f"uid-{pod}", namespace="ns", name=pod, job=job.id, shape=shape, role=role)
                )

    def running(self, name: str, node: str, shape: Shape, status: Status = Status.RUNNING) -> None:
        """Add a pod of nobody's that already stands on a node."""
        self.cluster.add_task(
            Task(uid=f"uid-{name}", namespace="other", name=name, job="", shape=shape, status=status), node
        )


def shape(cpu: float = 1000.0, memory: float = GIB, scalars: dict[str, float] | None = None, **spec: Any) -> Shape:
    """A pod shape. `cpu` in millicores, `memory` in bytes; 0 names none."""
    amounts = {"pods": 1.0} | ({"cpu": cpu} if cpu else {}) | ({"memory": memory} if memory else {}) | (scalars or {})
    spec.setdefault("containers", (Container(name="main", image="busybox"),))
    return Shape(PodSpec(**spec), Request(amounts, (cpu or 100.0, memory or 200.0 * 2**20)))


def prefer(weight: int, key: str, *values: str) -> Affinity:
    """A preferred node affinity with one term."""
    term = PreferredSchedulingTerm(weight=weight, preference=selecting(key, *values))
    return Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=(term,)))


def require(key: str, *values: str) -> Affinity:
    """A required node affinity with one term."""
    terms = NodeSelector(node_selector_terms=(selecting(key, *values),))
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=terms))


def selecting(key: str, *values: str) -> NodeSelectorTerm:
    """A term that wants a label to have one of some values."""
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator="In", values=values),))


def random_world(seed: int, odd: float = 0.0) -> World:
    """Up to 24 nodes of several sizes, labels and taints; up to 8 gangs of 6 templates; some pods there before. `odd` is added to each cpu request."""
    rng = random.Random(seed)
    world = World()
    for number in range(rng.randint(1, 24)):
        taints = tuple(
            Taint(key="dedicated", value="x", effect=effect)
            for effect in ("NoSchedule", "PreferNoSchedule")
            if rng.random() < 0.2
        )
        world.node(
            f"node-{number:02d}",
            labels={"zone": rng.choice("abc"), "disk": rng.choice(["ssd", "hdd"])} if rng.random() < 0.9 else {},
            taints=taints,
            cpu=rng.choice([2000.0, 4000.0, 8000.0]),
            memory=rng.choice([4, 8, 32]) * GIB,
            pods=float(rng.choice([3, 6, 110])),
            cordoned=rng.random() < 0.05,
            scalars={"nvidia.com/gpu": 4000.0} if rng.random() < 0.3 else {},
        )
    shapes = [_random_shape(rng, odd) for _ in range(6)]
    for number in range(rng.randint(0, 10)):
        status = rng.choice([Status.RUNNING, Status.BOUND, Status.RELEASING])
        world.running(f"old-{number}", f"node-{rng.randrange(24):02d}", rng.choice(shapes), status)
    for number in range(rng.randint(1, 8)):
        roles = [
            (role, rng.randint(1, 6), rng.choice(shapes)) for role in rng.sample(["a", "b", "c"], rng.randint(1, 2))
        ]
        total = sum(count for _, count, _ in roles)
        world.gang(
            f"job-{number}",
            roles,
            minimum=rng.choice([total, 1, rng.randint(0, total)]),
            queue=rng.choice(["default", "other"]),
            priority=rng.choice([0, 0, 100]),
        )
    return world


def _random_shape(rng: random.Random, odd: float) -> Shape:
    spec: dict[str, Any] = {}
    if rng.random() < 0.3:
        spec["affinity"] = prefer(rng.choice([1, 10]), "zone", rng.choice("abc"))
    elif rng.random() < 0.2:
        spec["affinity"] = require("disk", "ssd")
    if rng.random() < 0.2:
        spec["node_selector"] = {"zone": rng.choice("abc")}
    if rng.random() < 0.4:
        spec["tolerations"] = (Toleration(key="dedicated", operator="Exists"),)
    scalars = {"nvidia.com/gpu": 1000.0} if rng.random() < 0.2 else None
    return shape(rng.choice([0.0, 250.0, 1000.0, 1500.0]) + odd, rng.choice([0.0, 0.5, 1, 3]) * GIB, scalars, **spec)


def memory_of(cluster: Cluster, text: str = FIVE_PLUGINS, plugins: dict[str, Any] | None = None) -> Memory:
    """A memory for a configuration."""
    known = PLUGINS | (plugins or {})
    return Memory(cluster, conf.parse(text, actions=ACTIONS, plugins=known), known)


def cycle(world: World, memory: Memory | None = None, uid: str = "session-1") -> Result:
    """Run one cycle."""
    return run_cycle(world.cluster, memory or memory_of(world.cluster), ACTIONS, uid=uid, now=1000.0)


def binds(result: Result) -> list[tuple[str, str]]:
    """(pod, node) of every bind, in order."""
    return [(decision.task.name, decision.node) for decision in result.decisions if isinstance(decision, Bind)]
