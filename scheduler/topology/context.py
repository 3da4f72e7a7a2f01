"""
What a session knows of the network: the domains, the limits of jobs, and where their parts stand.

`Session.topology` is made at first use, so a cluster without HyperNodes pays nothing for it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.points import Point
from scheduler.state.status import Status
from scheduler.state.subjob import grouping_of, has_topology
from scheduler.topology.domain import Domain
from scheduler.topology.limits import Limit, job_limit, sub_job_limit
from scheduler.topology.recall import recall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job
    from scheduler.state.subjob import Grouping, SubJob
    from scheduler.state.task import Task
    from scheduler.topology.closeness import Rating

TELLING_PLUGIN = "network-topology-aware"
"""The built-in plugin that says which hypernodes a limited job may use."""
UNFIT_PLUGINS = (
    "the network topology of the job is hard, but no enabled plugin says which hypernodes it may use; "
    f"enable {TELLING_PLUGIN}"
)
_ELSEWHERE = (Status.SUCCEEDED, Status.FAILED, Status.UNKNOWN)


class Topology:
    """One session's."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._ratings: dict[str, Rating] = {}
        self._recalled: set[str] = set()

    @cached_property
    def view(self) -> HyperNodeView:
        """The domains over the nodes of this session."""
        return self.session.cluster.hypernodes.view(self.session.cluster)

    def domain(self, name: str) -> Domain:
        """A domain by name. Raises KeyError for one that doesn't exist."""
        return Domain(self.view, self.view.numbers[name])

    @cached_property
    def root(self) -> Domain:
        """All nodes."""
        return Domain(self.view, self.view.root)

    # Ratings of nodes by what they are close to.

    def add_closeness(self, plugin: str, rating: Rating) -> None:
        """
        Rate nodes for the next task of a sub-job that has a topology.

        `rating(sub_job, allocated, rows)` gives `(len(rows),) float64` for the candidates `rows`; `allocated` is the
        hypernode that holds the tasks placed so far. Switched by `enableNodeOrder`, like other ratings of nodes.
        """
        self._ratings[plugin] = rating

    @cached_property
    def ratings(self) -> list[Rating]:
        """Those of the plugins that are on, in the order of tiers."""
        options = self.session.configuration.plugins
        names = dict.fromkeys(option.name for option in options if option.is_on("enableNodeOrder"))
        return [self._ratings[name] for name in names if name in self._ratings]

    # Jobs.

    def concerns(self, job: Job) -> bool:
        """Whether a job is placed by the search among domains: it has a limit, if only in words, or sub-groups."""
        if not has_topology(job):
            if job.grouping is not None:
                grouping_of(job)
            return False
        limit = self.limit(job)
        return bool(grouping_of(job).policies) or limit.is_set or bool(limit.problem)

    def limit(self, job: Job) -> Limit:
        """The limit over all pods of a job."""
        return job_limit(job, self.view)

    def sub_limit(self, sub_job: SubJob) -> Limit:
        """The limit over the pods of a sub-job."""
        return sub_job_limit(sub_job, self.view)

    def grouping(self, job: Job) -> Grouping:
        """The sub-jobs of a job, with what is remembered of their places put right once a session."""
        grouping = grouping_of(job)
        if job.id not in self._recalled:
            self._recalled.add(job.id)
            recall(job, grouping, self.view)
        return grouping

    def obstacle(self, job: Job) -> str:
        """Why a job with limits can't be placed whatever room there is; empty when nothing is in its way."""
        if not has_topology(job):
            return ""
        limits = [self.limit(job), *(self.sub_limit(sub_job) for sub_job in grouping_of(job).sub_jobs.values())]
        problem = next((limit.problem for limit in limits if limit.problem), "")
        if problem:
            return problem
        asked = (Point.HYPER_NODE_GRADIENT_FOR_JOB, Point.HYPER_NODE_GRADIENT_FOR_SUB_JOB)
        if all(self.session.points.all(point) for point in asked):
            return ""
        widest = self.view.tiers[self.view.root]
        return UNFIT_PLUGINS if any(limit.tier is not None and limit.tier < widest for limit in limits) else ""

    # Where a single task may go.

    def allowed(self, task: Task) -> Mask | None:
        """
        `(nodes,)`: the nodes on which a task breaks no limit of its job or sub-job, given where its siblings stand.

        None when every node will do. For actions that place tasks one by one.
        """
        job = self.session.cluster.jobs.get(task.job)
        if job is None or not has_topology(job):
            return None
        mask: Mask | None = None
        sub_jobs = self.grouping(job).sub_jobs.values()
        own = next((sub_job for sub_job in sub_jobs if task.uid in sub_job.tasks), None)
        for limit, siblings in (
            (self.limit(job), job.tasks.values()),
            (self.sub_limit(own) if own is not None else Limit(), own.tasks.values() if own is not None else ()),
        ):
            if limit.problem:
                return np.zeros(len(self.view.nodes), dtype=np.bool_)
            if limit.tier is None or limit.tier >= self.view.tiers[self.view.root]:
                continue
            part = self._reach(limit.tier, (other for other in siblings if other.uid != task.uid))
            mask = part if mask is None else mask & part
        return mask

    def _reach(self, tier: int, siblings: Iterable[Task]) -> Mask:
        """The nodes of the domains of an allowed tier that hold all siblings which stand somewhere."""
        view = self.view
        rows = [other.node.row for other in siblings if other.node is not None and other.status not in _ELSEWHERE]
        held = np.array([row for row in rows if row >= 0], dtype=np.intp)
        reach = np.zeros(len(view.nodes), dtype=np.bool_)
        for number, name in enumerate(view.names):
            if view.tiers[number] > tier or name in view.suspect:
                continue
            if np.isin(held, view.rows[number]).all():
                reach[view.rows[number]] = True
        return reach
