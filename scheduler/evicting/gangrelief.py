"""
Makes room for whole gangs: finds the domain and the fewest bundles of victims with which a pending gang fits.

What gangpreempt and gangreclaim share. A domain that takes the gang without evictions comes first; else bundles are
added one at a time until a plan works, and then those that the plan can do without are spared (scheduler.md 11.6, 20.2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from api import names
from scheduler.contract.arguments import Arguments
from scheduler.contract.contexts import EvictionContext, Purpose
from scheduler.evicting.bundles import Bundle, bundles_of, held, ranked
from scheduler.evicting.gangplan import GangPlan, Part, Planner
from scheduler.evicting.prospects import Need, Prospects
from scheduler.evicting.settling import settle
from scheduler.state.dimensions import MIN_RESOURCE, Floats
from scheduler.state.status import EVICTABLE
from scheduler.topology.worksheet import job_sheet

if TYPE_CHECKING:
    from scheduler.contract.contexts import Kind
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.task import Task
    from scheduler.topology.domain import Domain

log = logging.getLogger(__name__)

MAX_DOMAINS = 8
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


class Rules(msgspec.Struct, frozen=True):
    """
    What tells the two actions apart.

    `belongs(job, beneficiary)`: whether a job may lose pods to it. `compare(left, right, beneficiary)`: negative when
    the left job gives first. `may_take(task)` is asked before a task of the beneficiary is placed.
    """

    kind: Kind
    belongs: Callable[[Job, Job], bool]
    compare: Callable[[Job, Job, Job], int]
    may_take: Callable[[Task], bool]


class GangRelief:
    """One run of a gang action."""

    def __init__(self, session: Session, rules: Rules) -> None:
        self.session = session
        self.rules = rules
        arguments = Arguments(session.configuration.action_arguments.get(rules.kind.value, {}))
        self.max_domains = arguments.int("maxDomains", MAX_DOMAINS)
        if self.max_domains <= 0:
            log.warning(
                "argument refused action=%s maxDomains=%d: at least one domain; using %d",
                rules.kind.value, self.max_domains, MAX_DOMAINS,
            )  # fmt: skip
            self.max_domains = MAX_DOMAINS
        self.allows_whole = arguments.bool("allowWholeBundle", True)

    def serve(self, job: Job) -> bool:
        """Make room for one job and pipeline it there; whether that was possible."""
        session = self.session
        parts = self._parts(job)
        if not parts or not all(self.rules.may_take(task) for part in parts for task in part.tasks):
            return False
        planner = Planner(session, job, parts, self.rules.kind, self.rules.may_take)
        found = self._find(planner, self._domains(planner))
        if found is None:
            return False
        statement = session.statement()
        if statement.recover(found.operations) is not None:
            statement.discard()
            return False
        if not settle(session, job, statement, self.rules.kind):
            return False
        if found.victims:
            for sub_job in (part.sub_job for part in parts):
                sub_job.nominated = found.places.get(sub_job.uid, sub_job.nominated)
        log.info(
            "gang placed action=%s job=%s victims=%s domains=%s", self.rules.kind.value, job.id,
            ",".join(task.key for task in found.victims), ",".join(sorted(set(found.places.values()))),
        )  # fmt: skip
        return True

    def _parts(self, job: Job) -> list[Part]:
        """What is to be placed: everything, or the next sub-job's tasks where the job is whole already."""
        session = self.session
        session.topology.grouping(job)
        sheet = job_sheet(session, job)
        parts = []
        while sheet:
            part = sheet.pop()
            if part.sub_job is not None:
                parts.append(Part(part.sub_job, tuple(part.rest())))
        return parts[:1] if session.job_ready(job) else parts

    def _domains(self, planner: Planner) -> list[Domain]:
        session = self.session
        topology = session.topology
        gradients = session.gradients_for_job(planner.job, topology.root.name, Purpose.EVICT)
        found = dict.fromkeys(name for gradient in gradients for name in gradient)
        usable = [name for name in found if name in topology.view and name not in topology.view.suspect]
        if not usable and not planner.is_bound:
            return [topology.root]
        return [topology.domain(name) for name in usable[: self.max_domains]]

    # One domain after the other.

    def _find(self, planner: Planner, domains: Sequence[Domain]) -> GangPlan | None:
        need = held((task for part in planner.parts for task in part.tasks), self.session.cluster.dimensions)
        free = {domain.name: self._free(domain) for domain in domains}
        for domain in domains:
            if _covers(free[domain.name], need):
                plan = planner.plan(domain, ())
                if plan is not None:
                    return plan
        if not _may_evict(planner) or self._is_being_cleared(planner):
            return None
        for domain in domains:
            plan = self._clear(planner, domain, need, free[domain.name])
            if plan is not None:
                return plan
        return None

    def _is_being_cleared(self, planner: Planner) -> bool:
        """Whether earlier victims of the gang are still leaving nodes that it may then take, so that more needn't."""
        session = self.session
        prospects = Prospects(session)
        for task in (task for part in planner.parts for task in part.tasks):
            node = session.cluster.node_by_name.get(session.nominations.node_of(task))
            if node is None or node.row < 0 or not session.nominations.is_being_cleared(task):
                continue
            if not prospects.is_ruled_out(Need(session, task, planner.queue), node):
                log.info("gang waits for earlier victims action=%s job=%s", self.rules.kind.value, planner.job.id)
                return True
        return False

    def _free(self, domain: Domain) -> Floats:
        """`(dims,)`: what the nodes of a domain have and will have free; an overcommitted node takes nothing away."""
        columns = self.session.cluster.columns
        future = columns.allocatable - columns.used + columns.releasing - columns.pipelined
        free: Floats = np.maximum(future[:, domain.rows], 0.0).sum(axis=1)
        return free

    def _clear(self, planner: Planner, domain: Domain, need: Floats, free: Floats) -> GangPlan | None:
        """Add bundles until a plan works, then leave out what it doesn't need."""
        selected: list[Bundle] = []
        available = free.copy()
        for bundle in self._bundles(planner, domain, need):
            selected.append(bundle)
            available += bundle.local
            if not _covers(available, need):
                continue
            self.session.gauges.count("total_preemption_attempts")
            plan = planner.plan(domain, _tasks(selected))
            if plan is not None:
                self.session.gauges.set("pod_preemption_victims", len(_tasks(selected)))
                return self._spare(planner, domain, selected, plan)
        return None

    def _bundles(self, planner: Planner, domain: Domain, need: Floats) -> list[Bundle]:
        job = planner.job
        dimensions = self.session.cluster.dimensions
        bundles: list[Bundle] = []
        for victim, candidates in self._candidates(job, domain).items():
            bundles += bundles_of(self.session.cluster.jobs[victim], candidates, dimensions)

        def compare(left: Job, right: Job) -> int:
            return self.rules.compare(left, right, job)

        ordered = ranked(bundles, need, compare)
        return ranked(self._allowed(job, domain, ordered), need, compare)

    def _candidates(self, job: Job, domain: Domain) -> dict[str, list[Task]]:
        """The tasks in a domain that may be made to leave, by job."""
        session = self.session
        found: dict[str, list[Task]] = {}
        may_lose: dict[str, bool] = {}
        for row in domain.rows.tolist():
            for task in session.nodes[row].tasks.values():
                if task.status not in EVICTABLE or not task.preemptable:
                    continue
                loses = may_lose.get(task.job)
                if loses is None:
                    victim = session.job(task.job)
                    loses = victim is not None and allows_preemption(victim) and self.rules.belongs(victim, job)
                    may_lose[task.job] = loses
                if loses:
                    found.setdefault(task.job, []).append(task)
        return found

    def _allowed(self, job: Job, domain: Domain, bundles: Sequence[Bundle]) -> list[Bundle]:
        """What the plugins let go of: safe bundles shrink to it, whole ones are kept whole or not at all."""
        context = EvictionContext(self.rules.kind, job, domain.name)
        allowed = {task.uid for task in self.session.unified_evictable(context, _tasks(bundles))}
        kept = []
        for bundle in bundles:
            tasks = [task for task in bundle.tasks if task.uid in allowed]
            if len(tasks) == len(bundle.tasks):
                if bundle.is_safe or self.allows_whole:
                    kept.append(bundle)
            elif bundle.is_safe and tasks:
                kept.append(bundle.only(tasks, self.session.cluster.dimensions))
        return kept

    # Not one too many.

    def _spare(self, planner: Planner, domain: Domain, selected: list[Bundle], plan: GangPlan) -> GangPlan:
        """Leave out bundles and, of safe ones, tasks, as long as a plan still works."""
        idle = [bundle for bundle in selected if not any(_stands_on(task, plan.used) for task in bundle.tasks)]
        if idle:
            fewer = planner.plan(domain, _tasks([bundle for bundle in selected if bundle not in idle]))
            if fewer is not None:
                selected = [bundle for bundle in selected if bundle not in idle]
                plan = fewer
        for bundle in reversed(selected):
            if not bundle.is_safe and len(selected) > 1:
                plan = self._without(planner, domain, plan, bundle.tasks) or plan
        return self._spare_tasks(planner, domain, selected, plan)

    def _spare_tasks(self, planner: Planner, domain: Domain, selected: Sequence[Bundle], plan: GangPlan) -> GangPlan:
        """Of safe bundles, put back whom the plan leaves room for, the last first."""
        loose = {task.uid for bundle in selected if bundle.is_safe for task in bundle.tasks}
        unused = [task for task in plan.victims if task.uid in loose and not _stands_on(task, plan.used)]
        if unused:
            plan = self._without(planner, domain, plan, unused) or plan
        while (spared := self._dispensable(plan, loose)) is not None:
            # Asked once each: either the plan does without, or something else than room speaks against it.
            loose.discard(spared.uid)
            plan = self._without(planner, domain, plan, (spared,)) or plan
        return plan

    def _dispensable(self, plan: GangPlan, loose: Container[str]) -> Task | None:
        """The last victim, of those in `loose`, that would find room beside what the plan places on its node."""
        dimensions = self.session.cluster.dimensions
        prospects = Prospects(self.session)
        free: dict[str, Floats] = {}
        for task in plan.victims:
            if task.node is not None and task.node.row >= 0:
                known = free.get(task.node.name)
                if known is None:
                    known = prospects.future_idle(task.node)
                free[task.node.name] = known + task.request.row(dimensions)
        for task, node in plan.placements:
            if node in free:
                free[node] = free[node] - task.request.row(dimensions)
        for task in reversed(plan.victims):
            if task.uid in loose and task.node is not None and task.node.name in free:
                row = free[task.node.name]
                if all(amount - row[column] < MIN_RESOURCE for column, amount in task.request.needed(dimensions)):
                    return task
        return None

    @staticmethod
    def _without(planner: Planner, domain: Domain, plan: GangPlan, spared: Sequence[Task]) -> GangPlan | None:
        uids = {task.uid for task in spared}
        return planner.plan(domain, [task for task in plan.victims if task.uid not in uids])


def _may_evict(planner: Planner) -> bool:
    """Whether anybody may have to leave for a gang: not where one of its pods is to wait for room that becomes free."""
    return all(task.shape.spec.preemption_policy != "Never" for part in planner.parts for task in part.tasks)


def _tasks(bundles: Sequence[Bundle]) -> list[Task]:
    return [task for bundle in bundles for task in bundle.tasks]


def _stands_on(task: Task, nodes: set[str]) -> bool:
    return task.node is not None and task.node.name in nodes


def _covers(available: Floats, need: Floats) -> bool:
    return bool(np.all((need < MIN_RESOURCE) | (need - available < MIN_RESOURCE)))


def allows_preemption(job: Job) -> bool:
    """Whether a PodGroup lets its pods be evicted for gangs: yes, unless its annotation or label says otherwise."""
    if job.pod_group is None:
        return False
    meta = job.pod_group.metadata
    text = meta.annotations.get(names.PREEMPTABLE_KEY, meta.labels.get(names.PREEMPTABLE_KEY))
    return text is None or text in _TRUE
