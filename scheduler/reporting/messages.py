"""What a job and its tasks are told when they wait: the exact texts of scheduler.md 12.2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from scheduler.state.status import ALLOCATED, Status

if TYPE_CHECKING:
    from scheduler.placing.fiterrors import FitErrors
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task

PATIENCE = 30.0
"""Seconds between two messages that differ only in their numbers."""
_NUMBER = re.compile(r"\d+")
READY, NOT_READY = "pod group is ready", "pod group is not ready"
ALL_UNAVAILABLE = "all nodes are unavailable"
_STANDING = (Status.BOUND, Status.BINDING, Status.RUNNING)


def gist(message: str) -> str:
    """A message without its numbers."""
    return _NUMBER.sub("#", message)


class TaskReason(msgspec.Struct, frozen=True):
    """Why one task waits. `nominated` is the node that evictions make room on, empty otherwise."""

    reason: str
    message: str
    nominated: str = ""


def task_reason(session: Session, task: Task) -> TaskReason:
    """The reason of a task that has no place yet; a live plan says more than a discarded one."""
    status, node, eviction = _context(task)
    pod = f"Pod {task.key} can possibly be assigned to {node}, once "
    if status is Status.ALLOCATED:
        return TaskReason("Schedulable", f"{pod}minAvailable is satisfied")
    if status is Status.PIPELINED:
        # A plan that was taken back keeps no room: its node is told, and not named in the pod's status.
        nominated = node if eviction and task.status is Status.PIPELINED else ""
        return TaskReason("Unschedulable", f"{pod}resource is released and minAvailable is satisfied", nominated)
    if status is Status.PENDING:
        errors = session.fit_errors.get(task.job, {}).get(task.uid)
        message = str(errors) if errors is not None else session.job_messages.get(task.job, "")
        return TaskReason("Unschedulable", message)
    return TaskReason(status.label, session.job_messages.get(task.job, ""))


def _context(task: Task) -> tuple[Status, str, bool]:
    if task.status in {Status.ALLOCATED, Status.PIPELINED} or task.transaction is None:
        return task.status, task.node.name if task.node else "", task.eviction
    return task.transaction.status, task.transaction.node, task.transaction.eviction


def is_whole(session: Session, job: Job) -> bool:
    """Whether the gang minimum stands, and every plugin that is asked agrees."""
    return job.is_ready() and session.job_ready(job)


def job_text(session: Session, job: Job) -> str:
    """Why a job waits, with its tasks counted by status and the pending ones by reason."""
    counted = [f"{count} {status.label}" for status, count in zip(Status, job.counts, strict=True) if count]
    histogram = ", ".join(sorted([*counted, f"{job.min_available} minAvailable"]))
    text = f"{READY if is_whole(session, job) else NOT_READY}, {histogram}"
    if job.pending:
        reasons: dict[str, int] = {}
        for task in job.pending.values():
            reason = task_reason(session, task).reason
            reasons[reason] = reasons.get(reason, 0) + 1
        text += f"; Pending: {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}"
    return text + _partially_bound(session, job) + _origin(session, job)


def _partially_bound(session: Session, job: Job) -> str:
    """What a gang lacks of which some pods have their places already, as after a crash between two binds."""
    standing = job.count(_STANDING)
    missing = job.min_available - standing - job.counts[Status.SUCCEEDED] - job.pending_for_free
    if not standing or missing <= 0:
        return ""
    wanted = [task for task in job.pending.values() if not task.is_best_effort]
    wanted = session.sorted_tasks(wanted)[:missing]
    need: dict[str, float] = {"cpu": 0.0, "memory": 0.0}
    for task in wanted:
        for name, amount in task.request.amounts.items():
            if name != "pods":
                need[name] = need.get(name, 0.0) + amount
    text = f"; partially bound: {missing} missing, which need {_amounts(need)}"
    return text if len(wanted) == missing else f"{text}; {missing - len(wanted)} of them have no pod that waits"


def _amounts(amounts: Mapping[str, float]) -> str:
    """Text form of scheduler.md 3.1: cpu and memory first, then the others by name."""
    others = sorted(name for name in amounts if name not in {"cpu", "memory"})
    return ", ".join(f"{name} {amounts[name]:.2f}" for name in ("cpu", "memory", *others))


def _origin(session: Session, job: Job) -> str:
    message = session.job_messages.get(job.id)
    if message:
        return f". Origin reason is: {message}"
    found = first_failed(session, job)
    if found:
        return f". Origin reason is {found[0].name}: {found[1]}"
    gated = sum(task.is_gated for task in job.pending.values())
    return f". Origin reason is: {gated} pods are kept back by scheduling gates" if gated else ""


def first_failed(session: Session, job: Job) -> tuple[Task, FitErrors] | None:
    """The first task, in task order, that found no node, with its fit errors."""
    errors = session.fit_errors.get(job.id, {})
    failed = [task for task in job.pending.values() if task.uid in errors]
    if not failed:
        return None
    first = session.sorted_tasks(failed)[0]
    return first, errors[first.uid]


def gang_text(session: Session, job: Job) -> str:
    """`<missing>/<tasks> tasks in gang unschedulable: ...`, of the PodGroup's condition and event."""
    if not job.tasks:
        return f"0/0 tasks in gang unschedulable: {job_text(session, job)}"
    missing = max(0, job.min_available - job.ready_count - _schedulable(job))
    return f"{missing}/{len(job.tasks)} tasks in gang unschedulable: {job_text(session, job)}"


def _schedulable(job: Job) -> int:
    """Pending tasks that a discarded plan had a place for."""
    return sum(task.transaction is not None and task.transaction.status in ALLOCATED for task in job.pending.values())
