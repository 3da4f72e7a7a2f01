"""What keeps a job from starting before any node is looked at: its PodGroup, its queue, admission, its own pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from scheduler.contract.points import Point
from scheduler.explain import wording
from scheduler.explain.ceilings import minimum_beyond
from scheduler.explain.report import Cause, CauseKind
from scheduler.explain.taken import taken
from scheduler.gates import is_behind_queue
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.explain.shared import Shared
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

Obstacle = tuple[Cause, str]
"""A cause, and what would end it."""

_STANDING = (Status.BOUND, Status.BINDING, Status.RUNNING)
ENQUEUE, ALLOCATE, BACKFILL = "enqueue", "allocate", "backfill"
DEFAULT = "default-scheduler"
"""Whom a pod asks for that names no scheduler."""


def unknown(session: Session, job: Job) -> Obstacle | None:
    """Why a job takes no part in scheduling at all; None when it does."""
    if job.pod_group is None:
        text = f"PodGroup {job.id} does not exist, though {wording.count(len(job.tasks), 'pod')} belong to it"
        return Cause(kind=CauseKind.NO_POD_GROUP, text=text), f"create PodGroup {job.id}"
    if not session.takes_part(job):
        text = f"queue {job.queue} does not exist"
        need = f"create queue {job.queue}, or name another in spec.queue of the PodGroup"
        return Cause(kind=CauseKind.NO_QUEUE, text=text), need
    return None


def no_class(job: Job, exists: Callable[[str], bool]) -> list[Obstacle]:
    """
    That pods are missing because the API server refuses those of a priority class that doesn't exist.

    `exists` says whether a class does. A job that has its pods needs the class no more.
    """
    name = job.pod_group.spec.priority_class_name if job.pod_group is not None else ""
    wanted = max(job.min_available, sum(job.role_minimum.values()))
    if not name or len(job.tasks) >= wanted or exists(name):
        return []
    text = f"PriorityClass {name} does not exist, so pods that name it can't be made"
    need = f"create PriorityClass {name}, or name another in priorityClassName"
    return [(Cause(kind=CauseKind.NO_PRIORITY_CLASS, text=text), need)]


def other_scheduler(asked: Sequence[str], own: Sequence[str]) -> list[Obstacle]:
    """That pods of a job are left to others: the schedulers that those ask for, and the names of this one."""
    if not asked:
        return []
    are_one = len(asked) == 1
    others, names = (wording.joined(sorted({name or DEFAULT for name in each})) for each in (asked, own))
    text = (
        f"{wording.count(len(asked), 'pod')} of it {'asks' if are_one else 'ask'} for scheduler {others}; "
        f"this one is {names} and leaves {'it' if are_one else 'them'} alone"
    )
    need = f"schedulerName {names} in the job and in the templates of its tasks, which takes a new job"
    return [(Cause(kind=CauseKind.OTHER_SCHEDULER, text=text), need)]


def before_nodes(shared: Shared, job: Job) -> Iterator[Obstacle]:
    """The obstacles of a job that takes part, in the order in which it meets them."""
    session = shared.session
    queue = session.queue_of(job)
    # Pods that ask for nothing are placed by backfill, which asks no queue.
    asks = any(not task.is_best_effort for task in job.pending.values())
    if not queue.limits.is_open and (asks or session.is_pending(job)):
        state = queue.object.status.state if queue.object is not None else ""
        text = f"queue {queue.name} is {state} and takes no new work"
        yield Cause(kind=CauseKind.QUEUE_CLOSED, text=text), f"open queue {queue.name}"
    yield from _admission(shared, job)
    yield from _members(session, job)
    yield from _actions(session, job)
    if asks and session.overused(queue):
        text = f"queue {queue.name} holds all that it deserves already"
        plugin = next((name for name, over in session.points.named(Point.OVERUSED) if over(queue)), "")
        need = f"pods of queue {queue.name} to end, or a larger part of the cluster for it"
        yield Cause(kind=CauseKind.QUEUE_OVERUSED, text=text, plugin=plugin), need


def _members(session: Session, job: Job) -> Iterator[Obstacle]:
    """Whether enough pods exist. Controllers make those of a job once it was let into its queue."""
    if not job.tasks and session.is_pending(job):
        text = f"none of its {job.min_available} pods exists yet: they are made once it is let into its queue"
        yield Cause(kind=CauseKind.NOT_ENOUGH_PODS, text=text), "its pods to be made after that"
        return
    verdict = session.job_valid(job)
    if verdict is not None:
        reason, message = getattr(verdict, "reason", ""), getattr(verdict, "message", str(verdict))
        text = f"{reason}: {message}" if reason else message
        yield Cause(kind=CauseKind.NOT_ENOUGH_PODS, text=text), _members_wanted(job)


def _actions(session: Session, job: Job) -> Iterator[Obstacle]:
    kinds = {BACKFILL if task.is_best_effort else ALLOCATE for task in job.pending.values()}
    for action in sorted(kinds - {*session.configuration.actions}):
        text = f"the configuration has no action {action}, so nothing is placed"
        yield Cause(kind=CauseKind.NO_ACTION, text=text), f"add {action} to the actions of the configuration"


def _members_wanted(job: Job) -> str:
    lacking = job.min_available - job.valid_count
    text = f"{wording.count(lacking, 'more pod')} that can run" if lacking > 0 else "enough pods of each role and group"
    absent = [
        f"{role} ({needed} needed)"
        for role, needed in sorted(job.role_minimum.items())
        if _is_absent(job, role, needed)
    ]
    if not absent or not job.tasks:
        return text
    return f"{text}; no pod exists of task {wording.joined(absent)}: it may wait for other tasks by dependsOn"


def _is_absent(job: Job, role: str, needed: int) -> bool:
    return needed > 0 and not any(job.role_counts.get(role, ()))


def _admission(shared: Shared, job: Job) -> Iterator[Obstacle]:
    """Whether the next cycle would let the job into its queue."""
    session = shared.session
    if not session.is_pending(job) or ENQUEUE not in session.configuration.actions:
        return
    if not job.asks_for_minimum or job.count(_STANDING) or session.job_enqueueable(job):
        return
    told = session.job_messages.pop(job.id, "")
    session.refusals.pop(job.id, None)
    plugin, separator, reason = told.partition(": ")
    if not separator:
        plugin = next((name for name, vote in session.points.named(Point.JOB_ENQUEUEABLE) if vote(job) < 0), "")
        reason = told or f"plugin {plugin} does not let it into queue {job.queue}"
        session.job_messages.pop(job.id, None)
        session.refusals.pop(job.id, None)
    asked = ", ".join(f"{amount} {name}" for name, amount in wording.amounts(job.minimum or {}).items())
    text = f"not let into queue {job.queue}: {reason}"
    need = f"room for its minResources ({asked or 'nothing'}) as {plugin or 'the plugins'} counts it"
    need = minimum_beyond(shared, job, plugin) or need
    parts = taken(shared, job, plugin, reason)
    yield Cause(kind=CauseKind.NOT_ADMITTED, text=text, plugin=plugin, taken=parts), need


def gates(job: Job) -> Obstacle | None:
    """The pods that scheduling gates keep back, if any."""
    gated = [task for task in job.pending.values() if task.is_gated]
    if not gated:
        return None
    names = sorted({gate for task in gated for gate in task.shape.gates})
    number = wording.count(len(gated), "pod")
    text = f"{number} kept back by scheduling gates: {', '.join(names)}"
    if all(is_behind_queue(task) for task in gated):
        return Cause(kind=CauseKind.GATED, text=text), f"room for them in queue {job.queue}, which then opens the gate"
    return Cause(kind=CauseKind.GATED, text=text), f"the gates {', '.join(names)} taken off"


def quota(session: Session, queue: Queue, task: Task, never: str) -> Obstacle | None:
    """Why the queue may not take a further pod like this one, as things stand now; `never` says what it can't ever."""
    if session.allocatable(queue, task):
        return None
    told = session.queue_message(queue, task)
    refusing = (name for name, may in session.points.named(Point.ALLOCATABLE) if not may(queue, task))
    need = never or f"pods of queue {queue.name} to end, or more for it to hold"
    return Cause(kind=CauseKind.QUOTA, text=told, plugin=next(refusing, "")), need
