"""
Whom the evicting actions serve, and how their plans end: committed as a whole or taken back as a whole.

A committed plan is looked at once more, since room that was made for one task may have made an earlier victim needless;
what it places is promised to the job beyond the session.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.contract.effects import Effect
from scheduler.evicting.prospects import Need, Prospects
from scheduler.state.dimensions import MIN_RESOURCE
from scheduler.statement import Eviction, placed_tasks

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task
    from scheduler.statement import Operation, Statement

log = logging.getLogger(__name__)

_ONE_BY_ONE = frozenset({Kind.PREEMPT, Kind.RECLAIM})
"""Actions that make room a task at a time; the others have looked at the whole plan."""


def starving_jobs(session: Session) -> dict[str, list[Job]]:
    """The jobs that take part, were let in, are valid, lack pods, and could be placed at all, by queue."""
    found: dict[str, list[Job]] = {}
    for job in session.open_jobs():
        if session.is_pending(job) or session.job_valid(job) is not None or not session.job_starving(job):
            continue
        obstacle = session.topology.obstacle(job)
        if obstacle:
            session.job_messages.setdefault(job.id, obstacle)
            continue
        found.setdefault(job.queue, []).append(job)
    return found


def waiting_tasks(session: Session, job: Job) -> list[Task]:
    """The job's pending tasks that no gate keeps back, first one first."""
    return session.sorted_tasks([task for task in job.pending.values() if not task.is_gated])


def needed_first(job: Job, tasks: Sequence[Task]) -> list[Task]:
    """
    Tasks in their order, but those first without which some role of the job lacks its minimum.

    Else the whole minimum might go to one role, and the job, no longer starving, would never be whole.
    """
    lacking = job.lacking_roles()
    needed: list[Task] = []
    others: list[Task] = []
    for task in tasks:
        is_needed = lacking.get(task.role, 0) > 0
        if is_needed:
            lacking[task.role] -= 1
        (needed if is_needed else others).append(task)
    return needed + others


def settle(session: Session, job: Job, statement: Statement, kind: Kind) -> bool:
    """
    End a plan: commit it when the job would be whole with it, else take it back; whether it was committed.

    What a plan with evictions places is promised to the job beyond the session.
    """
    if not session.job_pipelined(job):
        statement.discard()
        return False
    if kind in _ONE_BY_ONE and statement.has_evictions:
        prospects = Prospects(session)
        if not _holds_together(session, prospects, statement):
            log.info(
                "plan dropped action=%s job=%s why=its evictions take what its own pods rely on", kind.value, job.id
            )
            return False
        _spare(session, prospects, statement)
    if statement.has_evictions:
        session.gauges.count("eviction_transactions_total", 1.0, kind.value)
        placed = [task for operation in statement.operations for task in placed_tasks(operation)]
        session.nominations.grant(placed, kind.value, statement.victims)
        for task in placed:
            task.nominated = task.node.name if task.node is not None else ""
    statement.commit()
    return True


def _holds_together(session: Session, prospects: Prospects, statement: Statement) -> bool:
    """
    Whether every placement of a plan still fits once all its evictions have happened; else the plan is taken back.

    A task may rely on the presence of a pod that is evicted for a later one.
    """
    plan = statement.save()
    placed = [place for place, operation in enumerate(plan) if placed_tasks(operation)]
    evicted = [place for place, operation in enumerate(plan) if isinstance(operation, Eviction)]
    if not placed or evicted[-1] < placed[0]:
        return True
    if not any(_looks_around(session, task) for operation in plan for task in placed_tasks(operation)):
        return True
    statement.discard()
    if _prove(session, prospects, statement, plan):
        return True
    statement.discard()
    return False


def _looks_around(session: Session, task: Task) -> bool:
    """Whether some filter of a task looks at more than the resources of a node: only then can evictions do harm."""
    loose = session.loose is not None and bool(session.loose.filters)
    return loose or any(function.effect > Effect.COLUMNS for function in session.template(task).filters)


def _spare(session: Session, prospects: Prospects, statement: Statement) -> None:
    """
    Put back victims that the plan turns out not to need: room made for one task may do for a later one as well.

    The plan without a victim must prove itself again, placement by placement.
    """
    for victim in reversed(statement.victims):
        if victim.node is None:
            continue
        free = prospects.future_idle(victim.node)
        if any(
            amount - free[column] >= MIN_RESOURCE
            for column, amount in victim.request.needed(session.cluster.dimensions)
        ):
            continue
        plan = statement.save()
        statement.discard()
        without = [
            operation for operation in plan if not (isinstance(operation, Eviction) and operation.task is victim)
        ]
        if not _prove(session, prospects, statement, without):
            statement.discard()
            statement.recover(plan)


def _prove(session: Session, prospects: Prospects, statement: Statement, plan: Sequence[Operation]) -> bool:
    """Apply a plan again, evictions first, if each placement still fits at its turn; whether all did."""
    statement.recover(operation for operation in plan if isinstance(operation, Eviction))
    for operation in plan:
        if isinstance(operation, Eviction):
            continue
        queue = session.cluster.queues[session.cluster.jobs[operation.tasks[0].job].queue]
        for task, node in zip(operation.tasks, operation.nodes, strict=True):
            if not prospects.fits(Need(session, task, queue), node):
                return False
            if statement.place((task,), (node,), operation.status, eviction=operation.eviction) is not None:
                return False
    return True
