"""
The scheduling kernel without a server, where half of the templates look at other pods: placements a second.

    python -m benchmarks.affinity [--nodes 10000] [--jobs 500] [--pods 200]

As `benchmarks.kernel`, gangs, on nodes of three zones. Each second job keeps its pods on different hosts (required
anti-affinity to themselves) and spreads them over the zones, every other one of these with DoNotSchedule and the
rest with ScheduleAnyway; two running pods a node stand there before, half of them with an anti-affinity of their own.
CPU time of the process counts; a calibration figure stands beside.
"""

from __future__ import annotations

import argparse
import time

from msgspec.structs import replace

from benchmarks.calibration import conditions
from benchmarks.kernel import CONFIGURATION, GIB, Load, build
from generated.core.v1 import (
    Affinity,
    Pod,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    TopologySpreadConstraint,
)
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import LabelSelector, ObjectMeta
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APP = "app"
ZONES = 3


def sociable(load: Load) -> Cluster:
    """The cluster of the kernel's benchmark, with zones, older pods, and half of its templates made to look around."""
    plain = build(load)
    cluster = Cluster()
    for number, node in enumerate(plain.node_by_name.values()):
        assert node.object is not None
        labels = node.object.metadata.labels | {HOST: node.name, ZONE: f"zone-{number % ZONES}"}
        cluster.set_node(NodeObject(metadata=ObjectMeta(name=node.name, labels=labels)), node.allocatable)
    _add_older_pods(cluster)
    cluster.queue("default").object = plain.queue("default").object
    shapes: dict[str, Shape] = {}
    for number, job in enumerate(plain.jobs.values()):
        known = cluster.job(job.id)
        known.pod_group, known.uid, known.created = job.pod_group, job.uid, job.created
        known.min_available = job.min_available
        cluster.set_job_queue(known, "default")
        looks = number % 2 == 0
        labels = {APP: f"app-{number % load.templates}", "job": known.uid}
        for task in job.tasks.values():
            name = labels[APP] if looks else f"plain-{number % load.templates}"
            shape = shapes.get(name)
            if shape is None:
                spec = _looking(task.shape.spec, labels[APP], number) if looks else task.shape.spec
                shape = shapes[name] = Shape(spec, task.request)
            pod = Pod(
                metadata=ObjectMeta(name=task.name, namespace="ns", labels=labels | {"pod": task.name}), spec=shape.spec
            )
            cluster.add_task(
                Task(uid=task.uid, namespace="ns", name=task.name, job=job.id, shape=shape, role="w", pod=pod)
            )
    return cluster


def _looking(spec: PodSpec, app: str, number: int) -> PodSpec:
    selector = LabelSelector(match_labels={APP: app})
    term = PodAffinityTerm(label_selector=selector, topology_key=HOST)
    base = spec.affinity.node_affinity if spec.affinity is not None else None
    return replace(
        spec,
        affinity=Affinity(
            node_affinity=base,
            pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,)),
        ),
        topology_spread_constraints=(
            TopologySpreadConstraint(
                topology_key=ZONE,
                max_skew=1,
                label_selector=selector,
                when_unsatisfiable="DoNotSchedule" if number % 4 == 0 else "ScheduleAnyway",
            ),
        ),
    )


def _add_older_pods(cluster: Cluster) -> None:
    request = Request({"cpu": 100.0, "memory": 0.25 * GIB, "pods": 1.0}, (100.0, 0.25 * GIB))
    shapes = [Shape(_looking(PodSpec(), f"old-{app}", 0), request) for app in range(5)]
    quiet = Shape(PodSpec(), request)
    for place, name in enumerate(cluster.node_by_name):
        for second, shape in enumerate((shapes[place % len(shapes)], quiet)):
            labels = {APP: f"old-{place % len(shapes)}" if not second else f"app-{place % 20}"}
            pod = Pod(metadata=ObjectMeta(name=f"old-{place}-{second}", namespace="ns", labels=labels), spec=shape.spec)
            old = Task(
                uid=f"old-{place}-{second}", namespace="ns", name=f"old-{place}-{second}", job="", shape=shape,
                status=Status.RUNNING, pod=pod,
            )  # fmt: skip
            cluster.add_task(old, name)


def measure(load: Load) -> tuple[int, float]:
    """(decisions, CPU seconds) of one cycle over a fresh cluster."""
    cluster = sociable(load)
    memory = Memory(cluster, conf.parse(CONFIGURATION, actions=ACTIONS, plugins=PLUGINS), PLUGINS)
    start = time.process_time()
    result = run_cycle(cluster, memory, ACTIONS, uid="session", now=0.0)
    return len(result.decisions), time.process_time() - start


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--pods", type=int, default=200)
    options = parser.parse_args()
    print(conditions())
    count, seconds = measure(Load(options.nodes, options.jobs, options.pods))
    print(f"affinity:     {count} binds, {count / seconds:,.0f} a second of CPU (to reach 10,000, beyond 40,000)")


if __name__ == "__main__":
    main()
