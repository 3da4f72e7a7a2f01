"""
Placing what can be placed of one job, as if it were in turn, and taking it back.

While the trial is in effect the nodes are as the first pod without a place would find them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from scheduler.placing.fiterrors import FitErrors, everywhere
from scheduler.placing.placement import choose
from scheduler.placing.placer import Placer
from scheduler.topology.search import Search
from scheduler.topology.worksheet import Worksheet, can_be_placed, job_sheet

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task
    from scheduler.statement import Statement


class Trial(msgspec.Struct, frozen=True):
    """What came of it. `placed` are uids; `errors` say why others found no node, as a cycle would."""

    placed: frozenset[str]
    errors: dict[str, FitErrors]
    message: str
    """Why the job as a whole could not be placed, where no pod says it."""
    is_whole: bool
    """Whether the gang would start at once."""
    is_promised: bool
    """Whether it would, once the pods that are leaving are gone."""


@contextmanager
def tried(session: Session, job: Job) -> Iterator[Trial]:
    """Place the pending tasks of a job that takes part; what was placed stands until the end of the block."""
    with session.nominations.lifted(job.id), _remembered(session, job):
        statement = session.statement()
        try:
            if session.topology.concerns(job):
                statement = _by_domains(session, job) or statement
            else:
                _one_by_one(session, job, statement)
            _place_free_ones(session, job, statement)
            yield _outcome(session, job)
        finally:
            statement.discard()


def _outcome(session: Session, job: Job) -> Trial:
    placed = frozenset(uid for uid, task in job.tasks.items() if task.status.label in {"Allocated", "Pipelined"})
    errors = session.fit_errors.pop(job.id, {})
    whole = session.job_ready(job)
    return Trial(
        placed=placed,
        errors={uid: found for uid, found in errors.items() if uid not in placed},
        message=session.job_messages.pop(job.id, ""),
        is_whole=whole,
        is_promised=whole or session.job_pipelined(job),
    )


@contextmanager
def _remembered(session: Session, job: Job) -> Iterator[None]:
    """Taking back moves tasks to the end of the pending ones, and the search notes places on the job: undo both."""
    order = list(job.pending)
    try:
        with _places_remembered(session, job):
            yield
    finally:
        for uid in order:
            if uid in job.pending:
                job.pending[uid] = job.pending.pop(uid)


@contextmanager
def _places_remembered(session: Session, job: Job) -> Iterator[None]:
    if not session.topology.concerns(job):
        yield
        return
    grouping = session.topology.grouping(job)
    places = [(sub_job, sub_job.allocated, sub_job.nominated) for sub_job in grouping.sub_jobs.values()]
    whole = grouping.allocated
    nodes = [(task, task.nominated) for task in job.pending.values()]
    try:
        yield
    finally:
        grouping.allocated = whole
        for sub_job, allocated, nominated in places:
            sub_job.allocated, sub_job.nominated = allocated, nominated
        for task, node in nodes:
            task.nominated = node


def _by_domains(session: Session, job: Job) -> Statement | None:
    obstacle = session.topology.obstacle(job)
    if obstacle:
        session.job_messages[job.id] = obstacle
        return None
    sheet = job_sheet(session, job)
    if not sheet:
        return None
    plan = Search(session, Placer(session)).place_job(session.queue_of(job), job, sheet)
    return plan.statement if plan is not None else None


def _one_by_one(session: Session, job: Job, statement: Statement) -> None:
    sheet = Worksheet(job, session.sorted_tasks([task for task in job.pending.values() if can_be_placed(task)]))
    placer, queue = Placer(session), session.queue_of(job)
    while sheet:
        before = len(statement.operations)
        placer.place(queue, sheet, statement)
        if len(statement.operations) == before:
            return


def _place_free_ones(session: Session, job: Job, statement: Statement) -> None:
    """Pods that ask for nothing go wherever a filter lets them."""
    tasks = [task for task in job.pending.values() if task.is_best_effort and not task.is_gated]
    for task in session.sorted_tasks(tasks):
        errors = _place_free(session, task, statement)
        if errors is not None:
            session.set_fit_error(task, errors)


def _place_free(session: Session, task: Task, statement: Statement) -> FitErrors | None:
    reason = session.pre_predicate(task)
    if reason is not None:
        return everywhere(reason, len(session.nodes))
    template = session.template(task)
    choice = choose(template, (task,), session.topology.allowed(task), session.loose)
    if not choice.rows:
        return session.examine(template, task)
    refusal = statement.place((task,), [session.nodes[choice.rows[0]]], choice.status)
    return FitErrors({refusal: 1}, 1) if refusal is not None else None
