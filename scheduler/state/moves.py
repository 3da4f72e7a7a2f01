"""
How a session changes the cluster: siblings get a new status at once, and the journal learns how to take it back.

Siblings are tasks of one job with the same request, role and present status, so that a run of a thousand costs one
change of the columns and a few list operations a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.account import moved
from scheduler.state.cluster import Cluster, coefficients
from scheduler.state.dimensions import Coefficients, Floats, Rows
from scheduler.state.status import OFF_NODE, Status

if TYPE_CHECKING:
    from scheduler.contract.journal import Journal
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.task import Task

_Totals = tuple[list[int], list[int], Floats, Floats | None]


def place(cluster: Cluster, tasks: Sequence[Task], nodes: Sequence[Node], status: Status, journal: Journal) -> None:
    """Put pending siblings on nodes, as Allocated or Pipelined. `nodes[i]` is the node of `tasks[i]`."""
    first = tasks[0]
    job = cluster.jobs[first.job]
    journal.push(_unplace, cluster, tasks, _save_totals(cluster, job, first.role))
    _shift(cluster, tasks, nodes, coefficients(status, in_kube=True), journal)
    _count(cluster, job, tasks, status)
    for task, node in zip(tasks, nodes, strict=True):
        task.status, task.node, task.in_kube = status, node, True
        node.tasks[task.key] = task
    cluster.sight.shift(tasks, nodes, 1, live=True, journal=journal)


def _unplace(cluster: Cluster, tasks: Sequence[Task], totals: _Totals) -> None:
    first = tasks[0]
    job = cluster.jobs[first.job]
    best_effort = first.request.is_best_effort
    for task in tasks:
        if task.node is not None:
            task.node.tasks.pop(task.key, None)
        task.status, task.node, task.in_kube = Status.PENDING, None, False
        job.pending[task.uid] = task
    if best_effort:
        job.best_effort_pending[first.role] += len(tasks)
    _restore_totals(cluster, job, first.role, totals)


def unplace(cluster: Cluster, tasks: Sequence[Task]) -> None:
    """Take Allocated or Pipelined siblings off their nodes without the journal, by arithmetic (see `cluster`)."""
    first = tasks[0]
    job = cluster.jobs[first.job]
    _book(cluster, job, first, Status.PENDING, len(tasks))
    for task in tasks:
        job.enter(task, task.status, -1)
        cluster.leave(task)
        task.status, task.in_kube = Status.PENDING, False
        job.enter(task, Status.PENDING, 1)


def restatus(
    cluster: Cluster, tasks: Sequence[Task], status: Status, journal: Journal, *, in_kube: bool = True
) -> None:
    """Give siblings another status on the nodes where they stand: Binding, Releasing, or back."""
    first = tasks[0]
    if status in OFF_NODE:
        raise ValueError(f"{first.key}: a session never moves a task to {status.label}; take its placement back")
    old = (first.status, first.in_kube)
    job = cluster.jobs.get(first.job)
    totals = _save_totals(cluster, job, first.role) if job is not None else None
    journal.push(_unrestatus, cluster, tasks, old, totals)
    before, after = coefficients(old[0], in_kube=old[1]), coefficients(status, in_kube=in_kube)
    if before != after:
        delta = (after[0] - before[0], after[1] - before[1], after[2] - before[2], after[3] - before[3])
        _shift(cluster, tasks, [task.node for task in tasks if task.node is not None], delta, journal)
    if job is not None:
        _count(cluster, job, tasks, status)
    _count_in_sight(cluster, tasks, old, (status, in_kube), journal)
    for task in tasks:
        task.status, task.in_kube = status, in_kube


def _count_in_sight(
    cluster: Cluster, tasks: Sequence[Task], old: tuple[Status, bool], new: tuple[Status, bool], journal: Journal
) -> None:
    """Terms of other pods don't see a pod that this session evicted."""
    if old[1] == new[1]:
        return
    standing = [(task, task.node) for task in tasks if task.node is not None]
    number, status = (1, new[0]) if new[1] else (-1, old[0])
    here, nodes = [task for task, _ in standing], [node for _, node in standing]
    cluster.sight.shift(here, nodes, number, live=status is not Status.RELEASING, journal=journal)


def _unrestatus(cluster: Cluster, tasks: Sequence[Task], old: tuple[Status, bool], totals: _Totals | None) -> None:
    for task in tasks:
        task.status, task.in_kube = old
    if totals is not None:
        _restore_totals(cluster, cluster.jobs[tasks[0].job], tasks[0].role, totals)


def _shift(
    cluster: Cluster, tasks: Sequence[Task], nodes: Sequence[Node], change: Coefficients, journal: Journal
) -> None:
    """Add a change of each task to the column of its node."""
    columns = cluster.columns
    effect = tasks[0].request.effect(cluster.dimensions, change)
    if len(nodes) == 1:
        row = nodes[0].row
        if row < 0:
            return
        journal.push(_unshift, cluster, row, columns.dynamic[:, row].copy())
        columns.dynamic[:, row] += effect
        cluster.touched.moved.extend((row,))
        return
    tally: dict[int, int] = {}
    for node in nodes:
        if node.row >= 0:
            tally[node.row] = tally.get(node.row, 0) + 1
    rows: Rows = np.fromiter(tally, dtype=np.intp, count=len(tally))
    journal.push(_unshift, cluster, rows, columns.dynamic[:, rows])
    columns.dynamic[:, rows] += effect[:, None] * np.fromiter(tally.values(), dtype=np.float64, count=len(tally))
    cluster.touched.moved.extend(tally)


def _unshift(cluster: Cluster, rows: Rows | int, saved: Floats) -> None:
    cluster.columns.dynamic[:, rows] = saved
    cluster.touched.moved.extend((rows,) if isinstance(rows, int) else rows.tolist())


def _save_totals(cluster: Cluster, job: Job, role: str) -> _Totals:
    queued = cluster.queues[job.queue].account if job.queue else None
    return job.counts[:], job.role_counts[role][:], job.account, queued


def _restore_totals(cluster: Cluster, job: Job, role: str, totals: _Totals) -> None:
    job.counts, job.role_counts[role], job.account, queued = totals
    if queued is not None:
        cluster.queues[job.queue].account = queued


def _count(cluster: Cluster, job: Job, tasks: Sequence[Task], status: Status) -> None:
    first = tasks[0]
    old, number = first.status, len(tasks)
    for counts in (job.counts, job.role_counts[first.role]):
        counts[old] -= number
        counts[status] += number
    if old is Status.PENDING:
        for task in tasks:
            del job.pending[task.uid]
        if first.request.is_best_effort:
            job.best_effort_pending[first.role] -= number
    _book(cluster, job, first, status, number)


def _book(cluster: Cluster, job: Job, first: Task, status: Status, number: int) -> None:
    change = moved(first.status, status, first.request.row(cluster.dimensions), number)
    if change is not None:
        cluster.book(job, change)
