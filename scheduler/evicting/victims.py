"""
Who leaves a node: candidates, the order in which they go, and the least set whose leaving makes room.

Candidates come in the order in which they would go, so that a plugin that lets a job lose only some of its tasks
lets go of those that matter least (scheduler.md 7.3).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

import msgspec

from scheduler.contract.points import Point
from scheduler.fairness.ordering import Ranking, by_key
from scheduler.state.status import EVICTABLE, Status

if TYPE_CHECKING:
    from scheduler.evicting.prospects import Need, Prospects
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.statement import Statement


class Pool(msgspec.Struct, frozen=True):
    """The jobs whose tasks an action may take for a beneficiary: `jobs` by id, without the one of id `without`."""

    jobs: Mapping[str, Job]
    without: str = ""

    def __iter__(self) -> Iterator[Job]:
        return (job for job in self.jobs.values() if job.id != self.without)

    def has(self, task: Task) -> bool:
        """Whether a task belongs."""
        return task.job in self.jobs and task.job != self.without

    def only(self, ids: Container[str]) -> Pool:
        """The jobs that are among `ids` as well."""
        return Pool({job.id: job for job in self if job.id in ids})


def pool_of(session: Session, jobs: Iterable[Job]) -> dict[str, Job]:
    """Those of some jobs that take part and have tasks which may leave, by id."""
    return {
        job.id: job
        for job in jobs
        if (job.counts[Status.RUNNING] or job.counts[Status.BOUND]) and session.takes_part(job)
    }


class Victims:
    """Candidates of one action, first to go first."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._jobs: Ranking[Job] = Ranking(session.points.all(Point.JOB_ORDER), by_key(_none))

    def candidates(self, need: Need, tasks: Iterable[Task], pool: Pool) -> list[Task]:
        """
        The tasks that may be made to leave for another, first to go first.

        Who asks for nothing takes nothing from those that do.
        """
        any_size = not need.task.is_best_effort
        found = [
            task
            for task in tasks
            if task.status in EVICTABLE and task.preemptable and pool.has(task) and (any_size or task.is_best_effort)
        ]
        return self.ordered(found, need.queue) if len(found) > 1 else found

    def ordered(self, tasks: Sequence[Task], queue: Queue) -> list[Task]:
        """Tasks of jobs that take part, first to go first, for a beneficiary of `queue`."""
        session = self.session
        jobs = session.cluster.jobs
        ranks: dict[str, Any] = {job: self._jobs.key(jobs[job]) for job in {task.job for task in tasks}}
        task_key = session.task_ranking(tasks).key
        ordered = sorted(tasks, key=lambda task: (ranks[task.job], task_key(task)), reverse=True)
        names = {jobs[job].queue for job in ranks}
        if len(names) < 2:
            return ordered

        def compare(left: str, right: str) -> int:
            queues = session.cluster.queues
            return session.compare_victim_queues(queues[left], queues[right], queue)

        places = {name: place for place, name in enumerate(sorted(sorted(names), key=cmp_to_key(compare)))}
        return sorted(ordered, key=lambda task: places[jobs[task.job].queue])


def _none(_: object) -> int:
    return 0


class Clearing(msgspec.Struct):
    """
    Evictions from one node for one task.

    `statement` must be empty; afterwards it holds exactly the evictions, or nothing.
    """

    prospects: Prospects
    need: Need
    node: Node
    statement: Statement
    reason: str

    def make_room(self, victims: Sequence[Task]) -> list[Task] | None:
        """
        Evict as few of the victims as let the task fit; those who went, or None when all of them don't suffice.

        They go in their order until the task fits; then each that isn't needed after all is spared, the last first.
        """
        if not self._could_suffice(victims):
            return None
        gone: list[Task] = []
        for victim in victims:
            if not self.remove(victim):
                break
            gone.append(victim)
            if self.fits():
                return self._spare(gone)
        self.statement.discard()
        return None

    def _could_suffice(self, victims: Sequence[Task]) -> bool:
        dimensions = self.prospects.session.cluster.dimensions
        free = self.prospects.future_idle(self.node)
        for victim in victims:
            free += victim.request.row(dimensions)
        return self.prospects.is_enough(self.need, free)

    def _spare(self, gone: list[Task]) -> list[Task]:
        dimensions = self.prospects.session.cluster.dimensions
        free = self.prospects.future_idle(self.node)
        # Without the last one the task didn't fit.
        for spared in reversed(gone[:-1]):
            remaining = free - spared.request.row(dimensions)
            if not self.prospects.is_enough(self.need, remaining):
                continue
            rest = [task for task in gone if task is not spared]
            if self.put_back(spared, rest) and self.fits():
                gone, free = rest, remaining
            else:
                self.remove(spared)
        return gone

    # What a trial does in its own way.

    def fits(self) -> bool:
        """Whether the task may go to the node as it is now."""
        return self.prospects.fits(self.need, self.node)

    def remove(self, victim: Task) -> bool:
        """Take a victim off; False when that can't be accounted for."""
        self.statement.evict(victim, self.reason, self.need.task.job)
        return True

    def put_back(self, spared: Task, rest: Sequence[Task]) -> bool:
        """Evict only `rest`, without the one that is spared; False when that can't be accounted for."""
        del spared
        self.statement.discard()
        for task in rest:
            self.statement.evict(task, self.reason, self.need.task.job)
        return True
