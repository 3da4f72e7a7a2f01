"""overcommit: lets in no more jobs than the cluster, stretched by a factor, could run (plugins.md 8)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.registration import PERMIT, REJECT
from scheduler.fairness import shares
from scheduler.plugin import Plugin
from scheduler.state.reservation import minimum_row, ungated

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments
    from scheduler.contract.ledger import Ledger
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job

log = logging.getLogger(__name__)

FACTOR = "overcommit-factor"
DEFAULT_FACTOR = 1.2
_ALL = "cluster"


class Overcommit(Plugin):
    """Admission by the size of the cluster."""

    name = "overcommit"
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {FACTOR: Type.FLOAT}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.factor = arguments.float(FACTOR, DEFAULT_FACTOR)
        if self.factor < 1.0:
            log.warning("%s: %s %s is below 1, %s counts", self.name, FACTOR, self.factor, DEFAULT_FACTOR)
            self.factor = DEFAULT_FACTOR
        self.idle: Floats
        """What the stretched cluster has left; negative where more is in use."""
        self._inqueue: Ledger[str, Floats]
        self._session: Session

    def on_session_open(self, session: Session) -> None:
        """Count what is in use and what jobs in their queues still keep free."""
        self._session, self._inqueue = session, session.ledger()
        columns = session.cluster.columns
        self.idle = columns.allocatable.sum(axis=1) * self.factor - columns.used.sum(axis=1)
        queues = session.cluster.queues.values()
        self._inqueue[_ALL] = sum(
            (queue.reserved for queue in queues if queue.object is not None),
            start=shares.row_of(session.cluster.dimensions, {}),
        )
        session.add_job_enqueueable(self.name, self._vote)
        session.add_job_enqueued(self.name, self._reserve)

    def _vote(self, job: Job) -> int:
        if job.minimum is None:
            return PERMIT
        dimensions = self._session.cluster.dimensions
        minimum, used = minimum_row(self._session.cluster, job), self._inqueue[_ALL]
        over = shares.names(dimensions, shares.lacking(used + minimum, self.idle, minimum))
        if not over:
            return PERMIT
        event = "resource in cluster is overused: " + ", ".join(f"overused {name}" for name in over)
        lack = shares.shortage(dimensions, minimum, used, self.idle)
        self._session.refuse(job, event, self.name, f"resource in cluster is overused: {lack}")
        return REJECT

    def _reserve(self, job: Job) -> None:
        if job.minimum is not None:
            self._inqueue[_ALL] = self._inqueue[_ALL] + ungated(job, minimum_row(self._session.cluster, job))
