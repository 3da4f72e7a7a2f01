"""
The part of the contract with plugins that is about evicting: who may go, in which order, for whom.

Every function is guarded as in `registration`; one that throws names no victims and permits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scheduler.contract.contexts import EvictionContext, Simulation
from scheduler.contract.points import Point
from scheduler.contract.registering import Registering

if TYPE_CHECKING:
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

Victims = Callable[["Task", Sequence["Task"]], "Sequence[Task] | None"]

Spares = Callable[["Task", "Job"], bool]


class EvictionRegistration(Registering):
    """Mixed into `Registration`."""

    def add_preemptable(self, plugin: str, function: Victims, *, jobs: Spares | None = None) -> None:
        """
        Which of the candidates, of the preemptor's queue, may be evicted for it: `function(preemptor, candidates)`.

        None abstains. The answers of a tier are intersected; where nobody is left the next tier is asked.
        `jobs(preemptor, job)` False says that no task of a job will be named, whoever the candidates are, however many
        are evicted meanwhile: its nodes needn't be looked at then.
        """
        self._add(Point.PREEMPTABLE, plugin, function, ())
        if jobs is not None:
            self._add(Point.PREEMPTABLE_JOBS, plugin, jobs, True)

    def add_reclaimable(self, plugin: str, function: Victims, *, jobs: Spares | None = None) -> None:
        """The same for candidates of other queues."""
        self._add(Point.RECLAIMABLE, plugin, function, ())
        if jobs is not None:
            self._add(Point.RECLAIMABLE_JOBS, plugin, jobs, True)

    def add_unified_evictable(
        self, plugin: str, function: Callable[[EvictionContext, Sequence[Task]], Sequence[Task] | None]
    ) -> None:
        """The same for the bundles of gangpreempt and gangreclaim. No switch turns it off."""
        self._add(Point.UNIFIED_EVICTABLE, plugin, function, ())

    def add_preemptive(self, plugin: str, function: Callable[[Queue, Task], bool]) -> None:
        """Whether a queue may take back room for a task."""
        self._add(Point.PREEMPTIVE, plugin, function, False)

    def add_victim_tasks(self, plugin: str, function: Callable[[Sequence[Task]], Sequence[Task]]) -> None:
        """Which of all running tasks should move, whoever may come after them. May be called several times."""
        guarded = self._guard(function, (), plugin, Point.VICTIM_TASKS.label)
        self.points.append(Point.VICTIM_TASKS, plugin, guarded)

    def add_victim_queue_order(self, plugin: str, function: Callable[[Queue, Queue, Queue], int]) -> None:
        """Whose tasks go first, `function(left, right, preemptor's queue)`; negative: the left queue's."""
        self._add(Point.VICTIM_QUEUE_ORDER, plugin, function, 0)

    # Trials.

    def add_simulate_add_task(self, plugin: str, function: Callable[[Simulation, Task, Node], str | None]) -> None:
        """Account for a task put back on a node in a trial: None, or what went wrong (the node is passed over)."""
        self._add(Point.SIMULATE_ADD_TASK, plugin, function, f"plugin {plugin} failed in its simulation")

    def add_simulate_remove_task(self, plugin: str, function: Callable[[Simulation, Task, Node], str | None]) -> None:
        """Account for a task taken off a node in a trial: None, or what went wrong (the node is passed over)."""
        self._add(Point.SIMULATE_REMOVE_TASK, plugin, function, f"plugin {plugin} failed in its simulation")

    def add_simulate_predicate(self, plugin: str, function: Callable[[Simulation, Node], str | None]) -> None:
        """Why the trial's task would not fit a node as it then is, or None. Asked besides all filters."""
        self._add(Point.SIMULATE_PREDICATE, plugin, function, f"plugin {plugin} failed in its simulation")

    def add_simulate_allocatable(self, plugin: str, function: Callable[[Simulation, Queue], bool]) -> None:
        """Whether the queue could take the trial's task then. Asked besides `allocatable`."""
        self._add(Point.SIMULATE_ALLOCATABLE, plugin, function, False)
