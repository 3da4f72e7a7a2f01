"""
How far apart in the network a job and its sub-jobs may lie, as a highest tier (scheduler.md 5.3).

A soft wish becomes a limit that excludes nothing, so that everything that asks for closeness goes one way. The
PodGroup itself is never touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from generated.scheduling.v1beta1 import NetworkTopologyMode

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import NetworkTopologySpec
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job
    from scheduler.state.subjob import SubJob


class Limit(msgspec.Struct, frozen=True):
    """The highest tier allowed, None for no limit at all. `problem` says why a limit can't be told: nothing may start."""

    tier: int | None = None
    problem: str = ""

    @property
    def is_set(self) -> bool:
        """Whether there is a limit, even one that excludes nothing."""
        return self.tier is not None


NONE = Limit()


def job_limit(job: Job, view: HyperNodeView) -> Limit:
    """The limit over all pods of a job."""
    spec = job.pod_group.spec.network_topology if job.pod_group is not None else None
    return _limit(spec, view, view.tiers[view.root])


def sub_job_limit(sub_job: SubJob, view: HyperNodeView) -> Limit:
    """The limit over the pods of a sub-job; a soft one takes the job's."""
    outer = job_limit(sub_job.job, view).tier
    return _limit(sub_job.topology, view, view.tiers[view.root] if outer is None else outer)


def _limit(spec: NetworkTopologySpec | None, view: HyperNodeView, widest: int) -> Limit:
    if spec is None:
        return NONE
    if spec.mode == NetworkTopologyMode.SOFT:
        return Limit(widest)
    if spec.highest_tier_allowed is not None:
        return Limit(spec.highest_tier_allowed)
    if not spec.highest_tier_name:
        return NONE
    tier = view.tier_names.get(spec.highest_tier_name)
    if tier is None:
        return Limit(problem=f"failed to find hypernode tier name {spec.highest_tier_name}")
    return Limit(tier)
