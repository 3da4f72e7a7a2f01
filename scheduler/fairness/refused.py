"""
Jobs that were not let into their queues, and aren't asked about again while the answer would be the same.

Whether a plugin lets a job in depends on the job's queue, minimum and priority, and on accounts that those who are let
in only fill (`Plugin.lets_jobs_sleep`). So of jobs that agree in these one is asked, at the beginning: refused, it
speaks for all of them until the end of the cycle. They are told why once, and again when the reason changes; what
differs in numbers alone may wait for half a minute.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scheduler.placing.dormant import restless
from scheduler.reporting.messages import PATIENCE, gist

if TYPE_CHECKING:
    from scheduler.session import Refusal, Session
    from scheduler.state.job import Job


@dataclass(slots=True)
class _Group:
    """Jobs that get one answer."""

    told: Refusal
    since: float
    """When they were told so, in unix seconds."""
    jobs: dict[str, None] = field(default_factory=dict)
    """Their ids, in the order in which they were refused."""


class Refused:
    """The jobs that wait outside, for one cluster and one loaded configuration."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}
        self._key_of: dict[str, Hashable] = {}
        self._due: float | None = None
        self._asks_each = False

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._key_of

    def __iter__(self) -> Iterator[str]:
        """The ids of those that are not asked about."""
        return iter(self._key_of)

    def is_due(self, now: float) -> bool:
        """Whether the numbers that some job was told are wrong and old (`now` in unix seconds): a cycle tells it anew."""
        return self._due is not None and now >= self._due

    def wake(self, jobs: Iterable[str]) -> None:
        """These are to be asked about again."""
        for job_id in jobs:
            key = self._key_of.pop(job_id, None)
            if key is not None:
                group = self._groups[key]
                group.jobs.pop(job_id, None)
                if not group.jobs:
                    del self._groups[key]

    def clear(self) -> None:
        """All are to be asked about again."""
        self._groups, self._key_of, self._due = {}, {}, None

    def begin(self, session: Session) -> None:
        """Ask about one of each group, and wake those that may come in, or are to hear another reason."""
        self._due, self._asks_each = None, bool(restless(session))
        if self._asks_each:
            self.clear()
            return
        self.wake([job_id for group in self._groups.values() if self._stirs(session, group) for job_id in group.jobs])

    def _stirs(self, session: Session, group: _Group) -> bool:
        job = session.job(next(iter(group.jobs)))
        if job is None or not session.is_pending(job):
            return True
        # What it was told in this session, when enqueue has its turn again.
        told = session.unsay(job)
        may_enter, said = session.job_enqueueable(job), session.unsay(job)
        if may_enter:
            return True
        if told is not None:
            session.repeat(job, told)
        if said == group.told:
            return False
        if said is None or not _is_kin(said, group.told) or not 0.0 <= session.now - group.since < PATIENCE:
            return True
        due = group.since + PATIENCE
        self._due = due if self._due is None else min(self._due, due)
        return False

    def ask(self, session: Session, job: Job) -> bool:
        """Whether a job may enter its queue. One that may not is told so, and waits in its group from then on."""
        if self._asks_each:
            return session.job_enqueueable(job)
        key = _key(job)
        group = self._groups.get(key)
        if group is None:
            if session.job_enqueueable(job):
                return True
            told = session.refusal_of(job)
            if told is None:
                return False
            group = self._groups[key] = _Group(told, session.now)
        else:
            session.repeat(job, group.told)
        group.jobs[job.id] = None
        self._key_of[job.id] = key
        return False


def _key(job: Job) -> Hashable:
    return job.queue, job.priority, frozenset((job.minimum or {}).items())


def _is_kin(one: Refusal, other: Refusal) -> bool:
    """Whether two differ in nothing but numbers."""
    return gist(one.event) == gist(other.event) and gist(one.message) == gist(other.message)
