"""
What jobs that were let into their queues still keep free, and what they hold beyond their minimum.

Both depend on a job's phase and counts in a way that no sum can follow, so they are settled job by job between
sessions: only for jobs that changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.account import Entry
from scheduler.state.dimensions import MIN_RESOURCE, Floats
from scheduler.state.status import ALLOCATED, COMPLETED, SCHEDULED, Status

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.job import Job

_INQUEUE = "Inqueue"
_UNRESERVED = ("ephemeral-storage",)
"""Counted on nodes, never kept free for a minimum (compat: RES-4)."""


def settle(cluster: Cluster, job: Job) -> None:
    """Bring what a job reserves, and its elastic part, up to date in its account and in that of its queue."""
    cluster.learn(job.minimum or {})
    reserved, elastic = _reserved(cluster, job), _beyond(job.allocated, minimum_row(cluster, job))
    if np.array_equal(reserved, job.reserved) and np.array_equal(elastic, job.elastic):
        return
    change = np.zeros_like(job.account)
    change[Entry.RESERVED] = reserved - job.reserved
    change[Entry.ELASTIC] = elastic - job.elastic
    cluster.book(job, change)


def minimum_row(cluster: Cluster, job: Job) -> Floats:
    """
    `(dims,)` of `spec.minResources`, zero where none are given.

    A name that no session has met yet can't be anywhere in the cluster; jobs are settled before they are asked about.
    """
    row = np.zeros(len(cluster.dimensions))
    for name, amount in (job.minimum or {}).items():
        column = cluster.dimensions.get(name)
        if column is not None:
            row[column] = amount
    return row


def ungated(job: Job, row: Floats) -> Floats:
    """A row less what gated tasks of the job ask for: they can't take their part of it yet."""
    return _beyond(row, job.gated) if (job.gated >= MIN_RESOURCE).any() else row


def _reserved(cluster: Cluster, job: Job) -> Floats:
    if job.minimum is None or not _reserves(job):
        return np.zeros(len(cluster.dimensions))
    row = minimum_row(cluster, job)
    for name in _UNRESERVED:
        column = cluster.dimensions.get(name)
        if column is not None:
            row[column] = 0.0
    return ungated(job, _beyond(row, job.allocated))


def _reserves(job: Job) -> bool:
    """Whether the job was let in and is neither finished nor broken up (phases of scheduler.md 14.2)."""
    standing = job.count(SCHEDULED) + job.counts[Status.RELEASING]
    if standing >= max(1, job.min_available):
        runs = standing > job.count(COMPLETED)
        return runs and job.count(ALLOCATED) >= job.min_available
    return job.phase == _INQUEUE and not job.counts[Status.RUNNING]


def _beyond(row: Floats, other: Floats) -> Floats:
    return np.maximum(row - other, 0.0)
