"""
Jobs that wait, beside many nodes: what they cost a cycle in which one node changed.

    python -m benchmarks.hopeless [--nodes 10000] [--jobs 1000] [--pods 4] [--kinds 20]

The chart's default configuration. One label of one node changes before each cycle; CPU time of the process counts. The
jobs wait for one of five reasons:

    too large   each pod asks for more than any node has
    full        all cpu is taken by pods of their queue
    some room   one node is free, which takes one to three pods of each gang of four
    capability  their queue holds all that it may
    outside     they name `minResources` that the queue has no room for, and are not let in
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.calibration import conditions
from benchmarks.kernel import CHART, GIB
from generated.core.v1 import Container, PodSpec
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, QueueSpec
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

_NODE_CPU = 32_000.0
_OFFERED = {"cpu": _NODE_CPU, "memory": 128.0 * GIB, "pods": 110.0}
_HELD = 100
"""Pods of 1 cpu that a queue with a capability holds."""


@dataclass(frozen=True)
class Reason:
    """Why the jobs of a cluster wait."""

    name: str
    cpu: float
    """Millicores of the smallest kind of pod."""
    free: int | None = None
    """Nodes that nobody holds, where others are full; None where all are free."""
    capability: Mapping[str, str] | None = None
    minimum: Mapping[str, str] | None = None


REASONS = (
    Reason("too large", 2 * _NODE_CPU),
    Reason("full", 1000.0, free=0),
    Reason("some room", 9000.0, free=1),
    Reason("capability", 1000.0, capability={"cpu": str(_HELD)}),
    Reason("outside", 1000.0, capability={"cpu": str(_HELD)}, minimum={"cpu": "8", "memory": "4Gi"}),
)


def build(reason: Reason, nodes: int, jobs: int, pods: int, kinds: int) -> Cluster:
    """A cluster with jobs whose pods of so many kinds wait for that reason."""
    cluster = Cluster()
    for number in range(nodes):
        touch(cluster, number, 0)
    queue = cluster.queue("default")
    queue.object = QueueObject(metadata=ObjectMeta(name="default"), spec=QueueSpec(capability=_raw(reason.capability)))
    _fill(cluster, reason, nodes)
    shapes = [_shape(kind, reason.cpu + 1000.0 * kind) for kind in range(kinds)]
    for number in range(jobs):
        name = f"job-{number:04d}"
        job = cluster.job(f"ns/{name}")
        group = PodGroupSpec(min_member=pods, min_resources=_raw(reason.minimum))
        job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"), spec=group)
        job.min_available, job.created, job.uid = pods, float(number), name
        cluster.set_job_queue(job, "default")
        for ordinal in range(pods):
            pod = f"{name}-w-{ordinal}"
            cluster.add_task(
                Task(uid=pod, namespace="ns", name=pod, job=job.id, shape=shapes[number % kinds], role="w")
            )
    return cluster


def _raw(amounts: Mapping[str, str] | None) -> dict[str, int | float | str] | None:
    return dict[str, "int | float | str"](amounts) if amounts is not None else None


def _fill(cluster: Cluster, reason: Reason, nodes: int) -> None:
    """Let a job of the queue run that takes all cpu of the nodes, or what the queue may have."""
    count, cpu = (
        (_HELD if reason.capability else 0, 1000.0) if reason.free is None else (nodes - reason.free, _NODE_CPU)
    )
    if not count:
        return
    job = cluster.job("ns/running")
    job.pod_group = PodGroup(metadata=ObjectMeta(name="running", namespace="ns"))
    job.min_available, job.created, job.uid, job.phase = 1, -1.0, "running", "Running"
    cluster.set_job_queue(job, "default")
    shape = _shape(0, cpu)
    for number in range(count):
        task = Task(
            uid=f"running-{number}", namespace="ns", name=f"running-{number}", job=job.id, shape=shape, role="w",
            status=Status.RUNNING,
        )  # fmt: skip
        cluster.add_task(task, f"node-{number:05d}")


def touch(cluster: Cluster, number: int, generation: int) -> None:
    """Give a node another label value."""
    labels = {"rack": f"r{number % 20}", "generation": str(generation)}
    node = NodeObject(metadata=ObjectMeta(name=f"node-{number:05d}", labels=labels))
    cluster.set_node(node, _OFFERED)


def _shape(kind: int, cpu: float) -> Shape:
    memory = GIB
    spec = PodSpec(containers=(Container(name="main", image=f"image-{kind}"),))
    return Shape(spec, Request({"cpu": cpu, "memory": memory, "pods": 1.0}, (cpu, memory)))


def measure(cluster: Cluster, memory: Memory, cycles: int) -> list[float]:
    """CPU seconds of cycles, before each of which one node changed."""
    run_cycle(cluster, memory, ACTIONS, uid="first", now=0.0)
    seconds = []
    for number in range(cycles):
        touch(cluster, number, number + 1)
        start = time.process_time()
        result = run_cycle(cluster, memory, ACTIONS, uid=str(number), now=0.0)
        seconds.append(time.process_time() - start)
        if result.decisions:
            raise RuntimeError("a job that nothing is free for was placed")
    return seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=4)
    parser.add_argument("--kinds", type=int, default=20, help="kinds of pods that the jobs share")
    parser.add_argument("--cycles", type=int, default=10)
    options = parser.parse_args()
    print(conditions())
    print(f"{options.nodes:,} nodes and {options.jobs:,} jobs that wait, milliseconds a cycle (to reach 50, beyond 5)")
    for reason in REASONS:
        cluster = build(reason, options.nodes, options.jobs, options.pods, options.kinds)
        memory = Memory(cluster, conf.parse(CHART, actions=ACTIONS, plugins=PLUGINS), PLUGINS)
        print(f"{reason.name + ':':13} {np.median(measure(cluster, memory, options.cycles)) * 1e3:.1f}")


if __name__ == "__main__":
    main()
