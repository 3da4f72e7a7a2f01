"""
Gangs that can never start, since they count pods that are created only after the gang's first ones are ready.

No pod of a gang starts before as many exist as the job's `minAvailable` says, and a task with `dependsOn` gets its pods
only when those of other tasks are ready.
"""

from __future__ import annotations

from collections.abc import Collection

from api import jobs
from generated.batch.v1alpha1 import Iteration, JobSpec, TaskSpec


def warnings(spec: JobSpec) -> tuple[str, ...]:
    """Why the job of this spec, which has its defaults and no circle of dependencies, can never start; `()` if it can."""
    with_pods = frozenset(task.name for task in spec.tasks if _needs_pods(task))
    waiting = [(task, needed) for task in spec.tasks if (needed := _awaited(task, with_pods))]
    late = sum(task.replicas for task, _ in waiting)
    first = jobs.total_replicas(spec) - late
    if not late or spec.min_available <= first:
        return ()
    waits = " and ".join(f"task {task.name} waits for task {needed}" for task, needed in waiting if task.replicas)
    text = (
        f"spec.minAvailable: {spec.min_available} pods must exist before the first one starts, but only {first} are"
        f" created at first: {waits} (dependsOn); the job can never start, set minAvailable to {first} or less"
    )
    return (text,)


def _awaited(task: TaskSpec, with_pods: Collection[str]) -> str:
    """
    The tasks that must be ready before this one gets its first pod; empty when it gets them at once.

    `with_pods` are those that aren't ready without pods.
    """
    depends = task.depends_on
    if depends is None:
        return ""
    needed = dict.fromkeys(depends.name)
    awaited = [name for name in needed if name in with_pods]
    if depends.iteration == Iteration.ANY and len(awaited) < len(needed):
        return ""
    return (" or " if depends.iteration == Iteration.ANY else ", ").join(awaited)


def _needs_pods(task: TaskSpec) -> bool:
    """Whether it takes pods for the task to count as ready."""
    least = task.replicas if task.min_available is None else task.min_available
    return min(task.replicas, least) > 0
