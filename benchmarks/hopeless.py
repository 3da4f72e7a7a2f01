"""
Jobs that can never fit, beside many nodes: what they cost a cycle in which one node changed.

    python -m benchmarks.hopeless [--nodes 10000] [--jobs 1000] [--pods 4] [--kinds 20]

The chart's default configuration. Each pod asks for more than any node has; one label of one node changes before each
cycle. CPU time of the process counts.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.calibration import conditions
from benchmarks.kernel import CHART, GIB
from generated.core.v1 import Container, PodSpec
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.task import Shape, Task

_OFFERED = {"cpu": 32_000.0, "memory": 128.0 * GIB, "pods": 110.0}


def build(nodes: int, jobs: int, pods: int, kinds: int) -> Cluster:
    """A cluster with jobs whose pods of so many kinds are too large for every node."""
    cluster = Cluster()
    for number in range(nodes):
        touch(cluster, number, 0)
    queue = cluster.queue("default")
    queue.object = QueueObject(metadata=ObjectMeta(name="default"))
    shapes = [_shape(kind) for kind in range(kinds)]
    for number in range(jobs):
        name = f"job-{number:04d}"
        job = cluster.job(f"ns/{name}")
        job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"))
        job.min_available, job.created, job.uid = pods, float(number), name
        cluster.set_job_queue(job, "default")
        for ordinal in range(pods):
            pod = f"{name}-w-{ordinal}"
            cluster.add_task(
                Task(uid=pod, namespace="ns", name=pod, job=job.id, shape=shapes[number % kinds], role="w")
            )
    return cluster


def touch(cluster: Cluster, number: int, generation: int) -> None:
    """Give a node another label value."""
    labels = {"rack": f"r{number % 20}", "generation": str(generation)}
    node = NodeObject(metadata=ObjectMeta(name=f"node-{number:05d}", labels=labels))
    cluster.set_node(node, _OFFERED)


def _shape(kind: int) -> Shape:
    cpu, memory = 64_000.0 + 1000.0 * kind, GIB
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
            raise RuntimeError("a job that is too large for every node was placed")
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
    cluster = build(options.nodes, options.jobs, options.pods, options.kinds)
    memory = Memory(cluster, conf.parse(CHART, actions=ACTIONS, plugins=PLUGINS), PLUGINS)
    seconds = measure(cluster, memory, options.cycles)
    print(
        f"hopeless:     {np.median(seconds) * 1e3:.1f} ms a cycle beside {options.nodes:,} nodes and {options.jobs:,} jobs"
        " (to reach 50, beyond 5)"
    )


if __name__ == "__main__":
    main()
