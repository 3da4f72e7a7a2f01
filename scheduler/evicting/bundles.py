"""
What a gang can give: pods that it doesn't need to stay whole, and the rest, which goes only together.

Bundles keep the gang actions from breaking gangs by halves: a safe one may be taken in part, a whole one ends the gang
and is taken last (scheduler.md 11.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.state.dimensions import MIN_RESOURCE, Floats
from scheduler.state.subjob import grouping_of, needed_sub_jobs

if TYPE_CHECKING:
    from scheduler.state.dimensions import Dimensions
    from scheduler.state.job import Job
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task

CompareJobs = Callable[["Job", "Job"], int]


class Bundle(msgspec.Struct, frozen=True):
    """
    Tasks of one job that leave together, `is_safe` when the job stays whole without them.

    `local` is what they hold, `total` what the job's end costs: nothing for a safe bundle. Rows of resources.
    """

    job: Job
    tasks: tuple[Task, ...]
    is_safe: bool
    local: Floats
    total: Floats

    def only(self, tasks: Sequence[Task], dimensions: Dimensions) -> Bundle:
        """The same with a part of its tasks."""
        return Bundle(self.job, tuple(tasks), self.is_safe, held(tasks, dimensions), self.total)


def held(tasks: Iterable[Task], dimensions: Dimensions) -> Floats:
    """`(dims,)`: what tasks ask for together."""
    total = np.zeros(len(dimensions))
    for task in tasks:
        total += task.request.row(dimensions)
    return total


def bundles_of(job: Job, candidates: Iterable[Task], dimensions: Dimensions) -> list[Bundle]:
    """The bundles of a victim job: at most one safe one and one whole one."""
    ordered = sorted(candidates, key=lambda task: (task.priority, task.uid))
    safe, rest = _divide(job, ordered)
    nothing = np.zeros(len(dimensions))
    bundles = []
    if safe:
        bundles.append(Bundle(job, tuple(safe), True, held(safe, dimensions), nothing))
    if rest:
        everything = held(job.tasks.values(), dimensions)
        bundles.append(Bundle(job, tuple(rest), False, held(rest, dimensions), everything))
    return bundles


def _divide(job: Job, ordered: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """The tasks that may go one by one, and the others."""
    surplus = job.ready_count - job.min_available
    if surplus < 0:
        # The gang isn't whole anyway.
        return list(ordered), []
    spare = _Spare(job, surplus)
    safe: list[Task] = []
    rest: list[Task] = []
    for task in ordered:
        (safe if spare.take(task) else rest).append(task)
    return safe, rest


class _Spare:
    """How much of a job may still go, by job, role and group of sub-jobs."""

    def __init__(self, job: Job, surplus: int) -> None:
        self.surplus = surplus
        self.roles: dict[str, int] = {}
        if job.min_available >= sum(job.role_minimum.values()):
            self.roles = {
                role: job.role_ready_count(role) - minimum for role, minimum in job.role_minimum.items() if minimum
            }
        self.needed = needed_sub_jobs(job)
        self.of_task: dict[str, SubJob] = {}
        self.left: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        if self.needed:
            self._count_sub_jobs(job)

    def _count_sub_jobs(self, job: Job) -> None:
        for sub_job in grouping_of(job).sub_jobs.values():
            self.of_task.update(dict.fromkeys(sub_job.tasks, sub_job))
            if sub_job.is_ready():
                self.left[sub_job.uid] = sub_job.ready_count - sub_job.min_available
                self.groups[sub_job.group] = self.groups.get(sub_job.group, 0) + 1
        for group, minimum in self.needed.items():
            self.groups[group] = self.groups.get(group, 0) - minimum

    def take(self, task: Task) -> bool:
        """Take a task out if the job can do without it; whether it can."""
        if self.surplus <= 0 or self.roles.get(task.role, 1) <= 0:
            return False
        if self.needed and not self._take_of_sub_job(task):
            return False
        self.surplus -= 1
        if task.role in self.roles:
            self.roles[task.role] -= 1
        return True

    def _take_of_sub_job(self, task: Task) -> bool:
        sub_job = self.of_task.get(task.uid)
        if sub_job is None:
            return False
        left = self.left.get(sub_job.uid)
        if left is None:
            return True  # broken already
        if self.groups[sub_job.group] <= 0 and left <= 0:
            return False
        if left <= 0:
            del self.left[sub_job.uid]
            self.groups[sub_job.group] -= 1
        else:
            self.left[sub_job.uid] = left - 1
        return True


def ranked(bundles: Iterable[Bundle], need: Floats, compare_jobs: CompareJobs) -> list[Bundle]:
    """
    In the order in which they are taken: safe ones first, then by job, then those that give most for what they cost.

    `compare_jobs` is negative when the left job gives first; `need` is the row that is wanted.
    """

    def compare(left: Bundle, right: Bundle) -> int:
        if left.is_safe != right.is_safe:
            return -1 if left.is_safe else 1
        by_job = compare_jobs(left.job, right.job)
        if by_job:
            return by_job
        mine, other = _rest(left, need), _rest(right, need)
        return (mine > other) - (mine < other)

    return sorted(bundles, key=cmp_to_key(compare))


def _rest(bundle: Bundle, need: Floats) -> tuple[float, str, str, int]:
    first = bundle.tasks[0].uid if bundle.tasks else ""
    return -gain(bundle, need), bundle.job.id, first, len(bundle.tasks)


def gain(bundle: Bundle, need: Floats) -> float:
    """What a bundle contributes to the need for what its job's end costs, both as parts of the need."""
    wanted = need >= MIN_RESOURCE
    given = float(np.sum(np.minimum(bundle.local[wanted], need[wanted]) / need[wanted]))
    cost = float(np.sum(bundle.total[wanted] / need[wanted]))
    return given / cost if cost else float("inf")
