"""
Where a job with limits goes: trials in one domain after the other, narrow ones first, and the best rated one wins.

A trial takes effect in the session and is taken back; the plan of the best is then applied again. When none succeeds
the last one is made in full, so that its messages say what is missing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.contexts import Purpose
from scheduler.state.subjob import policies_of
from scheduler.topology.subsearch import SubJobSearch, Trial

if TYPE_CHECKING:
    from scheduler.placing.placer import Placer
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.statement import Statement
    from scheduler.topology.domain import Domain
    from scheduler.topology.worksheet import JobSheet


class Plan(msgspec.Struct):
    """A plan in effect, not yet committed. `places` are the hypernodes of the sub-jobs that it places, by id."""

    statement: Statement
    hyper_node: str
    places: dict[str, str]


class Search:
    """Belongs to one run of allocate."""

    def __init__(self, session: Session, placer: Placer) -> None:
        self.session = session
        self.placer = placer
        self.parts = SubJobSearch(session, placer)

    def place_job(self, queue: Queue, job: Job, sheet: JobSheet) -> Plan | None:
        """Place what one visit of a job may, in effect and not committed; None when no domain will do."""
        self.parts.begin()
        gradients = self.parts.usable(
            self.session.gradients_for_job(job, self.session.topology.root.name, Purpose.ALLOCATE)
        )
        for gradient in (*self._nominated(job, gradients), *gradients):
            best: Trial[JobSheet] | None = None
            for bound, domain in self._promising(sheet, gradient):
                if bound > -math.inf and (best is None or (bound, -domain.number) > best.rank):
                    trial = self._try_job(queue, job, sheet.copy(), domain)
                    if trial is not None and (best is None or trial.rank > best.rank):
                        best = trial
            if best is not None:
                return self._apply_job(job, sheet, best)
        self._explain(queue, job, sheet, gradients)
        return None

    def _promising(self, sheet: JobSheet, gradient: list[Domain]) -> list[tuple[float, Domain]]:
        """The candidates with the highest rating that each can come to, those that promise most first."""
        part = sheet.copy().pop()
        sub_job = part.sub_job
        session = self.session
        # A plan that waits for releasing room may be made of several, whose ratings add up.
        several = sub_job is None or policies_of(sheet.job) or session.cluster.columns.releasing.any()
        if several or sub_job is None or not session.rates_hyper_nodes_alone(sub_job):
            return [(math.inf, domain) for domain in gradient]
        self.parts.is_untouched = True
        room = self.parts.room(part, sub_job)
        view = session.topology.view
        numbers = [[number for number in view.below(domain.number) if room[number]] for domain in gradient]
        scores = self.parts.scores(sub_job, {number for each in numbers for number in each})
        bounds = [max((scores[view.names[number]] for number in each), default=-math.inf) for each in numbers]
        return sorted(zip(bounds, gradient, strict=True), key=lambda pair: (-pair[0], pair[1].number))

    def _nominated(self, job: Job, gradients: list[list[Domain]]) -> list[list[Domain]]:
        """The candidates that hold all that evictions made room in for this job, each to be tried by itself."""
        view = self.session.topology.view
        sub_jobs = self.session.topology.grouping(job).sub_jobs.values()
        wanted = [view.numbers[sub_job.nominated] for sub_job in sub_jobs if sub_job.nominated in view]
        if not wanted:
            return []
        above = set.intersection(*(set(view.chain(number)) for number in wanted))
        return [[domain] for gradient in gradients for domain in gradient if domain.number in above]

    def _explain(self, queue: Queue, job: Job, sheet: JobSheet, gradients: list[list[Domain]]) -> None:
        """Say why no domain will do: by the last trial, or by what every domain lacks."""
        session = self.session
        if gradients:
            self._try_job(queue, job, sheet.copy(), gradients[-1][-1], explain=True)
            first = sheet.copy().pop().sub_job
            if not session.fit_errors.get(job.id) and first is not None:
                session.gradients_for_sub_job(first, session.topology.root.name, Purpose.ALLOCATE)
        if self.parts.tree_error:
            session.job_messages[job.id] = f"the hypernode tree is not ready: {self.parts.tree_error}"

    def _try_job(
        self, queue: Queue, job: Job, sheet: JobSheet, domain: Domain, *, explain: bool = False
    ) -> Trial[JobSheet] | None:
        """Place a job's sub-jobs in a domain, and take everything back."""
        session = self.session
        sub_jobs = session.topology.grouping(job).sub_jobs.values()
        before = [(sub_job, sub_job.allocated) for sub_job in sub_jobs]
        session.fit_errors.pop(job.id, None)
        for sub_job in sub_jobs:
            self.placer.failed_roles.pop(sub_job.uid, None)
        statement = session.statement()
        score, places = self._fill(queue, sheet, domain, statement, explain=explain)
        trial = None
        if statement and (session.job_ready(job) or session.job_pipelined(job)):
            trial = Trial(domain, statement.save(), sheet, score, places)
        for sub_job, allocated in before:
            sub_job.allocated = allocated
        statement.discard()
        return trial

    def _fill(
        self, queue: Queue, sheet: JobSheet, domain: Domain, statement: Statement, *, explain: bool
    ) -> tuple[float, dict[str, str]]:
        """Place sub-jobs until the job is whole; their summed rating, and where they went."""
        score = 0.0
        places: dict[str, str] = {}
        while sheet:
            self.parts.is_untouched = not statement
            part = sheet.pop()
            sub_job = part.sub_job
            assert sub_job is not None
            found = self.parts.place(queue, part, sub_job, domain, explain=explain)
            if found is None:
                continue
            plan, rating = found
            statement.merge(plan)
            score += rating
            places[sub_job.uid] = sub_job.allocated
            if part:
                sheet.push(part)
            if self.session.job_ready(sheet.job):
                break
        return score, places

    def _apply_job(self, job: Job, sheet: JobSheet, trial: Trial[JobSheet]) -> Plan | None:
        session = self.session
        statement = session.statement()
        if statement.recover(trial.operations) is not None:
            statement.discard()
            return None
        sheet.take(trial.sheet)
        session.job_messages.pop(job.id, None)
        return Plan(statement, trial.domain.name, trial.places)
