"""
Where one sub-job goes below a given domain: trials in one domain after the other, and the best rated one wins.

A trial takes effect in the session and is taken back; the plan of the best is then applied again. Trials that can't
succeed for want of room are left out.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from scheduler.contract.contexts import Purpose
from scheduler.state.subjob import policies_of
from scheduler.topology.capacity import hopeful
from scheduler.topology.nomination import redeem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scheduler.contract.domains import Gradients
    from scheduler.placing.placer import Placer
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.queue import Queue
    from scheduler.state.subjob import SubJob
    from scheduler.statement import Operation, Statement
    from scheduler.topology.domain import Domain
    from scheduler.topology.worksheet import JobSheet, Worksheet

S = TypeVar("S", "JobSheet", "Worksheet")


class Trial(msgspec.Struct, Generic[S]):
    """What a trial came to. `sheet` is the worksheet as it was left, `score` the rating of the domains chosen."""

    domain: Domain
    operations: tuple[Operation, ...]
    sheet: S
    score: float = 0.0
    places: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, int]:
        """The higher the better; ties go to the lower number."""
        return self.score, -self.domain.number


class SubJobSearch:
    """Belongs to one run of allocate. `tree_error` says why a candidate was left out of the job in turn."""

    def __init__(self, session: Session, placer: Placer) -> None:
        self.session = session
        self.placer = placer
        self.tree_error = ""
        self.is_untouched = False
        """Whether nothing of the job in turn is placed in this visit."""
        self._rooms: dict[str, Mask] = {}

    def begin(self) -> None:
        """Another visit, maybe of another job."""
        self._rooms.clear()
        self.tree_error = ""

    def usable(self, gradients: Gradients) -> list[list[Domain]]:
        """The candidates whose sets of nodes can be relied on, as groups that are not empty."""
        topology = self.session.topology
        view = topology.view
        for name in (name for gradient in gradients for name in gradient if name in view.suspect):
            self.tree_error = self.tree_error or view.suspect[name]
        usable = (
            [topology.domain(name) for name in gradient if name in view and name not in view.suspect]
            for gradient in gradients
        )
        return [gradient for gradient in usable if gradient]

    def scores(self, sub_job: SubJob, numbers: Iterable[int]) -> dict[str, float]:
        """The ratings of domains for a sub-job, by name."""
        view = self.session.topology.view
        return self.session.hyper_node_scores(sub_job, {view.names[each]: view.nodes_of(each) for each in numbers})

    def place(
        self, queue: Queue, sheet: Worksheet, sub_job: SubJob, domain: Domain, *, explain: bool
    ) -> tuple[Statement, float] | None:
        """Place what one visit of a sub-job may, in the best rated domain below `domain`; its plan and rating."""
        if sub_job.nominated and self._lies_in(sub_job.nominated, domain):
            plan = redeem(self.session, queue, sheet, sub_job)
            if plan is not None:
                return plan, 0.0
        room = self.room(sheet, sub_job)
        if not explain and not room[domain.number]:
            return None
        gradients = self.usable(self.session.gradients_for_sub_job(sub_job, domain.name, Purpose.ALLOCATE))
        for gradient in gradients:
            candidates = [below for below in gradient if room[below.number]]
            is_alone = len(candidates) > 1 and self.session.rates_hyper_nodes_alone(sub_job)
            if is_alone:
                scores = self.scores(sub_job, [below.number for below in candidates])
                candidates.sort(key=lambda below: (-scores[below.name], below.number))
            trials = (self._try(queue, sheet.copy(), below) for below in candidates)
            found = list(islice((trial for trial in trials if trial is not None), 1 if is_alone else None))
            if found:
                return self._apply(sheet, sub_job, found)
        if explain and gradients:
            self._try(queue, sheet.copy(), gradients[-1][-1])
        return None

    @staticmethod
    def _lies_in(name: str, domain: Domain) -> bool:
        view = domain.view
        return name in view and domain.number in view.chain(view.numbers[name])

    def room(self, sheet: Worksheet, sub_job: SubJob) -> Mask:
        """`(domains,)`: where a sub-job might find room for what it needs at least."""
        known = self._rooms.get(sub_job.uid) if self.is_untouched else None
        if known is not None:
            return known
        session = self.session
        needed = 1
        if not policies_of(sub_job.job):
            missing = max(1, session.ready_deficit(sub_job.job) - sub_job.job.waiting_count)
            # What the job misses beyond its worksheet asks for nothing, or can't come at all.
            needed = missing if missing <= len(sheet) else 1
        room = hopeful(session.topology.view, sheet.demand(session), needed)
        if self.is_untouched:
            self._rooms[sub_job.uid] = room
        return room

    def _try(self, queue: Queue, sheet: Worksheet, domain: Domain) -> Trial[Worksheet] | None:
        """Place a sub-job's tasks in a domain, and take everything back."""
        session = self.session
        sub_job = sheet.sub_job
        assert sub_job is not None
        self.placer.forget(sheet)
        session.job_messages.pop(sheet.job.id, None)
        statement = session.statement()
        self.placer.place(queue, sheet, statement, domain)
        trial = None
        if statement and (session.sub_job_ready(sheet.job, sub_job) or session.sub_job_pipelined(sheet.job, sub_job)):
            trial = Trial(domain, statement.save(), sheet)
        statement.discard()
        return trial

    def _apply(
        self, sheet: Worksheet, sub_job: SubJob, found: Sequence[Trial[Worksheet]]
    ) -> tuple[Statement, float] | None:
        session = self.session
        view = session.topology.view
        scores = self.scores(sub_job, [trial.domain.number for trial in found])
        best = max(found, key=lambda trial: (scores[trial.domain.name], -trial.domain.number))
        statement = session.statement()
        if statement.recover(best.operations) is not None:
            statement.discard()
            return None
        sub_job.allocated = view.common(sub_job.allocated, best.domain.name)
        sheet.take(best.sheet)
        return statement, scores[best.domain.name]
