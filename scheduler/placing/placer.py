"""
Places the tasks of a worksheet one after the other, identical ones as a run, within a domain of nodes.

The outcome of a run is that of one task after the other. What becomes of the plan is the caller's decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from scheduler.placing.fiterrors import FitErrors, everywhere, examine, passed_over
from scheduler.placing.placement import NONE, choose
from scheduler.state.subjob import policies_of
from scheduler.topology.closeness import Closeness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.placing.placement import Choice
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.statement import Statement
    from scheduler.topology.domain import Domain
    from scheduler.topology.worksheet import Worksheet


class _Refusal(msgspec.Struct, frozen=True):
    errors: FitErrors
    is_failure: bool
    """Whether the task was tried; a task that is only passed over doesn't end its job's turn."""


class Placer:
    """Belongs to one run of an action: it remembers which roles found no room."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.failed_roles: dict[str, set[str]] = {}
        """By sub-job: roles of which a task found no node."""
        self.in_one_go = False
        """Whether the job in turn would be in turn again after each task, until it has no more."""

    def has_failed(self, task: Task) -> bool:
        """Whether a task of an undivided job isn't tried, since another one of its role found no room."""
        return bool(task.role) and task.role in self.failed_roles.get(task.job, ())

    def forget(self, sheet: Worksheet) -> None:
        """Drop what is known of a sub-job's failures: it is tried anew elsewhere."""
        self.failed_roles.pop(sheet.uid, None)
        errors = self.session.fit_errors.get(sheet.job.id)
        if errors and sheet.sub_job is not None:
            for uid in sheet.sub_job.tasks:
                errors.pop(uid, None)

    def place(self, queue: Queue, sheet: Worksheet, statement: Statement, domain: Domain | None = None) -> None:
        """Place tasks until their job or sub-job is whole, or until a failure makes going on useless."""
        _Turn(self, queue, sheet, statement, domain).run()

    def let_in(self, queue: Queue, task: Task) -> None:
        """Have the gate of a task opened that waits for its queue alone; it is placed in a later cycle."""
        if self.session.allocatable(queue, task):
            self.session.open_gate(task)
        else:
            self.session.set_fit_error(task, FitErrors(base=self.session.queue_message(queue, task)))


class _Turn:
    """One visit of a worksheet. Without a domain all nodes count, and none is closer than another."""

    def __init__(
        self, placer: Placer, queue: Queue, sheet: Worksheet, statement: Statement, domain: Domain | None
    ) -> None:
        self.placer = placer
        self.session = placer.session
        self.queue = queue
        self.sheet = sheet
        self.statement = statement
        self.domain = domain
        self.within: Mask | None = domain.within if domain is not None else None
        self.closeness: Closeness | None = None
        if domain is not None and sheet.sub_job is not None:
            self.closeness = Closeness(sheet.sub_job, domain, self.session.topology.ratings)

    def run(self) -> None:
        sheet = self.sheet
        while sheet:
            first = sheet.peek(1)[0]
            if first.is_gated:
                sheet.skip(1)
                self.placer.let_in(self.queue, first)
                continue
            refusal = self._refusal(first)
            if refusal is not None:
                sheet.skip(1)
                self._explain(first, refusal.errors)
                if refusal.is_failure and not self._fail(first):
                    return
                continue
            placed = self._place_run(self._run_of(first))
            sheet.skip(max(1, placed))
            if not placed and not self._fail(first):
                return
            if placed and self._is_ready():
                return

    def _is_ready(self) -> bool:
        job, sub_job = self.sheet.job, self.sheet.sub_job
        return self.session.job_ready(job) if sub_job is None else self.session.sub_job_ready(job, sub_job)

    def _deficit(self) -> int:
        sub_job = self.sheet.sub_job
        if sub_job is None or not policies_of(sub_job.job):
            return self.session.ready_deficit(self.sheet.job)
        return 1 if self._is_ready() else max(1, sub_job.missing)

    def _refusal(self, task: Task) -> _Refusal | None:
        """What is against a task before any node is looked at."""
        session = self.session
        if not session.allocatable(self.queue, task):
            return _Refusal(FitErrors(base=session.queue_message(self.queue, task)), is_failure=False)
        if task.role and task.role in self.placer.failed_roles.get(self.sheet.uid, ()):
            return _Refusal(passed_over(task), is_failure=False)
        reason = session.pre_predicate(task)
        if reason is not None:
            number = len(session.nodes) if self.domain is None else len(self.domain.rows)
            return _Refusal(everywhere(reason, number), is_failure=True)
        return None

    def _explain(self, task: Task, errors: FitErrors) -> None:
        if self.domain is not None and not errors.hyper_node:
            errors = replace(errors, hyper_node=self.domain.label)
        self.session.set_fit_error(task, errors)

    # Runs.

    def _run_of(self, first: Task) -> Sequence[Task]:
        """The next tasks that are identical and may be placed without asking anything in between."""
        session, sheet = self.session, self.sheet
        if session.asks_each_task or first.nominated:
            return sheet.peek(1)
        whole = self.placer.in_one_go and session.job_ready(sheet.job)
        limit = len(sheet) if whole else min(len(sheet), self._deficit())
        limit = session.queue_room(self.queue, first, limit, in_turns=whole)
        return sheet.run(session, limit) if limit > 1 else sheet.peek(1)

    def _place_run(self, tasks: Sequence[Task]) -> int:
        """Place the first of some identical tasks, and as many after it as go at once; how many were placed."""
        session = self.session
        first = tasks[0]
        template = session.template(first)
        choice = self._choose(template, tasks)
        placed = len(choice.rows)
        if self.closeness is not None:
            placed = self.closeness.accepted(template, choice)
        if not placed:
            self._explain(first, self._examine(template, first))
            return 0
        rows = choice.rows[:placed]
        refusal = self.statement.place(tasks[:placed], [session.nodes[row] for row in rows], choice.status)
        if refusal is None:
            if self.closeness is not None:
                self.closeness.note(rows)
            return placed
        # A handler refused the batch: find out with the first task alone which one it meant.
        if placed > 1:
            return self._place_run(tasks[:1])
        self._explain(first, FitErrors({refusal: 1}, 1))
        return 0

    def _choose(self, template: Template, tasks: Sequence[Task]) -> Choice:
        session = self.session
        first = tasks[0]
        extra = self.closeness.extra if self.closeness is not None else None
        if first.nominated:
            choice = self._choose_nominated(template, first)
            if choice.rows:
                return choice
        sampling = session.memory.sampling
        if sampling is None:
            return choose(template, tasks, self.within, session.loose, extra)
        found = sampling.limit(template, first, self.within, session.loose)
        return choose(template, (first,), found, session.loose, extra)

    def _choose_nominated(self, template: Template, task: Task) -> Choice:
        """The node that the pod's status names, if it lies in the domain and takes the task."""
        session = self.session
        node = session.cluster.node_by_name.get(task.nominated)
        if node is None or node.row < 0 or (self.within is not None and not self.within[node.row]):
            return NONE
        alone = np.zeros(len(session.nodes), dtype=np.bool_)
        alone[node.row] = True
        return choose(template, (task,), alone, session.loose)

    # Failures.

    def _examine(self, template: Template, task: Task) -> FitErrors:
        if self.domain is None or self.domain.is_root:
            return self.session.examine(template, task)
        loose = self.session.loose
        return examine(template, task, self.domain.rows, tuple(loose.filters) if loose is not None else ())

    def _fail(self, task: Task) -> bool:
        """Note that a task found no node; whether the rest is still worth trying."""
        job, sub_job = self.sheet.job, self.sheet.sub_job
        roles = self.placer.failed_roles.setdefault(self.sheet.uid, set())
        roles.add(task.role)
        if job.min_available >= len(job.tasks):
            return False
        if sub_job is not None:
            if sub_job.min_available >= len(sub_job.tasks):
                return False
            if policies_of(job):
                return True
        return may_continue(job, roles)


def may_continue(job: Job, failed: set[str]) -> bool:
    """Whether a job may still become whole when no further task of these roles finds a place."""
    if job.min_available < sum(job.role_minimum.values()):
        others = sum(task.role not in failed for task in job.pending.values())
        return job.ready_count + others >= job.min_available
    return not any(job.role_minimum.get(role, 0) > job.role_ready_count(role) for role in failed)
