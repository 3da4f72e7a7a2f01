"""What a job and its tasks are told when they wait: the exact texts of scheduler.md 12.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.state.status import ALLOCATED, Status

if TYPE_CHECKING:
    from scheduler.fiterrors import FitErrors
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task

READY, NOT_READY = "pod group is ready", "pod group is not ready"
ALL_UNAVAILABLE = "all nodes are unavailable"


@dataclass(frozen=True, slots=True)
class TaskReason:
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
        return TaskReason(
            "Unschedulable", f"{pod}resource is released and minAvailable is satisfied", node if eviction else ""
        )
    if status is Status.PENDING:
        errors = session.fit_errors.get(task.job, {}).get(task.uid)
        message = str(errors) if errors is not None else session.job_messages.get(task.job, "")
        return TaskReason("Unschedulable", message)
    return TaskReason(status.label, session.job_messages.get(task.job, ""))


def _context(task: Task) -> tuple[Status, str, bool]:
    if task.status in {Status.ALLOCATED, Status.PIPELINED} or task.transaction is None:
        return task.status, task.node.name if task.node else "", task.eviction
    return task.transaction.status, task.transaction.node, task.transaction.eviction


def job_text(session: Session, job: Job) -> str:
    """Why a job waits, with its tasks counted by status and the pending ones by reason."""
    counted = [f"{count} {status.label}" for status, count in zip(Status, job.counts, strict=True) if count]
    histogram = ", ".join(sorted([*counted, f"{job.min_available} minAvailable"]))
    text = f"{READY if job.is_ready() else NOT_READY}, {histogram}"
    if job.pending:
        reasons: dict[str, int] = {}
        for task in job.pending.values():
            reason = task_reason(session, task).reason
            reasons[reason] = reasons.get(reason, 0) + 1
        text += f"; Pending: {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}"
    return text + _origin(session, job)


def _origin(session: Session, job: Job) -> str:
    message = session.job_messages.get(job.id)
    if message:
        return f". Origin reason is: {message}"
    found = first_failed(session, job)
    return f". Origin reason is {found[0].name}: {found[1]}" if found else ""


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
    missing = max(0, job.min_available - job.ready_count - _schedulable(job))
    return f"{missing}/{len(job.tasks)} tasks in gang unschedulable: {job_text(session, job)}"


def _schedulable(job: Job) -> int:
    """Pending tasks that a discarded plan had a place for."""
    return sum(task.transaction is not None and task.transaction.status in ALLOCATED for task in job.pending.values())
