"""
What to do about a job: a pure function of what is seen, to the next status and the writes that lead there.

The status is what is true once every write has succeeded; it is written last, so an interrupted plan is simply made
again. Deterministic names make repeats harmless.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from api import names
from api.jobs import FINISHED_PHASES, find_task
from controllers.job import status as statuses
from controllers.job.counts import PENDING, SUCCEEDED, Counts, count, is_out_of_sync, phase_of, task_of
from controllers.job.machine import SOFT, Cell, Operation, known_phase
from controllers.job.requests import SYNC, Request, Target
from controllers.job.rules import Change, Facts, exhausted, exhausted_or_pending
from controllers.job.waiting import OBSTACLES, Unready, taken_message, unready
from controllers.job.world import Place, World, is_oversized, places
from generated.batch.v1alpha1 import Job, JobPhase, JobStatus
from generated.bus.v1alpha1 import Action
from generated.core.v1 import Pod

ACTIVE = frozenset((JobPhase.PENDING, JobPhase.RUNNING, JobPhase.RESTARTING))
"""Phases in which a kill begins something new, whether or not there are pods."""


class Plan(msgspec.Struct, frozen=True):
    """Writes in their order: create, mark, delete, the status, then the pod group."""

    status: JobStatus
    create: tuple[Place, ...] = ()
    mark: tuple[Pod, ...] = ()
    """Pods to be marked as being deleted by the controller."""
    delete: tuple[Pod, ...] = ()
    drops_group: bool = False
    """Whether the pod group is deleted."""


def plan(world: World, cell: Cell, request: Request, action: str, now: datetime) -> Plan:
    """Carry out a cell of the state machine. A job that is being deleted is left to the garbage collector."""
    job = world.job
    if job.metadata.deletion_timestamp is not None:
        return Plan(job.status)
    if cell.operation is Operation.SYNC:
        return _sync(world, cell, request, now)
    if cell.operation is Operation.KILL:
        return _kill(world, cell, request, now)
    return _kill_target(world, cell, request, action, now)


def is_hopeless(job: Job) -> bool:
    """Whether a restarting job has no restart left, so that nothing needs to be prepared for it."""
    is_restarting = job.status.state.phase == JobPhase.RESTARTING
    return is_restarting and exhausted(_facts(job, Counts(), job.status.min_available, SYNC)) is not None


def _sync(world: World, cell: Cell, request: Request, now: datetime) -> Plan:
    job = world.job
    if cell.rule is exhausted_or_pending:  # decided before a pod is created that nobody would want
        failed = exhausted(_facts(job, Counts(), job.status.min_available, request))
        if failed is not None:
            counts = count(_alive(world, world.pods.values()), _terminating(world))
            return Plan(statuses.changed(statuses.counted(job.status, counts), failed, now))
    if not world.is_admitted or is_oversized(job):
        counts = _standing_counts(world)
        facts = _facts(job, counts, job.status.min_available, request, is_admitted=world.is_admitted)
        stored = statuses.counted(job.status, counts)
        if not world.is_frozen:
            stored = _unexplained(stored)
        return Plan(_next(job, stored, cell.rule(facts), now))
    wanted = places(job)
    carried = _completed_tasks(job)
    missing = [place for name, place in wanted.items() if name not in world.pods and place.task_name not in carried]
    waiting = unready(world, {place.task_name for place in missing})
    wanting = [place for place in missing if place.task_name not in waiting.tasks and not world.is_frozen]
    create = tuple(place for place in wanting if place.pod not in world.taken)
    delete = tuple(
        pod
        for name, pod in world.pods.items()
        if not world.is_terminating(pod) and _is_superfluous(job, name, pod, wanted)
    )
    counts = _sync_counts(world, wanted, create, delete, carried)
    stored = replace(statuses.counted(job.status, counts), min_available=job.spec.min_available)
    change = cell.rule(_facts(job, counts, job.spec.min_available, request))
    status = _next(job, stored, change, now)
    if not world.is_frozen:
        status = _explained(status, waiting, world.taken)
    return Plan(status, create=create, delete=delete)


def _standing_counts(world: World) -> Counts:
    """What there is, where nothing is created or deleted; a completed task's pods count even when they are gone."""
    carried = _completed_tasks(world.job)
    there = Counter(map(task_of, world.pods.values()))
    alive = _alive(world, world.pods.values())
    for task in world.job.spec.tasks:
        if task.name in carried:
            alive += [(task.name, SUCCEEDED)] * (task.replicas - there[task.name])
    return count(alive, _terminating(world))


def _sync_counts(
    world: World, wanted: dict[str, Place], create: Iterable[Place], delete: Iterable[Pod], carried: frozenset[str]
) -> Counts:
    """What there will be: pods that stay, and new ones; a completed task's pods count even when they are gone."""
    leaving = {pod.metadata.name for pod in delete}
    alive = [
        (task_of(pod), phase_of(pod)) for name, pod in world.pods.items() if _stays(world, name, pod, wanted, leaving)
    ]
    alive += [(place.task_name, PENDING) for place in create]
    alive += [
        (place.task_name, SUCCEEDED)
        for name, place in wanted.items()
        if place.task_name in carried and name not in world.pods
    ]
    return count(alive, _terminating(world) + len(leaving))


def _stays(world: World, name: str, pod: Pod, wanted: dict[str, Place], leaving: set[str]) -> bool:
    return name in wanted and name not in leaving and not world.is_terminating(pod)


def _is_superfluous(job: Job, name: str, pod: Pod, wanted: dict[str, Place]) -> bool:
    """Beyond the replicas of its task, or left from an interrupted kill. A task that is no longer there is left alone."""
    if is_out_of_sync(pod):
        return True
    return name not in wanted and find_task(job.spec, task_of(pod)) is not None


def _kill(world: World, cell: Cell, request: Request, now: datetime) -> Plan:
    job = world.job
    facts = _facts(job, Counts(), job.status.min_available, request)
    retain = cell.retain
    if facts.retry_count >= facts.max_retry - 1:  # the last run stays to be looked at
        retain = retain | SOFT
    victims = tuple(pod for pod in world.pods.values() if not world.is_terminating(pod) and phase_of(pod) not in retain)
    is_news = bool(victims) or known_phase(job.status.state.phase) in ACTIVE
    stored = statuses.unmarked(replace(job.status, version=job.status.version + is_news))
    status = _next(job, *_after_kill(world, stored, victims, cell, request), now)
    return Plan(status, mark=victims, delete=victims, drops_group=True)


def _kill_target(world: World, cell: Cell, request: Request, action: str, now: datetime) -> Plan:
    job = world.job
    victims = tuple(_targets(world, action, request.target))
    if action == Action.RESTART_PARTITION and not victims:
        return Plan(job.status)
    status = _next(job, *_after_kill(world, job.status, victims, cell, request), now)
    delete = tuple(pod for pod in victims if not world.is_terminating(pod))
    mark = tuple(pod for pod in victims if not is_out_of_sync(pod))
    return Plan(status, mark=mark, delete=delete)


def _after_kill(
    world: World, stored: JobStatus, victims: Iterable[Pod], cell: Cell, request: Request
) -> tuple[JobStatus, Change | None]:
    """The status with what is left counted, and what the rule makes of it."""
    job = world.job
    gone = {pod.metadata.name for pod in victims if not world.is_terminating(pod)}
    left = [pod for name, pod in world.pods.items() if name not in gone]
    counts = count(_alive(world, left), _terminating(world) + len(gone))
    change = cell.rule(_facts(job, counts, job.status.min_available, request))
    return statuses.counted(stored, counts), change


def _targets(world: World, action: str, target: Target) -> list[Pod]:
    if action == Action.RESTART_POD:
        pod = world.pods.get(target.pod)
        return [pod] if pod is not None and (not target.task or task_of(pod) == target.task) else []
    pods = world.pods_of(target.task)
    if action == Action.RESTART_TASK:
        return pods
    if not target.partition or not _has_partitions(world.job, target.task):
        return []
    return [pod for pod in pods if pod.metadata.labels.get(names.PARTITION_ID_LABEL) == target.partition]


def _has_partitions(job: Job, task: str) -> bool:
    found = find_task(job.spec, task)
    return found is not None and found.partition_policy is not None


def _completed_tasks(job: Job) -> frozenset[str]:
    """Tasks of a running job of which all pods succeeded: one that is deleted now need not run again."""
    if job.status.state.phase != JobPhase.RUNNING:
        return frozenset()
    counts = {task: state.phase.get(SUCCEEDED, 0) for task, state in job.status.task_status_count.items()}
    return frozenset(task.name for task in job.spec.tasks if 0 < task.replicas <= counts.get(task.name, 0))


def _alive(world: World, pods: Iterable[Pod]) -> list[tuple[str, str]]:
    return [(task_of(pod), phase_of(pod)) for pod in pods if not world.is_terminating(pod)]


def _terminating(world: World) -> int:
    return sum(world.is_terminating(pod) for pod in world.pods.values())


def _facts(job: Job, counts: Counts, min_available: int, request: Request, *, is_admitted: bool = True) -> Facts:
    status = job.status
    return Facts(job.spec, counts, min_available, status.retry_count, is_admitted, request, statuses.is_resumed(status))


def _next(job: Job, status: JobStatus, change: Change | None, now: datetime) -> JobStatus:
    """After the rule's word; a change of counters alone is a change, too, but not of when a finished job finished."""
    if change is not None and change.phase != job.status.state.phase:
        return statuses.changed(status, change, now)
    return status if job.status.state.phase in FINISHED_PHASES else statuses.touched(status, job.status, now)


def _explained(status: JobStatus, waiting: Unready, taken: Collection[str]) -> JobStatus:
    """Of a job that is let in: say which tasks wait for others, and which pods for their names, as long as they do."""
    if taken:
        return statuses.explained(status, names.JobStateReason.NAME_TAKEN, taken_message(taken))
    if waiting.tasks:
        return statuses.explained(status, names.JobStateReason.DEPENDENCY_NOT_READY, waiting.message)
    return statuses.admitted(_unexplained(status))


def _unexplained(status: JobStatus) -> JobStatus:
    """Without an obstacle that is gone."""
    if status.state.reason not in OBSTACLES:
        return status
    is_running = status.state.phase == JobPhase.RUNNING
    reason = names.JobStateReason.MIN_AVAILABLE_MET if is_running else names.JobStateReason.CREATED
    return statuses.explained(status, reason, "nothing stands in the way any more")
