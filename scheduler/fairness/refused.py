"""
Jobs that were not let into their queues, and aren't asked about again while the answer would be the same.

Whether a plugin lets a job in depends on the job's queue, minimum and priority, and on accounts that those who are let
in only fill (`Plugin.lets_jobs_sleep`). So of jobs that agree in these one is asked, at the beginning: refused, it
speaks for all of them until the end of the cycle. They are told why once, and again when the reason changes; what
differs in numbers alone may wait for half a minute.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import msgspec

from scheduler.placing.sleeping import restless
from scheduler.placing.waiting import Waiting
from scheduler.reporting.messages import gist

if TYPE_CHECKING:
    from scheduler.session import Refusal, Session
    from scheduler.state.job import Job


class _Group(msgspec.Struct):
    """Jobs that get one answer."""

    told: Refusal
    since: float
    """When they were told so, in unix seconds."""
    jobs: dict[str, None] = msgspec.field(default_factory=dict)
    """Their ids, in the order in which they were refused."""


class Refused(Waiting[_Group]):
    """The jobs that wait outside, for one cluster and one loaded configuration."""

    def __init__(self) -> None:
        super().__init__()
        self._asks_each = False

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
        return said is None or not _is_kin(said, group.told) or not self._may_wait(group, session.now)

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
        self._join(key, job.id, None)
        return False


def _key(job: Job) -> Hashable:
    return job.queue, job.priority, frozenset((job.minimum or {}).items())


def _is_kin(one: Refusal, other: Refusal) -> bool:
    """Whether two differ in nothing but numbers."""
    return gist(one.event) == gist(other.event) and gist(one.message) == gist(other.message)
