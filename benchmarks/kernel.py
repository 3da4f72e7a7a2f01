"""
The scheduling kernel without a server: placements a second, from opening the session to the last commit.

    python -m benchmarks.kernel [--case gangs|interleaved|growth|idle] [--chart] [--nodes 10000] [--jobs 500] [--pods 200]

10,000 nodes of 3 sizes, 90 % of them selectable, gangs of 20 templates, half of these with a preferred node affinity,
five plugins (priority, gang, predicates, nodeorder, binpack; `--chart`: all of the chart's default), decisions into a list, one core, the garbage collector
on. CPU time of the process counts, so that neighbours on the machine matter less; a calibration figure stands beside.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.calibration import conditions
from generated.core.v1 import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup
from generated.scheduling.v1beta1 import Queue as QueueObject
from runtime import garbage
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

GIB = 2**30
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]
"""
CHART = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
"""
"""What the chart installs."""


@dataclass(frozen=True)
class Load:
    """Sizes of a case."""

    nodes: int = 10_000
    jobs: int = 500
    pods: int = 200
    templates: int = 20
    minimum: int = 0
    """minMember; 0 is all pods."""
    chart: bool = False
    """Whether the chart's configuration is measured instead of the five plugins."""
    running: int = 0
    """Pods a node that are there before, of nobody's."""


def build(load: Load, seed: int = 1) -> Cluster:
    """A cluster with its pending gangs."""
    rng = random.Random(seed)
    cluster = Cluster()
    for number in range(load.nodes):
        size = rng.choice([32, 64, 96])
        labels = {"rack": f"r{number % 20}"} | ({"pool": "batch"} if rng.random() < 0.9 else {})
        node = NodeObject(metadata=ObjectMeta(name=f"node-{number:05d}", labels=labels))
        cluster.set_node(node, {"cpu": size * 1000.0, "memory": size * 4.0 * GIB, "pods": 110.0})
    queue = cluster.queue("default")
    queue.object = QueueObject(metadata=ObjectMeta(name="default"))
    shapes = [_shape(number, rng) for number in range(load.templates)]
    filler = Shape(PodSpec(), Request({"cpu": 100.0, "memory": 0.25 * GIB, "pods": 1.0}, (100.0, 0.25 * GIB)))
    for number in range(load.nodes * load.running):
        node_name = f"node-{number % load.nodes:05d}"
        cluster.add_task(
            Task(
                uid=f"old-{number}", namespace="old", name=f"old-{number}", job="", shape=filler, status=Status.RUNNING
            ),
            node_name,
        )
    for number in range(load.jobs):
        name = f"job-{number:04d}"
        job = cluster.job(f"ns/{name}")
        job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"))
        job.min_available, job.created, job.uid = load.minimum or load.pods, float(number), name
        cluster.set_job_queue(job, "default")
        for ordinal in range(load.pods):
            pod = f"{name}-w-{ordinal}"
            shape = shapes[number % load.templates]
            cluster.add_task(Task(uid=pod, namespace="ns", name=pod, job=job.id, shape=shape, role="w"))
    return cluster


def _shape(number: int, rng: random.Random) -> Shape:
    affinity = None
    if number % 2:
        rack = NodeSelectorRequirement(key="rack", operator="In", values=(f"r{number}",))
        term = PreferredSchedulingTerm(weight=10, preference=NodeSelectorTerm(match_expressions=(rack,)))
        affinity = Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=(term,)))
    cpu, memory = rng.choice([1000.0, 2000.0, 4000.0, 8000.0]), rng.choice([1.0, 2.0, 4.0]) * GIB
    spec = PodSpec(
        node_selector={"pool": "batch"},
        affinity=affinity,
        containers=(Container(name="main", image=f"image-{number}"),),
    )
    return Shape(spec, Request({"cpu": cpu, "memory": memory, "pods": 1.0}, (cpu, memory)))


def measure(load: Load) -> tuple[int, float]:
    """(decisions, CPU seconds) of one cycle over a fresh cluster."""
    cluster = build(load)
    memory = _memory(cluster, load)
    start = time.process_time()
    result = run_cycle(cluster, memory, ACTIONS, uid="session", now=0.0)
    return len(result.decisions), time.process_time() - start


def _memory(cluster: Cluster, load: Load) -> Memory:
    text = CHART if load.chart else CONFIGURATION
    return Memory(cluster, conf.parse(text, actions=ACTIONS, plugins=PLUGINS), PLUGINS)


def best(load: Load, tries: int = 3) -> tuple[int, float]:
    """The fastest of some tries."""
    return min((measure(load) for _ in range(tries)), key=lambda found: found[1])


def gangs(load: Load) -> None:
    """MinMember = all pods."""
    count, seconds = best(load)
    print(f"gangs:        {count} binds, {count / seconds:,.0f} a second of CPU (to reach 50,000, beyond 200,000)")


def interleaved(load: Load) -> None:
    """MinMember 1."""
    count, seconds = best(replace(load, minimum=1))
    print(f"interleaved:  {count} binds, {count / seconds:,.0f} a second of CPU (to reach 20,000, beyond 50,000)")


def growth(load: Load) -> None:
    """Ten times the nodes, then ten times the pods as well."""
    small, wide, full = (
        best(Load(nodes, jobs, chart=load.chart))[1] for nodes, jobs in ((1_000, 50), (10_000, 50), (10_000, 500))
    )
    print(
        f"growth:       nodes x10: {wide / small:.1f} x the time (to reach 4), pods x10: {full / wide:.1f} (to reach 11)"
    )


def idle(load: Load) -> None:
    """A cycle in which nothing changed."""
    cluster = build(replace(load, jobs=0, pods=0, running=10))
    memory = _memory(cluster, load)
    run_cycle(cluster, memory, ACTIONS, uid="first", now=0.0)
    times = []
    for number in range(20):
        start = time.process_time()
        result = run_cycle(cluster, memory, ACTIONS, uid=str(number), now=0.0)
        times.append(time.process_time() - start)
        assert not result.decisions
        assert not result.outcome.jobs
    print(f"idle:         {np.median(times) * 1e3:.2f} ms a cycle beside {load.nodes * 10:,} running pods (to reach 2)")


CASES = {"gangs": gangs, "interleaved": interleaved, "growth": growth, "idle": idle}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--chart", action="store_true", help="measure the chart's default configuration")
    options = parser.parse_args()
    print(conditions())
    with garbage.long_lived():  # as in a scheduler's process
        for name in options.case or CASES:
            CASES[name](Load(options.nodes, options.jobs, options.pods, chart=options.chart))


if __name__ == "__main__":
    main()
