"""What of a job is still to be placed in this cycle. A copy costs next to nothing, so trials work on copies."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Any

from scheduler.gates import is_behind_queue
from scheduler.state.subjob import grouping_of, needed_sub_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task


class Worksheet:
    """The tasks of a job, or of one of its sub-jobs, first one first. `sub_job` is None where the job has no groups."""

    __slots__ = ("_alike", "_demand", "_place", "_tasks", "is_required", "job", "sub_job")

    def __init__(
        self, job: Job, tasks: Sequence[Task], sub_job: SubJob | None = None, *, is_required: bool = True
    ) -> None:
        self.job = job
        self.sub_job = sub_job
        self.is_required = is_required
        """Whether the job can't start without this sub-job."""
        self._tasks = tasks
        self._place = 0
        self._demand: tuple[int, Counter[Template]] | None = None
        self._alike: tuple[Template, int] | None = None

    def __bool__(self) -> bool:
        return self._place < len(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks) - self._place

    @property
    def uid(self) -> str:
        """Id of the sub-job, or of the job that isn't divided."""
        return self.sub_job.uid if self.sub_job is not None else self.job.id

    def peek(self, limit: int) -> Sequence[Task]:
        """The next tasks, at most `limit`."""
        return self._tasks[self._place : self._place + limit]

    def run(self, session: Session, limit: int) -> Sequence[Task]:
        """The first tasks as far as they are identical and no node is nominated for any; at least the first one."""
        first = self._tasks[self._place]
        template = session.template(first)
        if self._alike is None or self._alike[0] is not template or self._alike[1] <= self._place:
            role = first.role
            alike = takewhile(
                lambda task: (
                    task.role == role and not (task.nominated or task.is_gated) and session.template(task) is template
                ),
                islice(self._tasks, self._place + 1, None),
            )
            self._alike = template, self._place + 1 + sum(1 for _ in alike)
        return self._tasks[self._place : min(self._alike[1], self._place + limit)]

    def rest(self) -> Sequence[Task]:
        """All tasks that are left."""
        return self._tasks[self._place :]

    def demand(self, session: Session) -> Counter[Template]:
        """How many tasks of each template are left."""
        if self._demand is None or self._demand[0] != self._place:
            self._demand = self._place, Counter(session.template(task) for task in self.rest())
        return self._demand[1]

    def skip(self, count: int) -> None:
        """These are dealt with."""
        self._place += count

    def copy(self) -> Worksheet:
        """The same, to be worked on apart."""
        copy = Worksheet(self.job, self._tasks, self.sub_job, is_required=self.is_required)
        copy._place, copy._demand, copy._alike = self._place, self._demand, self._alike
        return copy

    def take(self, other: Worksheet) -> None:
        """Stand where a copy stands."""
        self._place = other._place


class JobSheet:
    """The worksheets of a job's sub-jobs: required ones first, then by the order of sub-jobs."""

    __slots__ = ("_key", "_sheets", "job")

    def __init__(self, job: Job, sheets: Sequence[Worksheet], key: Callable[[SubJob], Any]) -> None:
        self.job = job
        self._key = key
        self._sheets = list(sheets)

    def __bool__(self) -> bool:
        return bool(self._sheets)

    def pop(self) -> Worksheet:
        """Take the first one."""
        if len(self._sheets) == 1:
            return self._sheets.pop()
        first = min(range(len(self._sheets)), key=lambda place: self._rank(self._sheets[place]))
        return self._sheets.pop(first)

    def _rank(self, sheet: Worksheet) -> tuple[bool, Any]:
        return not sheet.is_required, self._key(sheet.sub_job) if sheet.sub_job is not None else None

    def push(self, sheet: Worksheet) -> None:
        """Give one back that has tasks left."""
        self._sheets.append(sheet)

    def copy(self) -> JobSheet:
        """The same with copies of all worksheets."""
        return JobSheet(self.job, [sheet.copy() for sheet in self._sheets], self._key)

    def take(self, other: JobSheet) -> None:
        """Hold what a copy holds."""
        self._sheets = other._sheets


def can_be_placed(task: Task) -> bool:
    """
    Whether allocate has to find room for a task: it asks for something, and nothing but its queue keeps it back.

    A task behind its queue's gate is let in there, not placed.
    """
    return not task.is_best_effort and (not task.is_gated or is_behind_queue(task))


def in_turn(session: Session, tasks: Sequence[Task]) -> list[Task]:
    """
    Tasks as they are to be placed: among equals of a role those first for which evictions made room.

    If another came first and found nothing, the role would be passed over, and the room given up.
    """
    ordered = session.sorted_tasks(tasks)
    if not any(map(session.nominations.node_of, ordered)):
        return ordered
    placed: list[Task] = []
    for _, equals in groupby(ordered, key=lambda task: (task.role, task.priority)):
        placed += sorted(equals, key=lambda task: not session.nominations.node_of(task))
    return placed


def job_sheet(session: Session, job: Job) -> JobSheet:
    """
    The worksheets of all sub-jobs that have tasks to place (scheduler.md 11.2).

    Tasks behind their queue's gate are not among them: where they are let in is no matter of domains.
    """
    ranking = session.sub_job_ranking()
    sub_jobs = list(grouping_of(job).sub_jobs.values())
    required = _required(session, job, sub_jobs, ranking.sorted)
    sheets = []
    for sub_job in sub_jobs:
        pending = [
            task
            for task in sub_job.tasks.values()
            if task.uid in job.pending and can_be_placed(task) and not task.is_gated
        ]
        if pending:
            sheets.append(Worksheet(job, in_turn(session, pending), sub_job, is_required=sub_job.uid in required))
    return JobSheet(job, sheets, ranking.key)


def _required(
    session: Session, job: Job, sub_jobs: Iterable[SubJob], ordered: Callable[[Iterable[SubJob]], list[SubJob]]
) -> set[str]:
    """The sub-jobs without which a group can't have its minimum: the first of those that aren't ready."""
    missing = needed_sub_jobs(job)
    waiting = []
    for sub_job in sub_jobs:
        if not session.sub_job_ready(job, sub_job):
            waiting.append(sub_job)
        elif sub_job.group in missing:
            missing[sub_job.group] -= 1
    required = set()
    for sub_job in ordered(waiting):
        if missing.get(sub_job.group, 0) > 0:
            missing[sub_job.group] -= 1
            required.add(sub_job.uid)
    return required
