"""
What a job waits for that is no failure: a queue, a claim, a plugin that doesn't exist, tasks that others depend on.

Waiting uses up no retry: the job stays as it is, says why, and goes on when what it waits for appears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

from api import names
from api.dependencies import lacking, pods_needed
from api.jobs import find_task, queue_of, total_replicas
from controllers.job.counts import RUNNING, SUCCEEDED, task_of
from controllers.job.plugins import unknown_plugin
from controllers.job.volumes import is_generated
from controllers.job.world import MOST_PODS, World, is_oversized
from generated.batch.v1alpha1 import Iteration, Job
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup, PodGroupCondition

Reason = names.JobStateReason

OBSTACLES: Final = frozenset(
    (
        Reason.QUEUE_NOT_FOUND,
        Reason.CLAIM_NOT_FOUND,
        Reason.PLUGIN_NOT_AVAILABLE,
        Reason.DEPENDENCY_NOT_READY,
        Reason.NAME_TAKEN,
        Reason.TOO_MANY_PODS,
    )
)
RECHECK_SECONDS: Final = 60.0
LEAVING_SECONDS: Final = 1.0
"""How soon a job looks again for the end of what an earlier job of its name has left: no watch tells of it."""
_SHOWN_NAMES: Final = 5
PLUGIN_FAILED: Final = "Execute plugin when job add failed, err: "


class Obstacle(NamedTuple):
    """Why a job can't begin. `event` is the reason of the event on the job, empty for none."""

    reason: str
    message: str
    event: str = ""
    event_message: str = ""
    recheck: float = RECHECK_SECONDS


class Unready(NamedTuple):
    """Tasks that wait for others, and how to say so."""

    tasks: frozenset[str]
    message: str = ""


def obstacle(world: World) -> Obstacle | None:
    """What keeps the job from getting its pod group; None for nothing."""
    spec = world.job.spec
    if world.queue is None:
        return Obstacle(Reason.QUEUE_NOT_FOUND, f"queue {queue_of(spec)} is not found")
    if is_oversized(world.job):
        return too_many_pods(world.job)
    if unknown := unknown_plugin(world.job):
        message = f"failed to get plugin {unknown}"
        told = f"{PLUGIN_FAILED}{message}"
        return Obstacle(Reason.PLUGIN_NOT_AVAILABLE, message, names.JobReason.PLUGIN_ERROR, told)
    for volume in spec.volumes:
        name = volume.volume_claim_name
        is_made_here = volume.volume_claim is not None and is_generated(world.job, name)
        if name and name not in world.claims and not is_made_here:
            message = f"pvc {name} is not found, the job will be in the Pending state until the PVC is created"
            told = f"Failed to create PVC, err: {message}"
            return Obstacle(Reason.CLAIM_NOT_FOUND, message, names.JobReason.PVC_ERROR, told)
    return None


def too_many_pods(job: Job) -> Obstacle:
    """Of a job that asks for more pods than it may have."""
    message = f"spec.tasks[*].replicas ask for {total_replicas(job.spec)} pods, of which a job may have {MOST_PODS}"
    return Obstacle(Reason.TOO_MANY_PODS, message, Reason.TOO_MANY_PODS, message)


def unready(world: World, tasks: Collection[str]) -> Unready:
    """Those of the tasks that depend on others which aren't ready."""
    spec = world.job.spec
    dependent = [task for name in sorted(tasks) if (task := find_task(spec, name)) and task.depends_on is not None]
    if not dependent:
        return Unready(frozenset())
    needed: dict[str, int] = {}
    for task in spec.tasks:
        needed.setdefault(task.name, pods_needed(task.replicas, task.min_available))
    ready = Counter(task_of(pod) for pod in world.pods.values() if is_pod_ready(pod))
    waiting: dict[str, tuple[str, ...]] = {}
    for task in dependent:
        depends = task.depends_on
        if depends and (found := lacking(depends.name, needed, ready, is_any=depends.iteration == Iteration.ANY)):
            waiting[task.name] = found
    parts = [f"task {name} waits for {', '.join(found)}" for name, found in waiting.items()]
    return Unready(frozenset(waiting), "; ".join(parts))


def taken_message(taken: Collection[str]) -> str:
    """Which pods can't be created, as long as others have their names."""
    shown = sorted(taken)[:_SHOWN_NAMES]
    rest = f" and {len(taken) - len(shown)} more" if len(taken) > len(shown) else ""
    return f"waits until other pods named {', '.join(shown)}{rest} are gone"


def waiting_condition(group: PodGroup) -> PodGroupCondition | None:
    """The newest condition of a group, if it says why the scheduler lets it wait."""
    true = [condition for condition in group.status.conditions if condition.status == "True"]
    newest = max(true, key=lambda condition: condition.last_transition_time or "", default=None)
    return newest if newest is not None and newest.type != names.PodGroupReason.SCHEDULED else None


def is_pod_ready(pod: Pod) -> bool:
    """Whether a pod is what a task that depends on its task waits for."""
    if pod.status.phase == SUCCEEDED:
        return True
    return pod.status.phase == RUNNING and all(status.ready for status in pod.status.container_statuses)
