"""
Placing gangs with a hard network topology, without a server.

    python -m benchmarks.topology [--nodes 1000] [--pods 256] [--case fresh|crowded|wide]

A tree of 3 tiers over the nodes (racks of 16, rows of 8 racks, halls of 4 rows), one gang with a hard limit, plugins
priority, gang, predicates, nodeorder, binpack, network-topology-aware. `fresh`: all nodes are empty, a row is needed;
`crowded`: pods stand everywhere at random and most domains are too full; `wide`: only a hall is large enough.
Milliseconds of CPU time for the whole cycle in which the gang came, from opening the session to the last commit (the
nodes were there a cycle before); the chosen hypernode is
compared with that of a search that knows nothing of arrays. A calibration figure stands beside.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass

from benchmarks.calibration import conditions
from benchmarks.kernel import GIB
from generated.core.v1 import Container, PodSpec
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup, PodGroupSpec
from generated.scheduling.v1beta1 import Queue as QueueObject
from generated.topology.v1alpha1 import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    MemberSelector,
    MemberSpec,
)
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}, {name: network-topology-aware}]
"""
RACK, ROW, HALL = 16, 8, 4
SLOTS = 8
"""Pods of the gang that an empty node takes."""


@dataclass(frozen=True)
class Case:
    """One situation: how much of the nodes is taken at random, and the tier that the gang may not exceed."""

    taken: float
    tier: int
    pods_a_node: int = SLOTS


CASES = {
    "fresh": Case(0.0, 2),
    "crowded": Case(0.8, 3),
    "wide": Case(0.0, 3, pods_a_node=1),
}


@dataclass(frozen=True)
class Built:
    """A cluster and the plain facts that it was made from."""

    cluster: Cluster
    room: list[int]
    """Free slots by node."""
    domains: list[tuple[str, int, list[int]]]
    """Name, tier and nodes of each hypernode."""


def build(nodes: int, case: Case, seed: int = 1) -> Built:
    """The cluster of a case."""
    rng = random.Random(seed)
    cluster = Cluster()
    shape = _shape()
    room = []
    for number in range(nodes):
        name = f"node-{number:05d}"
        node = NodeObject(metadata=ObjectMeta(name=name))
        size = case.pods_a_node
        cluster.set_node(node, {"cpu": size * 1000.0, "memory": size * 4.0 * GIB, "pods": 110.0})
        taken = sum(rng.random() < case.taken for _ in range(size))
        room.append(size - taken)
        for place in range(taken):
            old = Task(uid=f"{name}-{place}", namespace="o", name=f"{name}-{place}", job="", shape=shape,
                       status=Status.RUNNING)  # fmt: skip
            cluster.add_task(old, name)
    domains = _grow(cluster, nodes)
    queue = cluster.queue("default")
    queue.object = QueueObject(metadata=ObjectMeta(name="default"))
    return Built(cluster, room, domains)


def submit(cluster: Cluster, pods: int, case: Case) -> None:
    """The gang comes."""
    shape = _shape()
    job = cluster.job("ns/gang")
    topology = NetworkTopologySpec(mode="hard", highest_tier_allowed=case.tier)
    spec = PodGroupSpec(min_member=pods, network_topology=topology)
    job.pod_group = PodGroup(metadata=ObjectMeta(name="gang", namespace="ns"), spec=spec)
    job.min_available, job.uid = pods, "gang"
    cluster.set_job_queue(job, "default")
    for ordinal in range(pods):
        pod = f"gang-w-{ordinal}"
        cluster.add_task(Task(uid=pod, namespace="ns", name=pod, job=job.id, shape=shape, role="w"))


def _shape() -> Shape:
    cpu, memory = 1000.0, 2.0 * GIB
    request = Request({"cpu": cpu, "memory": memory, "pods": 1.0}, (cpu, memory))
    return Shape(PodSpec(containers=(Container(name="main", image="image"),)), request)


def _grow(cluster: Cluster, nodes: int) -> list[tuple[str, int, list[int]]]:
    domains: list[tuple[str, int, list[int]]] = []
    width, below = 1, [f"node-{number:05d}" for number in range(nodes)]
    for tier, size in enumerate((RACK, ROW, HALL), start=1):
        width *= size
        names = []
        for first in range(0, len(below), size):
            name = f"tier{tier}-{first // size:04d}"
            kind = "Node" if tier == 1 else "HyperNode"
            members = tuple(
                MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member)))
                for member in below[first : first + size]
            )
            spec = HyperNodeSpec(tier=tier, members=members)
            cluster.hypernodes.set(HyperNode(metadata=ObjectMeta(name=name), spec=spec))
            start = first // size * width
            domains.append((name, tier, list(range(start, min(start + width, nodes)))))
            names.append(name)
        below = names
    return domains


def exhaustive(built: Built, pods: int, case: Case) -> str:
    """
    The hypernode that every possible trial shows to be the best, node by node.

    The lowest tier that holds the gang; in it the fullest hypernode afterwards, ties by name.
    """
    for tier in range(1, case.tier + 1):
        fitting = []
        for name, its_tier, members in built.domains:
            room = sum(built.room[member] for member in members)
            if its_tier == tier and room >= pods:
                total = len(members) * case.pods_a_node
                used = total - room + pods
                # Memory is offered at twice the gang's ratio to cpu, so its share is half of that of cpu.
                fitting.append((-(used / total + used / (2 * total)) / 2, name))
        if fitting:
            return min(fitting)[1]
    return ""


def measure(nodes: int, pods: int, case: Case) -> tuple[float, str, str]:
    """(CPU milliseconds, chosen hypernode, the exhaustive search's)."""
    built = build(nodes, case)
    cluster = built.cluster
    memory = Memory(cluster, conf.parse(CONFIGURATION, actions=ACTIONS, plugins=PLUGINS), PLUGINS)
    run_cycle(cluster, memory, ACTIONS, uid="before", now=0.0)
    submit(cluster, pods, case)
    start = time.process_time()
    result = run_cycle(cluster, memory, ACTIONS, uid="session", now=0.0)
    took = (time.process_time() - start) * 1e3
    grouping = cluster.jobs["ns/gang"].grouping
    chosen = grouping.allocated if grouping is not None and len(result.decisions) == pods else ""
    return took, chosen, exhaustive(built, pods, case)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=256)
    parser.add_argument("--tries", type=int, default=3)
    options = parser.parse_args()
    print(conditions())
    for name in options.case or CASES:
        tries = [measure(options.nodes, options.pods, CASES[name]) for _ in range(options.tries)]
        took, chosen, expected = min(tries)
        verdict = "as the exhaustive search" if chosen == expected else f"the exhaustive search says {expected!r}"
        label = f"{name}:"
        print(f"{label:13} {took:.1f} ms, gang of {options.pods} in {chosen!r}, {verdict} (to reach 300, beyond 50)")


if __name__ == "__main__":
    main()
