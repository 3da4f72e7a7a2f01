"""
Pods that a job's controller doesn't make yet, as their tasks wait for others by `dependsOn`.

A simulation holds them back likewise, and makes them once the tasks that they depend on run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from api import names
from api.dependencies import Waiting, counts_them, lacking, pods_needed, remedy, told
from generated.batch.v1alpha1 import Iteration
from scheduler.explain.report import Cause, CauseKind
from scheduler.state.status import Status

if TYPE_CHECKING:
    from generated.batch.v1alpha1 import Job as JobObject
    from generated.core.v1 import Pod
    from scheduler.explain.obstacles import Obstacle
    from scheduler.state.job import Job
    from scheduler.state.task import Task


class Dependent:
    """The pods of one job that are held back, by task."""

    def __init__(self, job: JobObject) -> None:
        self.held: dict[str, list[Pod]] = {
            task.name: [] for task in job.spec.tasks if task.depends_on is not None and task.depends_on.name
        }
        self._job = job
        self._needed = {task.name: pods_needed(task.replicas, task.min_available) for task in job.spec.tasks}

    def hold(self, pod: Pod) -> bool:
        """Keep a pod back if its task depends on another; whether it does."""
        held = self.held.get(pod.metadata.annotations.get(names.TASK_SPEC_KEY, ""))
        if held is None:
            return False
        held.append(pod)
        return True

    def due(self, tasks: Iterable[Task]) -> list[Pod]:
        """The pods whose turn has come, given those that exist; they are held no longer."""
        blocked = {each.task for each in self.waiting(tasks)}
        return [pod for task in self.held.keys() - blocked for pod in self._release(task)]

    def _release(self, task: str) -> list[Pod]:
        pods, self.held[task] = self.held[task], []
        return pods

    def waiting(self, tasks: Iterable[Task]) -> list[Waiting]:
        """The tasks with pods that are held back and may not be made yet."""
        ready = Counter(task.role for task in tasks if _is_ready(task))
        found: list[Waiting] = []
        for task in self._job.spec.tasks:
            depends, pods = task.depends_on, self.held.get(task.name, [])
            if depends is None or not pods:
                continue
            reasons = lacking(depends.name, self._needed, ready, is_any=depends.iteration == Iteration.ANY)
            if reasons:
                found.append(Waiting(task.name, len(pods), reasons))
        return found

    def obstacles(self, job: Job) -> list[Obstacle]:
        """What of the job waits for other tasks, for its explanation."""
        waiting = self.waiting(job.tasks.values())
        pods = Counter(task.role for task in job.tasks.values())
        is_counted = counts_them(
            waiting, min_available=job.min_available, pods=pods, role_minimum=dict(job.role_minimum)
        )
        need = remedy(waiting, is_counted=is_counted, pods=pods.total())
        return [(Cause(kind=CauseKind.DEPENDENCY, text=told(each, is_counted=is_counted)), need) for each in waiting]


def _is_ready(task: Task) -> bool:
    """As the controller judges: it has succeeded, or runs and all its containers are ready."""
    if task.status is Status.RUNNING:
        return task.pod is None or all(status.ready for status in task.pod.status.container_statuses)
    return task.status is Status.SUCCEEDED
