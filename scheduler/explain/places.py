"""Where a job may go: room that evictions made for it, and the hypernodes that its topology allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scheduler.contract.contexts import Purpose
from scheduler.contract.points import Point
from scheduler.explain.domains import beyond_all
from scheduler.explain.report import DomainRoom, Promise, TopologyStanding
from scheduler.explain.wording import shortage
from scheduler.state.dimensions import MIN_RESOURCE
from scheduler.state.subjob import has_topology
from scheduler.topology.context import TELLING_PLUGIN, UNFIT_PLUGINS
from scheduler.topology.fullness import sum_of
from scheduler.topology.shortage import room_of

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job

MOST = 5
"""So many hypernodes are told of."""


def promises(session: Session, job: Job) -> list[Promise]:
    """The nominations of a job's pods, with the victims that are still there."""
    tasks = session.cluster.tasks
    return [
        Promise(
            pod=nomination.task,
            node=nomination.node,
            action=nomination.reason,
            victims=[key for uid, key in nomination.victims.items() if uid in tasks],
        )
        for nomination in session.nominations.by_task.values()
        if nomination.job == job.id
    ]


def topology(session: Session, job: Job) -> TopologyStanding | None:
    """The job's limits and the hypernodes within them, those that lack least first; None for a job without limits."""
    spec = job.pod_group.spec.network_topology if job.pod_group is not None else None
    if not has_topology(job):
        return None
    view, limit = session.topology.view, session.topology.limit(job)
    widest = view.tiers[view.root]
    tier = limit.tier if limit.tier is not None and limit.tier < widest else None
    allowed = [
        number for number in range(len(view)) if number != view.root and (tier is None or view.tiers[number] <= tier)
    ]
    grouping = session.topology.grouping(job)
    nominated = sorted({sub_job.nominated for sub_job in grouping.sub_jobs.values() if sub_job.nominated})
    return TopologyStanding(
        mode=(spec.mode or "hard") if spec is not None else "",
        highest_tier=tier,
        allocated=grouping.allocated,
        nominated=", ".join(nominated),
        domains=len(allowed),
        best=_best(view, allowed, minimum_of(session, job)),
        errors=dict(view.errors),
    )


def topology_wanted(session: Session, job: Job) -> str:
    """What would let a job start that its topology keeps back."""
    obstacle = session.topology.obstacle(job)
    if not obstacle:
        return beyond_all(session, job) or "a hypernode within its limit with room for its missing pods"
    if obstacle != UNFIT_PLUGINS:
        return "a tier in networkTopology that the hypernodes of this cluster have"
    if any(option.name == TELLING_PLUGIN for option in session.configuration.plugins):
        switch = Point.HYPER_NODE_GRADIENT_FOR_JOB.switches[0]
        return f"{switch} of plugin {TELLING_PLUGIN} switched on in the scheduler's configuration"
    return f"plugin {TELLING_PLUGIN} in the scheduler's configuration, or mode soft in networkTopology"


def minimum_of(session: Session, job: Job) -> dict[str, float]:
    """What the pods that are missing for a start ask for together, in the units of `scheduler.state.dimensions`."""
    wanted = session.sorted_tasks([task for task in job.pending.values() if not task.is_gated])
    return sum_of(wanted[: max(1, job.ready_deficit())])


def _best(view: HyperNodeView, allowed: list[int], minimum: Mapping[str, float]) -> list[DomainRoom]:
    if not allowed or not minimum:
        return []
    _, missing = room_of(view, minimum, Purpose.ALLOCATE)
    parts = {
        number: max(
            max(missing[place, number], 0.0) / max(amount, MIN_RESOURCE)
            for place, amount in enumerate(minimum.values())
        )
        for number in allowed
    }
    return [
        DomainRoom(
            name=view.names[number],
            tier=view.tiers[number],
            nodes=len(view.rows[number]),
            lacks=[
                shortage(name, amount, amount - float(missing[place, number]))
                for place, (name, amount) in enumerate(minimum.items())
                if missing[place, number] >= MIN_RESOURCE
            ],
        )
        for number in sorted(allowed, key=lambda number: (parts[number], number))[:MOST]
    ]
