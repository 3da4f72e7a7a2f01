"""
What a session leaves to be written besides binds and evictions: statuses, conditions and events, as data.

Only jobs that the session looked at, or that changed since the last one, are considered; the writers compare with
what they wrote before and send nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scheduler.evicting.nominations import Lapse
from scheduler.reporting import messages
from scheduler.state.status import COMPLETED, SCHEDULED, Status

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroupCondition
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task

_WAITING = (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)
NOT_ENOUGH = "NotEnoughResources"
GANG_READY = "tasks in gang are ready to be scheduled"


class Condition(msgspec.Struct, frozen=True):
    """A PodGroup condition; its time is the session's."""

    type: str
    reason: str
    message: str
    transition_id: str


class JobOutcome(msgspec.Struct, frozen=True):
    """The status that a PodGroup should have, and what to say about it."""

    job: Job
    phase: str
    running: int
    succeeded: int
    failed: int
    condition: Condition | None
    event: str
    """Text of the Warning event `Unschedulable`, empty when the job doesn't wait."""
    refusal: str = ""
    """Text of the Normal event `Unschedulable`: why the job was not let into its queue."""


class TaskOutcome(msgspec.Struct, frozen=True):
    """
    A pod that found no node: its `PodScheduled` condition, and the node kept for it, if any.

    `nominated` None says that the pod's status names a node which is kept for it no more.
    """

    task: Task
    reason: str
    message: str
    nominated: str | None


class Outcome(msgspec.Struct, frozen=True):
    """Everything of one session."""

    jobs: tuple[JobOutcome, ...] = ()
    tasks: tuple[TaskOutcome, ...] = ()
    lapses: tuple[Lapse, ...] = ()
    """Evictions whose beneficiaries got nothing of them."""
    asleep: frozenset[str] = frozenset()
    """Ids of jobs that were passed over, by enqueue or allocate: what they were told last still holds."""


def newest_condition(conditions: Sequence[PodGroupCondition]) -> PodGroupCondition | None:
    """The condition of a group that was written last: of those of one second the last, since it is appended."""
    return max(reversed(conditions), key=lambda condition: condition.last_transition_time or "", default=None)


def outcome(session: Session, jobs: Iterable[Job]) -> Outcome:
    """Look at jobs at the end of a session, before what was left uncommitted is taken back."""
    session.nominations.judge(lambda task: _why_not(session, task))
    job_outcomes: list[JobOutcome] = []
    task_outcomes: list[TaskOutcome] = []
    for job in jobs:
        result = _job_outcome(session, job)
        job_outcomes.append(result)
        task_outcomes += _task_outcomes(session, job)
    waiting = session.passed_over.union(session.memory.refused)
    asleep = waiting.difference(job.job.id for job in job_outcomes)
    return Outcome(tuple(job_outcomes), tuple(task_outcomes), session.nominations.lapses(), asleep)


def _is_void(session: Session, task: Task) -> bool:
    """Whether the pod's status names a node although nothing is kept for it, and it was tried in vain."""
    names_one = task.pod is not None and bool(task.pod.status.nominated_node_name)
    return (
        names_one
        and task.status is Status.PENDING
        and not session.nominations.node_of(task)
        and _why_not(session, task) is not None
    )


def _why_not(session: Session, task: Task) -> str | None:
    """Why a pending task found no node in this session, None when it wasn't tried."""
    errors = session.fit_errors.get(task.job, {}).get(task.uid)
    return str(errors) if errors is not None else None


def _job_outcome(session: Session, job: Job) -> JobOutcome:
    whole = messages.is_whole(session, job)
    reason = NOT_ENOUGH if whole else _obstacle(session, job)
    # A group without pods waits as well when something is against it, though the reference writes no condition then.
    is_told = bool(job.tasks) or (not whole and job.id in session.job_messages)
    text = "" if whole else messages.gang_text(session, job)
    condition = _condition(session, job, reason, text) if is_told else None
    phase = _phase(session, job, is_unschedulable=condition is not None and condition.type == "Unschedulable")
    counts = job.counts
    waits = phase in {"Unknown", "Pending", "Inqueue"} and not whole
    return JobOutcome(
        job,
        phase,
        counts[Status.RUNNING],
        counts[Status.SUCCEEDED],
        counts[Status.FAILED],
        condition,
        text if waits else "",
        session.refusals.get(job.id, ""),
    )


def _obstacle(session: Session, job: Job) -> str:
    """The reason of a waiting job's condition. Why it can't even be tried, if so, becomes its message."""
    queue = session.cluster.queues.get(job.queue)
    if queue is None or queue.object is None:
        text = f"queue {job.queue} does not exist; create it, or name another in spec.queue"
        session.job_messages.setdefault(job.id, text)
        return NOT_ENOUGH
    if session.is_pending(job) or not job.tasks:
        return NOT_ENOUGH
    verdict = session.job_valid(job)
    if verdict is None:
        return NOT_ENOUGH
    session.job_messages.setdefault(job.id, getattr(verdict, "message", str(verdict)))
    return getattr(verdict, "reason", NOT_ENOUGH)


def _condition(session: Session, job: Job, reason: str, text: str) -> Condition | None:
    """What the PodGroup is told; `text` says why it waits, and is empty for a whole gang."""
    if not text:
        return Condition("Scheduled", GANG_READY, "", session.uid)
    leaving = _leaving(job)
    replaced = bool(job.counts[Status.PENDING] or job.counts[Status.PIPELINED])
    if leaving and not replaced and job.count(SCHEDULED) + leaving >= job.min_available:
        # Pods of a whole gang are being deleted: nothing waits for anything.
        return None
    return Condition("Unschedulable", reason, text, session.uid)


def _leaving(job: Job) -> int:
    """Tasks that are being deleted and stand on a node."""
    if not job.counts[Status.RELEASING]:
        return 0
    return sum(task.status is Status.RELEASING and task.node is not None for task in job.tasks.values())


def _has_gangs(session: Session) -> bool:
    """Whether a job of which only some pods run is broken: without the gang plugin it has begun (compat: SCHED-11)."""
    return any(plugin.name == "gang" for plugin in session.plugins)


def _phase(session: Session, job: Job, *, is_unschedulable: bool) -> str:
    """Phase of scheduler.md 14.2, by its table's order."""
    if job.counts[Status.RUNNING] and is_unschedulable and _has_gangs(session):
        return "Unknown"
    standing = job.count(SCHEDULED) + _leaving(job)
    if standing >= job.min_available:
        # compat: SCHED-12. A pod that has yet to run keeps a group from being over, whatever its minimum.
        is_over = standing == job.count(COMPLETED) and not job.count((*_WAITING, Status.BINDING))
        return "Completed" if is_over else "Running"
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
        nominated = None if _is_void(session, task) else found.nominated
        outcomes.append(TaskOutcome(task, found.reason, message, nominated))
    return outcomes
