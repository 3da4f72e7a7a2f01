"""What no waiting brings to pods that have to be near each other: more than any hypernode within their limit holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.explain.wording import count, joined, quantity
from scheduler.state.dimensions import MIN_RESOURCE
from scheduler.topology.fullness import sum_of

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.dimensions import Request
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job
    from scheduler.state.task import Task
    from scheduler.topology.limits import Limit

_REMEDY = "so no waiting helps: allow a higher tier in networkTopology, ask for less, or add nodes to a hypernode"


def beyond_all(session: Session, job: Job) -> str:
    """
    Why no hypernode within the limits of a job or of its sub-groups is large enough, and what to change.

    Empty where one is, where there is no limit, and where it depends on which of its pods start.
    """
    topology = session.topology
    grouping = topology.grouping(job)
    needed = _needed(session, job)
    asked = sum_of(needed)
    for name, amount in ({} if grouping.allocated else job.minimum or {}).items():
        asked[name] = max(amount, asked.get(name, 0.0))
    told = [_told(topology.view, topology.limit(job), asked, needed)]
    for sub_job in grouping.sub_jobs.values():
        if not sub_job.allocated:
            # At first all its pods that wait have to find room, whatever its minimum is.
            waiting = [task for uid, task in sub_job.tasks.items() if uid in job.pending]
            told.append(_told(topology.view, topology.sub_limit(sub_job), sum_of(waiting), ()))
    return next(filter(None, told), "")


def _needed(session: Session, job: Job) -> list[Task]:
    """The pods that have their place and those that are missing for a start, where there is no choice among these."""
    waiting = [task for task in job.pending.values() if not task.is_gated]
    missing = max(1, job.ready_deficit())
    if len(waiting) > missing and len(_kinds(waiting)) > 1:
        return []
    placed = [task for task in job.tasks.values() if task.node is not None]
    return placed + session.sorted_tasks(waiting)[:missing]


def _told(view: HyperNodeView, limit: Limit, asked: Mapping[str, float], tasks: Sequence[Task]) -> str:
    """Whether none of the hypernodes has what is asked for in all, or none can hold the tasks on its nodes."""
    if limit.tier is None or limit.problem or limit.tier >= view.tiers[view.root]:
        return ""
    allowed = [number for number in range(view.root) if view.tiers[number] <= limit.tier]
    if not allowed or not asked:
        return ""
    beginning = f"no hypernode of tier {limit.tier} or lower is large enough even when empty"
    largest, lacks = _largest(view, allowed, asked)
    if lacks:
        has, wants = (joined([f"{quantity(name, row[name])} {name}" for name in lacks]) for row in (lacks, asked))
        return f"{beginning} (the largest, {view.names[largest]}, has {has} of {wants}), {_REMEDY}"
    held = {number: _held(view, number, tasks) for number in allowed}
    best = max(allowed, key=lambda number: held[number])
    if held[best] == len(tasks):
        return ""
    return f"{beginning} ({view.names[best]} holds {held[best]} of {count(len(tasks), 'pod')}), {_REMEDY}"


def _largest(view: HyperNodeView, allowed: Sequence[int], asked: Mapping[str, float]) -> tuple[int, dict[str, float]]:
    """The hypernode that lacks the smallest part in any resource, and what it has of those of which it lacks some."""
    dimensions, offered = view.cluster.dimensions, view.amounts("allocatable")

    def has(number: int, name: str) -> float:
        column = dimensions.get(name)
        return float(offered[column, number]) if column is not None else 0.0

    def lack(number: int) -> float:
        return max((amount - has(number, name)) / max(amount, MIN_RESOURCE) for name, amount in asked.items())

    largest = min(allowed, key=lack)
    short = {name: has(largest, name) for name in asked if asked[name] - has(largest, name) >= MIN_RESOURCE}
    return largest, short


def _held(view: HyperNodeView, number: int, tasks: Sequence[Task]) -> int:
    """So many of the pods the nodes of a hypernode could hold if nothing else ran there, each kind by itself."""
    columns = view.cluster.columns.allocatable[:, view.rows[number]]
    held = 0
    for request, wanted in _kinds(tasks).items():
        needed = request.needed(view.cluster.dimensions)
        if not needed:
            held += wanted
            continue
        asked = np.array([amount for _, amount in needed])
        fitting = np.floor((columns[[column for column, _ in needed]] + MIN_RESOURCE) / asked[:, None])
        held += min(wanted, int(fitting.min(axis=0).sum()))
    return held


def _kinds(tasks: Iterable[Task]) -> Counter[Request]:
    """How many pods ask for the same; pods of one shape share their request."""
    return Counter(task.request for task in tasks)
