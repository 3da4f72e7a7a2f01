"""
Where the parts of a job stand: remembered between sessions, dropped when it is no longer so, found again from the pods.

After a restart nothing is remembered, and the nodes of the placed pods tell it (scheduler.md 6.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.subjob import has_topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.job import Job
    from scheduler.state.subjob import Grouping, SubJob
    from scheduler.state.task import Task


def recall(job: Job, grouping: Grouping, view: HyperNodeView) -> None:
    """Put right what is remembered of a job's and its sub-jobs' hypernodes."""
    _forget(job, grouping, view)
    if not has_topology(job):
        return
    found = False
    for sub_job in grouping.sub_jobs.values():
        if sub_job.topology is not None and not sub_job.allocated:
            sub_job.allocated = _place_of(sub_job.standing, view)
            found |= bool(sub_job.allocated)
    if found or not grouping.allocated:
        grouping.allocated = _joined(grouping.sub_jobs.values(), view)


def _forget(job: Job, grouping: Grouping, view: HyperNodeView) -> None:
    stands = False
    for sub_job in grouping.sub_jobs.values():
        standing = bool(sub_job.standing)
        stands |= standing
        if sub_job.allocated not in view or not standing:
            sub_job.allocated = ""
        if sub_job.nominated and sub_job.nominated not in view:
            for task in sub_job.tasks.values():
                task.nominated = ""
        if sub_job.nominated not in view or not any(uid in job.pending for uid in sub_job.tasks):
            sub_job.nominated = ""
    if grouping.allocated not in view or not stands:
        grouping.allocated = ""


def _place_of(tasks: list[Task], view: HyperNodeView) -> str:
    """The lowest domain that holds the nodes of all these tasks, empty where none of them is on a known node."""
    rows = [task.node.row for task in tasks if task.node is not None and task.node.row >= 0]
    return view.narrowest(np.array(rows, dtype=np.intp)) if rows else ""


def _joined(sub_jobs: Iterable[SubJob], view: HyperNodeView) -> str:
    joined = ""
    for sub_job in sub_jobs:
        joined = view.common(joined, sub_job.allocated)
    return joined
