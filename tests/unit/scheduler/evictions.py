"""Worlds and plugins for tests of evictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.decisions import Evict
from scheduler.cycle import Result, run_cycle
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World, memory_of, shape

CONFIGURATION = """
actions: "enqueue, allocate, {actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: lower
- plugins:
  - name: predicates
  - name: nodeorder
{more}
"""


class Lower(Plugin):
    """Names victims of lower priority: of the job between jobs, of the task within one. Anybody may be reclaimed."""

    name = "lower"

    def on_session_open(self, session: Session) -> None:
        jobs = session.cluster.jobs

        def names(preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
            return [
                task
                for task in candidates
                if (
                    task.priority < preemptor.priority
                    if task.job == preemptor.job
                    else jobs[task.job].priority < jobs[preemptor.job].priority
                )
            ]

        session.add_preemptable(self.name, names)
        session.add_reclaimable(self.name, lambda _, candidates: candidates)
        session.add_unified_evictable(self.name, lambda _, candidates: candidates)


def configured(actions: str, *, more: str = "", plugins: dict[str, Any] | None = None, world: World) -> Any:
    """A memory for a configuration with these actions after allocate, and further text."""
    text = CONFIGURATION.format(actions=actions, more=more)
    return memory_of(world.cluster, text, {"lower": Lower} | (plugins or {}))


def run(world: World, memory: Any, now: float = 1000.0) -> Result:
    """One cycle."""
    return run_cycle(world.cluster, memory, ACTIONS, uid="session", now=now)


def evicted(result: Result) -> list[str]:
    """The names of the victims, in order."""
    return [decision.task.name for decision in result.decisions if isinstance(decision, Evict)]


def reasons(result: Result) -> set[str]:
    """What the victims are told."""
    return {decision.reason for decision in result.decisions if isinstance(decision, Evict)}


def nominated(result: Result) -> dict[str, str]:
    """The nodes named for waiting pods, by pod."""
    return {told.task.name: told.nominated for told in result.outcome.tasks if told.nominated}


def victim_job(
    world: World,
    name: str,
    places: dict[str, int],
    *,
    each: Shape | None = None,
    minimum: int = 0,
    priority: int = 0,
    queue: str = "default",
    status: Status = Status.RUNNING,
    task_priority: Callable[[int], int] = lambda _: 1,
    preemptable: bool = True,
) -> list[Task]:
    """A job with running tasks: how many on which node."""
    world.gang(name, [], minimum=minimum, priority=priority, queue=queue, phase="Running")
    tasks: list[Task] = []
    for node, count in places.items():
        for _ in range(count):
            ordinal = len(tasks)
            pod = f"{name}-w-{ordinal}"
            task = Task(
                uid=f"uid-{pod}", namespace="ns", name=pod, job=f"ns/{name}", shape=each or shape(1000.0, 0.0),
                role="w", status=status, priority=task_priority(ordinal), preemptable=preemptable,
            )  # fmt: skip
            world.cluster.add_task(task, node)
            tasks.append(task)
    return tasks


def gone(world: World, result: Result) -> None:
    """The victims of a cycle die."""
    for decision in result.decisions:
        if isinstance(decision, Evict):
            world.cluster.remove_task(decision.task.uid)
