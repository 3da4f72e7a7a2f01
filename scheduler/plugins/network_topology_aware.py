"""
network-topology-aware: pods that talk to each other stay close, and the rest keeps large domains free (plugins.md 24).

Every figure of a hypernode is summed from the columns of its nodes when it is asked for, so it always follows what
was placed, evicted or taken back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.contexts import Purpose
from scheduler.contract.effects import Effect, Score
from scheduler.plugin import Plugin
from scheduler.state.dimensions import Floats, Rows
from scheduler.state.hypernode_view import NOWHERE
from scheduler.state.subjob import grouping_of, has_topology
from scheduler.topology.fullness import NormalPods, fullness_of, sum_of
from scheduler.topology.shortage import room_of, tell_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scheduler.contract.arguments import Arguments
    from scheduler.session import Session
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task
    from scheduler.topology.limits import Limit

log = logging.getLogger(__name__)

MAX_SCORE = 100.0
FADING = 0.8
MOST_DOMAINS = 8
_BINPACK = "hypernode.binpack"


class NetworkTopologyAware(Plugin):
    """Orders hypernodes, rates nodes and says which hypernodes a limited job may use."""

    name = "network-topology-aware"
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {
        "weight": Type.INT,
        f"{_BINPACK}.cpu": Type.INT,
        f"{_BINPACK}.memory": Type.INT,
        f"{_BINPACK}.resources": Type.TEXT,
        f"{_BINPACK}.resources.*": Type.INT,
        f"{_BINPACK}.normal-pod.enable": Type.BOOL,
        f"{_BINPACK}.normal-pod.fading": Type.FLOAT,
        "hypernode.gradient.evict.max-hypernodes": Type.INT,
    }

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.weight = self._weight("weight")
        listed = (name.strip() for name in arguments.text(f"{_BINPACK}.resources", "").split(","))
        keys = {name: f"{_BINPACK}.resources.{name}" for name in listed if name}
        keys |= {"cpu": f"{_BINPACK}.cpu", "memory": f"{_BINPACK}.memory"}
        self.weights = {name: self._weight(key) for name, key in keys.items()}
        self.rates_normal_pods = arguments.bool(f"{_BINPACK}.normal-pod.enable", True)
        fading = arguments.float(f"{_BINPACK}.normal-pod.fading", FADING)
        self.fading = fading if fading >= 0 else FADING
        most = arguments.int("hypernode.gradient.evict.max-hypernodes", MOST_DOMAINS)
        self.most_domains = most if most > 0 else MOST_DOMAINS
        self._session: Session
        self._view: HyperNodeView
        self._near: dict[str, Floats] = {}

    def _weight(self, key: str) -> int:
        weight = self.arguments.int(key, 1)
        if weight < 0:
            log.warning("argument refused plugin=%s %s=%d: a weight is 0 or more; using 1", self.name, key, weight)
        return weight if weight >= 0 else 1

    def on_session_open(self, session: Session) -> None:
        """Register everything; the ratings of nodes only where they can count."""
        self._session = session
        self._near.clear()
        self._view = session.topology.view
        # Only tasks that are placed tell hypernodes apart which tie.
        session.add_hyper_node_order(self.name, self.order, alone=lambda sub_job: not len(_rows_of(sub_job)))
        session.add_hyper_node_gradient_for_job(self.name, self.gradients_for_job)
        session.add_hyper_node_gradient_for_sub_job(self.name, self.gradients_for_sub_job)
        if not self.weight:
            return
        session.topology.add_closeness(self.name, self.rate_closeness)
        for job in session.open_jobs():
            if has_topology(job):
                grouping_of(job)
        if self.rates_normal_pods and len(self._view) > 1:
            rating = NormalPods(self._view, self.weights, self.fading)
            session.add_score(
                Score(
                    name="hypernode binpack",
                    plugin=self.name,
                    evaluate=rating,
                    weight=MAX_SCORE * self.weight,
                    reads=("request", "topology"),
                    effect=Effect.ALL,
                    applies=_is_normal,
                )
            )

    # Orders and ratings.

    def order(self, sub_job: SubJob, candidates: Mapping[str, Sequence[Node]]) -> dict[str, float]:
        """Fuller hypernodes first; those that tie for the best by how many tasks of the sub-job they hold."""
        view = self._view
        # What is placed is in use already.
        fullness = fullness_of(view, self.weights, sum_of(task for task in sub_job.tasks.values() if task.node is None))
        scores = {name: float(fullness[view.numbers[name]]) if name in view else 0.0 for name in candidates}
        best = max(scores.values(), default=0.0)
        tied = [name for name, score in scores.items() if score == best]
        if len(tied) > 1 and sub_job.tasks:
            rows = _rows_of(sub_job)
            for name in tied:
                here = view.rows[view.numbers[name]] if name in view else np.zeros(0, dtype=np.intp)
                scores[name] += int(np.isin(rows, here).sum()) / len(sub_job.tasks)
        return {name: score * MAX_SCORE * self.weight for name, score in scores.items()}

    def rate_closeness(self, sub_job: SubJob, allocated: str, rows: Rows) -> Floats:
        """How low the tier is in which a node meets the tasks placed so far; ties by tasks beside it."""
        view = self._view
        if allocated not in view:
            return np.zeros(len(rows))
        leaves = view.leaves[rows]
        ratings: Floats = self._nearness(view, allocated)[leaves]
        tied = ratings == ratings.max(initial=-np.inf)
        if int(tied.sum()) > 1 and sub_job.tasks:
            placed = view.leaves[_rows_of(sub_job)]
            beside = np.bincount(placed[placed != NOWHERE], minlength=len(view) + 1)
            beside[-1] = 0
            ratings = np.where(tied, ratings + beside[leaves] / len(sub_job.tasks), ratings)
        return ratings * (MAX_SCORE * self.weight)

    def _nearness(self, view: HyperNodeView, allocated: str) -> Floats:
        """By leaf: 1 for the hypernode itself, less the higher both meet; the last cell is for nodes in none."""
        near = self._near.get(allocated)
        if near is None:
            near = self._near[allocated] = np.zeros(len(view) + 1)
            low, high = min(view.tiers), max(view.tiers)
            for leaf in np.unique(view.leaves[view.leaves != NOWHERE]).tolist():
                tier = view.tiers[view.numbers[view.common(view.names[leaf], allocated)]]
                near[leaf] = (high - tier) / (high - low) if high > low else 1.0
            near[view.numbers[allocated]] = 1.0
        return near

    # Which hypernodes may be used.

    def gradients_for_job(self, job: Job, hyper_node: str, purpose: Purpose) -> list[list[str]]:
        """Where a job may go: hypernodes by tier, the lowest first, or for evictions the highest."""
        topology = self._session.topology
        grouping = topology.grouping(job)
        minimum = job.minimum or {}
        return self._gradients(
            job, topology.limit(job), hyper_node, purpose, allocated=grouping.allocated, minimum=minimum
        )

    def gradients_for_sub_job(self, sub_job: SubJob, hyper_node: str, purpose: Purpose) -> list[list[str]]:
        """The same for a sub-job, whose pending tasks all have to find room at first."""
        limit = self._session.topology.sub_limit(sub_job)
        wanted: Mapping[str, float] = {}
        if not sub_job.allocated and limit.is_set:
            pending = sub_job.job.pending
            wanted = sum_of(task for uid, task in sub_job.tasks.items() if uid in pending)
        return self._gradients(sub_job.job, limit, hyper_node, purpose, allocated=sub_job.allocated, minimum=wanted)

    def _gradients(
        self, job: Job, limit: Limit, given: str, purpose: Purpose, *, allocated: str, minimum: Mapping[str, float]
    ) -> list[list[str]]:
        if limit.tier is None:
            return [[given]]
        view = self._view
        root = self._search_root(view, limit.tier, given, allocated)
        if root == NOWHERE:
            self._tell(job, f"tasks stand in hypernode {allocated}, out of which tier {limit.tier} doesn't reach")
            return []
        below = [number for number in view.below(root) if view.tiers[number] <= limit.tier]
        if not below:
            self._tell(job, f"there is no hypernode of tier {limit.tier} or lower in {view.names[root]}")
            return []
        if not allocated:
            enough, shortage = room_of(view, minimum, purpose)
            fitting = [number for number in below if enough[number]]
            if not fitting:
                self._tell(job, tell_missing(view, below, limit.tier, minimum, shortage))
            below = fitting
        return self._by_tier(view, below, purpose)

    @staticmethod
    def _search_root(view: HyperNodeView, tier: int, given: str, allocated: str) -> int:
        start = view.numbers[given]
        if allocated not in view:
            return start
        highest = view.highest_within(view.numbers[allocated], tier)
        if highest == NOWHERE:
            return NOWHERE
        if start in view.chain(highest):
            return highest
        return start if highest in view.chain(start) else NOWHERE

    def _by_tier(self, view: HyperNodeView, numbers: Sequence[int], purpose: Purpose) -> list[list[str]]:
        tiers: dict[int, list[str]] = {}
        for number in numbers:
            tiers.setdefault(view.tiers[number], []).append(view.names[number])
        groups = [tiers[tier] for tier in sorted(tiers)]
        if purpose is not Purpose.EVICT:
            return groups
        cut: list[list[str]] = []
        left = self.most_domains
        for group in reversed(groups):
            if left > 0:
                cut.append(group[-left:])
                left -= len(cut[-1])
        return cut

    def _tell(self, job: Job, message: str) -> None:
        self._session.job_messages[job.id] = message


def _is_normal(task: Task) -> bool:
    return not task.has_topology


def _rows_of(sub_job: SubJob) -> Rows:
    """The columns of the nodes on which tasks of a sub-job stand, one entry a task."""
    rows = [task.node.row for task in sub_job.tasks.values() if task.node is not None and task.node.row >= 0]
    return np.array(rows, dtype=np.intp)
