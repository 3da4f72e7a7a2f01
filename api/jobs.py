"""
What a Job means before anything runs: how many pods it needs, how they are called and found.

Admission fills these numbers into a spec and checks them, controllers compute with them; both ask here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api import names
from generated.batch.v1alpha1 import JobPhase, JobSpec, TaskSpec
from generated.bus.v1alpha1 import Action, Event

USER_ACTIONS: Final = (  # what a policy may ask for, in the order in which messages list them
    Action.ABORT_JOB,
    Action.RESTART_JOB,
    Action.RESTART_TASK,
    Action.RESTART_POD,
    Action.RESTART_PARTITION,
    Action.TERMINATE_JOB,
    Action.COMPLETE_JOB,
    Action.RESUME_JOB,
)
INTERNAL_ACTIONS: Final = frozenset(  # what only controllers and Commands ask for
    (Action.SYNC_JOB, Action.ENQUEUE_JOB, Action.SYNC_QUEUE, Action.OPEN_QUEUE, Action.CLOSE_QUEUE)
)
USER_EVENTS: Final = (  # what a policy may react to, in the order in which messages list them
    Event.ANY,
    Event.POD_FAILED,
    Event.POD_EVICTED,
    Event.POD_PENDING,
    Event.UNKNOWN,
    Event.TASK_COMPLETED,
    Event.TASK_FAILED,
    Event.JOB_UPDATED,
)
INTERNAL_EVENTS: Final = frozenset((Event.OUT_OF_SYNC, Event.COMMAND_ISSUED, Event.POD_RUNNING))
"""These match no policy, not even `*`."""
FINISHED_PHASES: Final = frozenset((JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED))


def task_min_available(task: TaskSpec) -> int:
    """Pods of the task that must be able to run: as given, else of its minimum of partitions, else all."""
    if task.min_available is not None:
        return task.min_available
    policy = task.partition_policy
    if policy is not None and policy.min_partitions > 0 and policy.partition_size:
        return policy.min_partitions * policy.partition_size
    return task.replicas


def total_min_available(spec: JobSpec) -> int:
    """The same over all tasks: the job's minAvailable when it gives none."""
    return sum(task_min_available(task) for task in spec.tasks)


def total_replicas(spec: JobSpec) -> int:
    """Pods of all tasks."""
    return sum(task.replicas for task in spec.tasks)


def task_max_retry(task: TaskSpec) -> int:
    """Restarts of its containers after which a task has failed; 0 stands for the default (compat: JOB-3)."""
    return task.max_retry or names.DEFAULT_MAX_RETRY


def task_name(task: TaskSpec, index: int) -> str:
    """Its name, or the one that admission gives to a nameless task at this place of the job."""
    return task.name or names.default_task_name(index)


def find_task(spec: JobSpec, name: str) -> TaskSpec | None:
    """The first task of this name, None when there is none."""
    return next((task for task in spec.tasks if task.name == name), None)


def queue_of(spec: JobSpec) -> str:
    """The queue that the job waits in."""
    return spec.queue or names.DEFAULT_QUEUE


def partition_id(ordinal: int, size: int) -> int:
    """The partition of a task's pod, when partitions have this size."""
    return ordinal // size if size > 0 else 0


def pod_host(job: str, task: TaskSpec, ordinal: int) -> str:
    """The name under which a pod is found by the others: `<host name>.<subdomain>`."""
    template = task.template.spec
    host = template.hostname or names.pod_name(job, task.name, ordinal)
    return f"{host}.{template.subdomain or names.svc_name(job)}"


def task_hosts(job: str, task: TaskSpec) -> tuple[str, ...]:
    """The hosts of a task's pods, in order; just one when the template fixes the host name (compat: JOB-1)."""
    count = min(task.replicas, 1) if task.template.spec.hostname else task.replicas
    return tuple(pod_host(job, task, ordinal) for ordinal in range(count))


def disruption_budget(annotations: Mapping[str, str]) -> dict[str, str]:
    """The one disruption annotation that counts, if any: the minimum wins over the maximum (compat: JOB-2)."""
    for key in (names.JDB_MIN_AVAILABLE_ANNOTATION, names.JDB_MAX_UNAVAILABLE_ANNOTATION):
        if key in annotations:
            return {key: annotations[key]}
    return {}
