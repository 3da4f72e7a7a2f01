"""
Whether a pending gang fits a domain once some pods are gone: tried in the session, and taken back again.

The outcome is the proof that an eviction needs. It holds the evictions and, for each pod of the gang, a place that
every filter allows in the state after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.contexts import Kind, Purpose
from scheduler.placing.placement import choose
from scheduler.state.status import Status
from scheduler.state.subjob import SubJob, grouping_of
from scheduler.statement import Eviction, Placement
from scheduler.topology.closeness import Closeness

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.statement import Operation, Statement
    from scheduler.topology.domain import Domain


class Part(msgspec.Struct, frozen=True):
    """The tasks of one sub-job that are to be placed, first one first."""

    sub_job: SubJob
    tasks: tuple[Task, ...]


class GangPlan(msgspec.Struct, frozen=True):
    """Operations that can be applied again. `places` are the hypernodes of the sub-jobs placed, by id."""

    operations: tuple[Operation, ...]
    places: dict[str, str]

    @property
    def placements(self) -> list[tuple[Task, str]]:
        """Each task that is placed, and the name of its node."""
        return [
            (task, node.name)
            for operation in self.operations
            if isinstance(operation, Placement)
            for task, node in zip(operation.tasks, operation.nodes, strict=True)
        ]

    @property
    def used(self) -> set[str]:
        """Names of the nodes that get a task."""
        return {node for _, node in self.placements}

    @property
    def victims(self) -> list[Task]:
        """The tasks that are evicted."""
        return [operation.task for operation in self.operations if isinstance(operation, Eviction)]


class Planner:
    """Plans for one pending job. `may_take(task)` is the action's own condition on each task."""

    def __init__(
        self, session: Session, job: Job, parts: Sequence[Part], kind: Kind, may_take: Callable[[Task], bool]
    ) -> None:
        self.session = session
        self.job = job
        self.queue: Queue = session.queue_of(job)
        self.parts = parts
        self.kind = kind
        self._may_take = may_take
        topology = session.topology
        limits = [topology.limit(job), *(topology.sub_limit(sub) for sub in grouping_of(job).sub_jobs.values())]
        self.is_bound = any(limit.is_set for limit in limits)
        """Whether the job or one of its sub-jobs limits how far apart its pods may lie."""

    def plan(self, domain: Domain, victims: Sequence[Task]) -> GangPlan | None:
        """A plan for the whole gang in a domain with these victims gone, or None; the session is as it was before."""
        session = self.session
        was_ready = session.job_ready(self.job)
        before = [(part.sub_job, part.sub_job.allocated) for part in self.parts]
        statement = session.statement()
        for victim in victims:
            statement.evict(victim, self.kind.value, self.job.id)
        places: dict[str, str] = {}
        complete = True
        with session.trying(victims):
            for part in self.parts:
                place = self._place_part(part, domain, statement, eviction=bool(victims))
                if place is None:
                    complete = False
                    break
                places[part.sub_job.uid] = place
                if was_ready or session.job_pipelined(self.job):
                    break
        plan = None
        if complete and places and session.job_pipelined(self.job):
            plan = GangPlan(statement.save(), places)
        for sub_job, allocated in before:
            sub_job.allocated = allocated
        statement.discard()
        return plan

    def _place_part(self, part: Part, domain: Domain, statement: Statement, *, eviction: bool) -> str | None:
        """Place all tasks of a sub-job in the first hypernode that takes them; its name, None when none does."""
        for place in self._places(part, domain):
            trial = self.session.statement()
            if self._place_tasks(part, place, trial, eviction=eviction) and self._stands(part.sub_job):
                statement.merge(trial)
                part.sub_job.allocated = place.view.common(part.sub_job.allocated, place.name)
                return place.name
            trial.discard()
        return None

    def _places(self, part: Part, domain: Domain) -> list[Domain]:
        if not self.is_bound:
            return [domain]
        session = self.session
        view = session.topology.view
        gradients = session.gradients_for_sub_job(part.sub_job, domain.name, Purpose.EVICT)
        names = dict.fromkeys(name for gradient in gradients for name in gradient)
        return [session.topology.domain(name) for name in names if name in view and name not in view.suspect]

    def _stands(self, sub_job: SubJob) -> bool:
        session = self.session
        return (
            session.sub_job_ready(self.job, sub_job)
            or session.sub_job_pipelined(self.job, sub_job)
            or (
                # An undivided job is asked as a whole, at the end.
                not grouping_of(self.job).policies
            )
        )

    def _place_tasks(self, part: Part, place: Domain, statement: Statement, *, eviction: bool) -> bool:
        """Put every task on a node of the hypernode, Pipelined; False when one finds none."""
        closeness = Closeness(part.sub_job, place, self.session.topology.ratings)
        tasks = part.tasks
        within = self._within(tasks[0], place)
        start = 0
        while start < len(tasks):
            placed = self._place_run(tasks[start:], within, closeness, statement, eviction=eviction)
            if not placed:
                return False
            start += placed
        return True

    def _within(self, task: Task, place: Domain) -> Mask | None:
        """`(nodes,)`: the nodes of a hypernode that are no step too far from siblings which stand already."""
        allowed = self.session.topology.allowed(task) if self.is_bound else None
        if allowed is None or place.within is None:
            return place.within if allowed is None else allowed
        return allowed & place.within

    def _place_run(
        self, tasks: Sequence[Task], within: Mask | None, closeness: Closeness, statement: Statement, *, eviction: bool
    ) -> int:
        """Place the first task and as many identical ones after it as go at once; how many."""
        session = self.session
        first = tasks[0]
        if not self._may_take(first) or not session.allocatable(self.queue, first):
            return 0
        if session.pre_predicate(first) is not None:
            return 0
        template = session.template(first)
        limit = 1
        if not (session.asks_each_task or closeness.counts):
            # Where nothing is asked in between, identical tasks go at once.
            limit = session.queue_room(self.queue, first, len(tasks), in_turns=False)
        alike = list(
            takewhile(lambda task: task.role == first.role and session.template(task) is template, tasks[:limit])
        )
        if self.kind is Kind.GANG_RECLAIM and len(alike) > 1:
            # The last one goes by itself: what its queue may take back is asked with all the others in place.
            alike.pop()
        rows = choose(template, alike, within, session.loose, closeness.extra).rows
        if not rows:
            return 0
        nodes = [session.nodes[row] for row in rows]
        if statement.place(alike[: len(rows)], nodes, Status.PIPELINED, eviction=eviction) is None:
            closeness.note(rows)
            return len(rows)
        if statement.place(alike[:1], nodes[:1], Status.PIPELINED, eviction=eviction) is None:
            closeness.note(rows[:1])
            return 1
        return 0
