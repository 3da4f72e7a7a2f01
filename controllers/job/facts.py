"""
Facts about pods and tasks that raise events: whether a task is complete or has failed, a pod's exit code, and whether
what a request was raised for still holds when its turn comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from api import names
from api.jobs import find_task, task_max_retry
from controllers.job.counts import FAILED, PENDING, RUNNING, SUCCEEDED, is_out_of_sync, task_of
from controllers.job.policies import asks_for_exit_codes, reacts_to
from controllers.job.requests import Request
from generated.batch.v1alpha1 import Job, JobPhase
from generated.bus.v1alpha1 import Event
from generated.core.v1 import ContainerStatus, Pod
from runtime import timestamps

NO_LIMIT: Final = -1
_ALIVE: Final = frozenset((RUNNING, PENDING))
_REACTING: Final = frozenset(("", JobPhase.PENDING, JobPhase.RUNNING))


def is_task_completed(job: Job, task: str, pods: Iterable[Pod]) -> bool:
    """Whether as many pods of the task succeeded as it has replicas."""
    return bool(pods_of_completed(job, task, pods))


def pods_of_completed(job: Job, task: str, pods: Iterable[Pod]) -> list[Pod]:
    """The pods with which a task is complete; none when it isn't."""
    found = find_task(job.spec, task)
    if found is None or found.replicas <= 0:
        return []
    mine = [pod for pod in _members(task, found.replicas, pods) if pod.status.phase == SUCCEEDED]
    mine = [pod for pod in mine if not is_left_to_eviction(job, pod)]
    return mine if len(mine) >= found.replicas else []


def is_superfluous(job: Job, pod: Pod) -> bool:
    """Whether the job, as it is now, has no place for the pod: it was scaled down."""
    task = find_task(job.spec, task_of(pod))
    return task is not None and _is_beyond(task.replicas, pod)


def is_left_to_eviction(job: Job, pod: Pod) -> bool:
    """Whether the end of a pod is part of an eviction that a policy wants to hear of: it decides once the pod is gone."""
    return pod.metadata.deletion_timestamp is not None and reacts_to(job, task_of(pod), Event.POD_EVICTED)


def has_task_failed(job: Job, task: str, pods: Iterable[Pod]) -> bool:
    """Whether the containers of the task's pods were restarted as often, in sum, as the task allows."""
    found = find_task(job.spec, task)
    if found is None or not found.replicas or found.max_retry == NO_LIMIT:
        return False
    mine = [pod for pod in _members(task, found.replicas, pods) if pod.status.phase in _ALIVE]
    return bool(mine) and sum(map(_restarts, mine)) >= task_max_retry(found)


def exit_code(job: Job | None, pod: Pod) -> int:
    """
    The exit code that a failed pod stands for, 0 for none.

    Its first container's; where policies look at exit codes, the first that isn't 0.
    """
    containers = pod.status.container_statuses
    if job is not None and asks_for_exit_codes(job, task_of(pod)):
        ordered = [container.name for container in pod.spec.containers]
        rank = {name: place for place, name in enumerate(ordered)}
        in_order = sorted(containers, key=lambda status: rank.get(status.name, len(rank)))
        codes = map(_code, (*in_order, *pod.status.init_container_statuses))
        return next((code for code in codes if code), 0)
    return _code(containers[0]) if containers else 0


def still_holds(request: Request, job: Job, pods: Mapping[str, Pod]) -> bool:
    """Whether nobody reacted yet to what this process found when it began to look."""
    if job.status.state.phase not in _REACTING:
        return False
    pod = pods.get(request.target.pod)
    if pod is None or pod.metadata.uid != request.pod_uid:
        return False
    if is_out_of_sync(pod) or is_superfluous(job, pod) or is_left_to_eviction(job, pod):
        return False
    if request.event == Event.TASK_COMPLETED:
        return is_task_completed(job, request.target.task, pods.values())
    return pod.status.phase == FAILED


def failed_at(pod: Pod) -> float | None:
    """When the last of a failed pod's containers ended, in unix seconds; None where its status doesn't tell."""
    states = [status.state.terminated for status in _statuses(pod)]
    ends = [terminated.finished_at for terminated in states if terminated is not None]
    times = [timestamps.parse_nanoseconds(end) / 1e9 for end in ends if end]
    return max(times, default=None)


def is_due(request: Request, job: Job, pods: Mapping[str, Pod], deleted: frozenset[str]) -> bool:
    """
    Whether what a delayed action was armed for is still so: the pod pends, has failed or has no successor that runs.

    `deleted` are the UIDs of pods that the controller told to go: those wait for nothing.
    """
    if request.pod_uid in deleted or (request.version is not None and request.version < job.status.version):
        return False
    pod = pods.get(request.target.pod)
    phase = pod.status.phase if pod is not None else ""
    is_same = pod is not None and pod.metadata.uid == request.pod_uid
    if request.event == Event.POD_PENDING:
        return is_same and phase == PENDING and pod is not None and pod.metadata.deletion_timestamp is None
    if request.event == Event.POD_FAILED and is_same:
        return phase == FAILED
    return request.event not in {Event.POD_FAILED, Event.POD_EVICTED} or phase != RUNNING


def _members(task: str, replicas: int, pods: Iterable[Pod]) -> Iterator[Pod]:
    """The pods that have a place in the task."""
    return (pod for pod in pods if task_of(pod) == task and not _is_beyond(replicas, pod))


def _is_beyond(replicas: int, pod: Pod) -> bool:
    ordinal = names.task_index_of(pod.metadata.name)
    return ordinal.isdecimal() and int(ordinal) >= replicas


def _restarts(pod: Pod) -> int:
    return sum(status.restart_count for status in _statuses(pod))


def _statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    """Of all containers, those that run before the others included."""
    return *pod.status.init_container_statuses, *pod.status.container_statuses


def _code(status: ContainerStatus) -> int:
    ended = status.state.terminated
    return ended.exit_code if ended is not None else 0
