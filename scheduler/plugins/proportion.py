"""proportion: queues share the cluster by their weights, and may borrow what others don't want (plugins.md 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np

from scheduler.contract.arguments import Declared
from scheduler.contract.registration import PERMIT, REJECT
from scheduler.evicting.giveback import given_on_trial
from scheduler.fairness import shares
from scheduler.plugin import Plugin
from scheduler.state.dimensions import MIN_RESOURCE, PODS, Floats
from scheduler.state.reservation import minimum_row, ungated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.arguments import Arguments
    from scheduler.contract.contexts import Simulation
    from scheduler.contract.ledger import Ledger
    from scheduler.session import Session
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task


class Record(msgspec.Struct, frozen=True):
    """What a queue may have in this session: `(dims,)` rows."""

    deserved: Floats
    """Its part of the cluster; others may take back what it holds beyond."""
    real_capability: Floats
    """More than this it can never hold."""
    takes_part: bool
    """Whether it has jobs. One without gets no part, and is never over it."""


class Proportion(Plugin):
    """
    Queue order, admission, allocation and reclaim by deserved parts.

    What a queue holds is read from its account, which the session keeps and takes back; only what this session lets
    in is written down here.
    """

    name = "proportion"
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.records: dict[str, Record] = {}
        self._inqueue: Ledger[str, Floats]
        self._nothing: Floats
        self._told: tuple[object, object, str] = None, None, ""
        self._session: Session

    def on_session_open(self, session: Session) -> None:
        """Divide the cluster, and register the questions about it."""
        self._session = session
        self._inqueue, self._nothing = session.ledger(), np.zeros(len(session.cluster.dimensions))
        self.records = divide(session)
        session.add_queue_order(self.name, key=self._rank, ahead=self._ranks_ahead)
        session.add_overused(
            self.name, self._is_overused, room=self._until_overused, stretch=self._stretch_until_overused
        )
        session.add_allocatable(
            self.name,
            self._may_take,
            room=self._room,
            stretch=self._stretch,
            reason=self._refusal,
            reason_after=self._explain,
        )
        session.add_preemptive(self.name, self._may_take_back)
        session.add_simulate_allocatable(self.name, self._would_take)
        session.add_reclaimable(self.name, self._victims)
        session.add_job_enqueueable(self.name, self._vote)
        session.add_job_enqueued(self.name, self._reserve)

    def on_session_close(self, session: Session) -> None:
        """Tell how the queues stand."""
        shares.tell(session.gauges, session.cluster.dimensions, self.queue_figures())

    def queue_figures(self) -> dict[str, shares.QueueFigures]:
        """Where each queue stands now, by name."""
        return {
            name: shares.QueueFigures(
                allocated=queue.claimed,
                request=queue.wanted,
                inqueue=self._reserved(queue),
                share=self._share(queue),
                is_overused=self._is_overused(queue),
                weight=queue.limits.weight if record.takes_part else None,
                deserved=record.deserved if record.takes_part else None,
            )
            for name, record in self.records.items()
            if (queue := self._session.cluster.queues.get(name)) is not None
        }

    # Orders.

    def _share(self, queue: Queue) -> float:
        record = self.records.get(queue.name)
        return shares.dominant_share(queue.claimed, record.deserved) if record is not None else 0.0

    def _rank(self, queue: Queue) -> tuple[int, float]:
        return -queue.limits.priority, self._share(queue)

    def _ranks_ahead(self, queue: Queue, held: Floats) -> list[tuple[int, float]]:
        record = self.records.get(queue.name)
        found = shares.dominant_shares(held, record.deserved) if record is not None else [0.0] * len(held)
        return [(-queue.limits.priority, share) for share in found]

    # Allocation.

    def _is_overused(self, queue: Queue) -> bool:
        record = self.records.get(queue.name)
        return record is not None and record.takes_part and shares.at_most(record.deserved, queue.claimed)

    def _until_overused(self, queue: Queue, task: Task, most: int) -> int:
        record = self.records.get(queue.name)
        if record is None or not record.takes_part:
            return most
        return shares.until_used_up(queue.claimed, record.deserved, self._request(task), most)

    def _stretch_until_overused(self, queue: Queue, requests: Floats) -> int:
        record = self.records.get(queue.name)
        if record is None or not record.takes_part:
            return len(requests)
        return shares.stretch_until_used_up(queue.claimed, record.deserved, requests)

    def _request(self, task: Task) -> Floats:
        return task.request.row(self._session.cluster.dimensions)

    def _may_take(self, queue: Queue, task: Task) -> bool:
        return queue.limits.is_open and self._fits(queue, task)

    def _may_take_back(self, queue: Queue, task: Task) -> bool:
        return self._may_take(queue, task) and not self._robs(queue, task)

    def _robs(self, taker: Queue, task: Task) -> bool:
        """
        Whether a plan on trial takes from a queue that holds no more than its part of anything that both need.

        That queue would take it back at once, and so on for ever.
        """
        session, needed = self._session, self._request(task) >= MIN_RESOURCE
        needed[PODS] = False
        for name, given in given_on_trial(session).items():
            record, queue = self.records.get(name), session.cluster.queues.get(name)
            if name == taker.name or record is None or queue is None:
                continue
            over = queue.claimed + given - record.deserved >= MIN_RESOURCE
            if not (needed & (given >= MIN_RESOURCE) & over).any():
                return True
        return False

    def _fits(self, queue: Queue, task: Task) -> bool:
        record, request = self.records.get(queue.name), self._request(task)
        return record is not None and not shares.lacking(queue.claimed + request, record.deserved, request).any()

    def _would_take(self, trial: Simulation, queue: Queue) -> bool:
        # What a trial removes and adds is in the queue's account while it lasts.
        return self._fits(queue, trial.task)

    def _room(self, queue: Queue, task: Task, most: int) -> int:
        record = self.records.get(queue.name)
        if record is None or not queue.limits.is_open:
            return 0
        return shares.room(queue.claimed, record.deserved, self._request(task), most)

    def _stretch(self, queue: Queue, requests: Floats) -> int:
        record = self.records.get(queue.name)
        if record is None or not queue.limits.is_open:
            return 0
        return shares.stretch(queue.claimed, record.deserved, requests)

    def _refusal(self, queue: Queue, task: Task) -> str:
        # A full queue refuses thousands of like tasks in a row: accounts are never changed in place, so one text serves.
        account, request, text = self._told
        if account is not queue.account or request is not task.request:
            text = self._explain(queue, task, 0)
            self._told = queue.account, task.request, text
        return text

    def _explain(self, queue: Queue, task: Task, taken: int) -> str:
        """Why a queue refuses a task, once it has taken so many like it."""
        record = self.records.get(queue.name)
        if record is None:
            return f"{self.name}: queue {queue.name} is not known yet"
        if not queue.limits.is_open:
            return f"{self.name}: queue {queue.name} is not open"
        request = self._request(task)
        dimensions, used = self._session.cluster.dimensions, queue.claimed + taken * request
        lack = shares.shortage(dimensions, request, used, record.deserved)
        return f"{self.name}: queue {queue.name} has used up its deserved part: {lack}"

    # Admission.

    def _reserved(self, queue: Queue) -> Floats:
        return queue.reserved + self._inqueue.get(queue.name, self._nothing)

    def _vote(self, job: Job) -> int:
        session = self._session
        queue = session.queue_of(job)
        record = self.records.get(queue.name)
        if record is None or not queue.limits.is_open:
            session.refuse(job, f"queue {queue.name} is not open", self.name)
            return REJECT
        if job.minimum is None:
            return PERMIT
        minimum = minimum_row(session.cluster, job)
        used = queue.claimed + self._reserved(queue) - queue.elastic
        short = shares.names(
            session.cluster.dimensions, shares.lacking(used + minimum, record.real_capability, minimum)
        )
        if not short:
            return PERMIT
        event = "queue resource quota insufficient: " + ", ".join(f"insufficient {name}" for name in short)
        lack = shares.shortage(session.cluster.dimensions, minimum, used, record.real_capability)
        session.refuse(job, event, self.name, f"queue {queue.name} resource quota insufficient: {lack}")
        return REJECT

    def _reserve(self, job: Job) -> None:
        if job.minimum is None:
            return
        fresh = ungated(job, minimum_row(self._session.cluster, job))
        self._inqueue[job.queue] = self._inqueue.get(job.queue, self._nothing) + fresh

    # Reclaim.

    def _victims(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks of queues that hold more than their part of something that the reclaimer needs."""
        session = self._session
        needed = self._request(reclaimer) >= MIN_RESOURCE
        needed[PODS] = False
        held: dict[str, Floats] = {}
        victims: list[Task] = []
        for task in candidates:
            job = session.job(task.job)
            record = self.records.get(job.queue) if job is not None else None
            if job is None or record is None:
                continue
            claimed = held.get(job.queue)
            if claimed is None:
                claimed = session.queue_of(job).claimed
            request = self._request(task)
            if (needed & (request >= MIN_RESOURCE) & (claimed - record.deserved >= MIN_RESOURCE)).any():
                held[job.queue] = claimed - request
                victims.append(task)
        return victims


def divide(session: Session) -> dict[str, Record]:
    """
    Every existing queue's record, by name.

    A queue with jobs gets its weight's part, but no more than it wants or may have, and no less than its guarantee.
    What idle queues are guaranteed is not divided.
    """
    cluster = session.cluster
    queues = [queue for _, queue in sorted(cluster.queues.items()) if queue.object is not None]
    total = cluster.columns.allocatable.sum(axis=1)
    capabilities, guarantees = shares.real_capabilities(total, queues, cluster.dimensions)
    working = np.array([bool(queue.jobs) for queue in queues], dtype=np.bool_)
    weights = np.array([queue.limits.weight if queue.jobs else 0 for queue in queues], dtype=np.float64)
    wanted = shares.stacked([queue.wanted for queue in queues], cluster.dimensions)
    least = np.where(working[:, None], guarantees, 0.0)
    most = np.where(working[:, None], np.minimum(capabilities, wanted), 0.0)
    available = np.maximum(total - guarantees[~working].sum(axis=0), 0.0)
    deserved = shares.water_fill(available, weights, least, most)
    return {
        queue.name: Record(part, capability, bool(queue.jobs))
        for queue, part, capability in zip(queues, deserved, capabilities, strict=True)
    }
