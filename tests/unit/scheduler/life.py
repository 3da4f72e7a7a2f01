"""A cluster that lives on between cycles: what was decided comes true, and who owns pods replaces those that are evicted."""

from __future__ import annotations

from typing import Any

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.decisions import Evict
from scheduler.cycle import Result, run_cycle
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import GIB, World, memory_of, shape

CHART = """
actions: "{actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
{gang}
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: {queues}
  - name: nodeorder
  - name: binpack
"""


def chart(
    actions: str = "enqueue, allocate, preempt, reclaim, backfill", *, queues: str = "proportion", gang: str = ""
) -> str:
    """The configuration of the chart with other actions; `gang` are options of that plugin, `queues` the plugin for queues."""
    return CHART.format(actions=actions, queues=queues, gang=f"    {gang}" if gang else "")


def pod(cpu: float = 1.0, gib: float = 0.0, **spec: Any) -> Shape:
    """A pod of so many cores and GiB."""
    return shape(cpu * 1000.0, gib * GIB, **spec)


class Life:
    """Cycles of one cluster under one configuration. Victims take `grace` cycles to go."""

    def __init__(self, world: World, text: str, *, grace: int = 0, replaces: bool = True) -> None:
        self.world = world
        self.memory = memory_of(world.cluster, text)
        self.evicted: list[str] = []
        """Names of all victims so far."""
        self.result: Result
        self._grace, self._replaces = grace, replaces
        self._number = 0
        self._leaving: list[tuple[int, Task]] = []

    def step(self) -> Result:
        """One cycle, after which its binds run and its victims leave, or begin to."""
        cluster, number = self.world.cluster, self._number
        self._number += 1
        self.result = run_cycle(cluster, self.memory, ACTIONS, uid=f"session-{number}", now=1000.0 + number)
        for decision in self.result.decisions:
            evicts = isinstance(decision, Evict)
            node = decision.task.node.name if decision.task.node is not None else ""
            task = cluster.remove_task(decision.task.uid)
            assert task is not None
            task.status = Status.RELEASING if evicts else Status.RUNNING
            cluster.add_task(task, node)
            if evicts:
                self.evicted.append(task.name)
                self._leaving.append((number + self._grace, task))
        self._bury()
        return self.result

    def settle(self, cycles: int = 12) -> Life:
        """So many cycles; then nothing may be decided any more."""
        for _ in range(cycles):
            self.step()
        assert self.step().decisions == (), self.result.decisions
        return self

    def _bury(self) -> None:
        for due, task in list(self._leaving):
            if due < self._number:
                self._leaving.remove((due, task))
                self.world.cluster.remove_task(task.uid)
                if self._replaces:
                    fresh = Task(
                        uid=f"{task.uid}+", namespace=task.namespace, name=task.name, job=task.job, shape=task.shape,
                        role=task.role, priority=task.priority, preemptable=task.preemptable,
                    )  # fmt: skip
                    self.world.cluster.add_task(fresh)

    def delete(self, job: str) -> None:
        """A job and its pods go."""
        cluster = self.world.cluster
        for uid in list(cluster.jobs[f"ns/{job}"].tasks):
            cluster.remove_task(uid)
        cluster.jobs[f"ns/{job}"].pod_group = None
        cluster.changed_jobs.add(f"ns/{job}")

    def running(self, *jobs: str) -> int | tuple[int, ...]:
        """How many pods of each job run."""
        counts = tuple(
            sum(task.status is Status.RUNNING for task in self.world.cluster.jobs[f"ns/{job}"].tasks.values())
            for job in jobs
        )
        return counts if len(counts) > 1 else counts[0]

    def places(self, job: str) -> list[str]:
        """The nodes of a job's running pods, in order."""
        tasks = self.world.cluster.jobs[f"ns/{job}"].tasks.values()
        return sorted(task.node.name for task in tasks if task.status is Status.RUNNING and task.node is not None)

    def phase(self, job: str) -> str:
        return self.world.cluster.jobs[f"ns/{job}"].phase


def nodes(count: int = 4, cpu: float = 4.0, **more: Any) -> World:
    """Nodes n0, n1 ... of so many cores."""
    world = World()
    for number in range(count):
        world.node(f"n{number}", cpu=cpu * 1000.0, **more)
    return world
