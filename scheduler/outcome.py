"""
What a session leaves to be written besides binds and evictions: statuses, conditions and events, as data.

Only jobs that the session looked at, or that changed since the last one, are considered; the writers compare with
what they wrote before and send nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler import messages
from scheduler.state.status import COMPLETED, SCHEDULED, Status

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task

_WAITING = (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)
GANG_READY = "tasks in gang are ready to be scheduled"


@dataclass(frozen=True, slots=True)
class Condition:
    """A PodGroup condition; its time is the session's."""

    type: str
    reason: str
    message: str
    transition_id: str


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The status that a PodGroup should have, and what to say about it."""

    job: Job
    phase: str
    running: int
    succeeded: int
    failed: int
    condition: Condition | None
    event: str
    """Text of the Warning event `Unschedulable`, empty when the job doesn't wait."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """A pod that found no node: its `PodScheduled` condition, and the node kept for it, if any."""

    task: Task
    reason: str
    message: str
    nominated: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything of one session."""

    jobs: tuple[JobOutcome, ...] = ()
    tasks: tuple[TaskOutcome, ...] = ()


def outcome(session: Session, jobs: Iterable[Job]) -> Outcome:
    """Look at jobs at the end of a session, before what was left uncommitted is taken back."""
    job_outcomes: list[JobOutcome] = []
    task_outcomes: list[TaskOutcome] = []
    for job in jobs:
        result = _job_outcome(session, job)
        job_outcomes.append(result)
        task_outcomes += _task_outcomes(session, job)
    return Outcome(tuple(job_outcomes), tuple(task_outcomes))


def _job_outcome(session: Session, job: Job) -> JobOutcome:
    condition = _condition(session, job) if job.tasks else None
    phase = _phase(session, job, is_unschedulable=condition is not None and condition.type == "Unschedulable")
    counts = job.counts
    waits = phase in {"Unknown", "Pending", "Inqueue"} and not job.is_ready()
    text = ""
    if waits:
        text = (
            f"{counts[Status.PENDING]}/{len(job.tasks)} tasks in gang unschedulable: {messages.job_text(session, job)}"
        )
    return JobOutcome(
        job, phase, counts[Status.RUNNING], counts[Status.SUCCEEDED], counts[Status.FAILED], condition, text
    )


def _condition(session: Session, job: Job) -> Condition | None:
    if job.is_ready():
        return Condition("Scheduled", GANG_READY, "", session.uid)
    leaving = _leaving(job)
    replaced = bool(job.counts[Status.PENDING] or job.counts[Status.PIPELINED])
    if leaving and not replaced and job.count(SCHEDULED) + leaving >= job.min_available:
        # Pods of a whole gang are being deleted: nothing waits for anything.
        return None
    return Condition("Unschedulable", "NotEnoughResources", messages.gang_text(session, job), session.uid)


def _leaving(job: Job) -> int:
    """Tasks that are being deleted and stand on a node."""
    if not job.counts[Status.RELEASING]:
        return 0
    return sum(task.status is Status.RELEASING and task.node is not None for task in job.tasks.values())


def _phase(session: Session, job: Job, *, is_unschedulable: bool) -> str:
    """Phase of scheduler.md 14.2, by its table's order."""
    if job.counts[Status.RUNNING] and is_unschedulable:
        return "Unknown"
    standing = job.count(SCHEDULED) + _leaving(job)
    if standing >= job.min_available:
        return "Completed" if standing == job.count(COMPLETED) else "Running"
    return "Inqueue" if session.phase(job) == "Inqueue" else "Pending"


def _task_outcomes(session: Session, job: Job) -> list[TaskOutcome]:
    if not any(job.counts[status] for status in _WAITING):
        return []
    outcomes: list[TaskOutcome] = []
    whole = ""
    for task in job.tasks.values():
        if task.status not in _WAITING or task.is_gated:
            continue
        found = messages.task_reason(session, task)
        message = found.message
        if not message:
            whole = whole or messages.job_text(session, job) or messages.ALL_UNAVAILABLE
            message = whole
        outcomes.append(TaskOutcome(task, found.reason, message, found.nominated))
    return outcomes
