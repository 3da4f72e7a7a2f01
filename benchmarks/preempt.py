"""
Preemption without a server, by the chart's configuration: milliseconds of CPU a preemptor, for a whole cycle.

    python -m benchmarks.preempt [--case gangs|singles|hopeless] [--nodes 5000] [--running 4] [--preemptors 100]

5,000 nodes, each full of 4 running pods of jobs of low priority (20,000 in all), and preemptors of high priority that
need the room of two of them. `gangs`: one gang of all preemptors; `singles`: a job each; `hopeless`: a job each that
may evict nobody. Opening and closing the session, allocate's own attempt and the victims' choice are all counted.
CPU time of the process counts, so that neighbours on the machine matter less; a calibration figure stands beside.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

from benchmarks.calibration import conditions
from benchmarks.kernel import GIB
from generated.core.v1 import Container, PodSpec
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.decisions import Evict
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.settings import conf
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task

CONFIGURATION = """
actions: "enqueue, allocate, preempt"
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


@dataclass(frozen=True)
class Load:
    """Sizes of a case."""

    nodes: int = 5_000
    running: int = 4
    preemptors: int = 100
    gang: bool = False
    priority: int = 100


def build(load: Load) -> Cluster:
    """A full cluster and the jobs that want room in it."""
    cluster = Cluster()
    for number in range(load.nodes):
        node = NodeObject(metadata=ObjectMeta(name=f"node-{number:05d}"))
        cluster.set_node(node, {"cpu": load.running * 1000.0, "memory": load.running * 4.0 * GIB, "pods": 110.0})
    cluster.queue("default").object = QueueObject(metadata=ObjectMeta(name="default"))
    small, large = _shape(1000.0), _shape(2000.0)
    for place in range(load.nodes * load.running // 100):
        _job(cluster, f"low-{place:04d}", 0, minimum=0)
    for number in range(load.nodes * load.running):
        name = f"low-{number // 100:04d}-w-{number % 100}"
        task = Task(
            uid=name, namespace="ns", name=name, job=f"ns/low-{number // 100:04d}", shape=small, role="w",
            status=Status.RUNNING,
        )  # fmt: skip
        cluster.add_task(task, f"node-{number % load.nodes:05d}")
    for number in range(load.preemptors):
        name = "high" if load.gang else f"high-{number:04d}"
        if not load.gang or not number:
            _job(cluster, name, load.priority, minimum=load.preemptors if load.gang else 1)
        pod = f"{name}-w-{number}"
        cluster.add_task(Task(uid=pod, namespace="ns", name=pod, job=f"ns/{name}", shape=large, role="w"))
    return cluster


def _shape(cpu: float) -> Shape:
    spec = PodSpec(containers=(Container(name="main", image="image"),))
    return Shape(spec, Request({"cpu": cpu, "memory": GIB, "pods": 1.0}, (cpu, GIB)))


def _job(cluster: Cluster, name: str, priority: int, *, minimum: int) -> None:
    job = cluster.job(f"ns/{name}")
    job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"), spec=PodGroupSpec(min_member=minimum))
    job.uid, job.priority, job.min_available, job.phase = name, priority, minimum, "Inqueue"
    cluster.set_job_queue(job, "default")


def measure(load: Load) -> tuple[int, float]:
    """(evictions, CPU seconds) of the cycle that serves them; the columns of the nodes have been numbered before."""
    cluster = build(load)
    cluster.settle()
    memory = Memory(cluster, conf.parse(CONFIGURATION, actions=ACTIONS, plugins=PLUGINS), PLUGINS)
    start = time.process_time()
    result = run_cycle(cluster, memory, ACTIONS, uid="session", now=0.0)
    seconds = time.process_time() - start
    return sum(isinstance(decision, Evict) for decision in result.decisions), seconds


def _report(name: str, load: Load, expected: int) -> None:
    evictions, seconds = min((measure(load) for _ in range(3)), key=lambda found: found[1])
    assert evictions == expected, f"{evictions} evictions, {expected} are needed"
    print(
        f"{name:12}{seconds / load.preemptors * 1e3:6.2f} ms a preemptor, {load.preemptors} preemptors, "
        f"{evictions} evictions (to reach 10, beyond 3)"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=("gangs", "singles", "hopeless"), action="append")
    parser.add_argument("--nodes", type=int, default=Load.nodes)
    parser.add_argument("--running", type=int, default=Load.running)
    parser.add_argument("--preemptors", type=int, default=Load.preemptors)
    options = parser.parse_args()
    load = Load(options.nodes, options.running, options.preemptors)
    print(conditions())
    for name in options.case or ("gangs", "singles", "hopeless"):
        if name == "hopeless":
            _report("hopeless:", replace(load, priority=0, preemptors=min(load.preemptors, 10)), 0)
        else:
            _report(f"{name}:", replace(load, gang=name == "gangs"), 2 * load.preemptors)


if __name__ == "__main__":
    main()
