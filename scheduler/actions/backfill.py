"""
backfill: places the pods that ask for nothing, wherever a filter lets them (scheduler.md 11.3).

Also those that an action before put aside for later: what they wait for is not room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.placing.fiterrors import FitErrors, everywhere, examine
from scheduler.placing.placement import choose
from scheduler.state.status import Status
from scheduler.statement import Placement, operation_job

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.job import Job
    from scheduler.state.task import Task
    from scheduler.statement import Operation, Statement

OUT_OF_REACH = "no node is within the network topology that the job allows"


def backfill(session: Session) -> None:
    """Queue by queue and job by job; a job's plan is committed once the job is ready."""
    put_aside: dict[str, list[Operation]] = {}
    for operation in session.kept:
        if _is_put_aside(session, operation):
            put_aside.setdefault(operation_job(operation), []).append(operation)
    turns = session.turns("backfill")
    jobs = [job for job in _jobs(session, put_aside) if turns.may(job)]
    turns.wait(jobs)
    for job in jobs:
        if session.expired():
            return
        turns.take(job.id)
        with session.nominations.lifted(job.id):
            _take_up(session, put_aside.get(job.id, ()))
            _fill(session, job)


def _is_put_aside(session: Session, operation: Operation) -> bool:
    """Whether other actions pipelined pods that ask for nothing, and not because their place is still being cleared."""
    if not isinstance(operation, Placement) or operation.status is not Status.PIPELINED:
        return False
    return operation.tasks[0].is_best_effort and not any(map(session.nominations.is_being_cleared, operation.tasks))


def _take_up(session: Session, put_aside: Sequence[Operation]) -> None:
    """Make pods pending again that were put aside."""
    for operation in reversed(put_aside):
        session.kept.remove(operation)
        session.take_back(operation)


def _fill(session: Session, job: Job) -> None:
    """Place the pods of one job."""
    statement = session.statement()
    for task in session.sorted_tasks([task for task in job.pending.values() if _is_ours(task)]):
        errors = _place(session, task, statement)
        if errors is not None:
            session.set_fit_error(task, errors)
    if session.job_ready(job):
        statement.commit()
    else:
        statement.keep()


def _place(session: Session, task: Task, statement: Statement) -> FitErrors | None:
    """Put a task on the best node that takes it; why none does, or None."""
    reason = session.pre_predicate(task)
    if reason is not None:
        return everywhere(reason, len(session.nodes))
    within = session.topology.allowed(task)
    if within is not None and not within.any():
        return FitErrors(base=OUT_OF_REACH)
    template = session.template(task)
    sampling = session.memory.sampling
    found = sampling.limit(template, task, within, session.loose) if sampling is not None else within
    choice = choose(template, (task,), found, session.loose)
    if not choice.rows:
        return _examine(session, template, task, within)
    refusal = statement.place((task,), [session.nodes[choice.rows[0]]], choice.status)
    return FitErrors({refusal: 1}, 1) if refusal is not None else None


def _examine(session: Session, template: Template, task: Task, within: Mask | None) -> FitErrors:
    if within is None:
        return session.examine(template, task)
    loose = tuple(session.loose.filters) if session.loose is not None else ()
    return examine(template, task, np.flatnonzero(within), loose)


def _is_ours(task: Task) -> bool:
    return task.is_best_effort and not task.is_gated


def _jobs(session: Session, put_aside: Container[str]) -> list[Job]:
    jobs = [
        job
        for job in session.open_jobs()
        if (job.pending_for_free or job.id in put_aside)
        and not session.is_pending(job)
        and session.job_valid(job) is None
    ]
    queues = session.queue_ranking().sorted({job.queue: session.queue_of(job) for job in jobs}.values())
    place = {queue.name: number for number, queue in enumerate(queues)}
    ranked = session.job_ranking().sorted(jobs)
    return sorted(ranked, key=lambda job: place[job.queue])
