"""capacity: queues by explicit amounts, flat or in a tree (plugins.md 7, device claims left out)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.registration import PERMIT, REJECT
from scheduler.evicting.giveback import GiveBack, within
from scheduler.fairness import shares
from scheduler.fairness.promises import Promises
from scheduler.fairness.quota import Quotas
from scheduler.plugin import Plugin
from scheduler.state.reservation import minimum_row, ungated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.arguments import Arguments
    from scheduler.contract.contexts import Simulation
    from scheduler.fairness.quota import Quota
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

LEVELS = "ancestorReclaimLevel"
ADMIT = "capacity.admitWithinDeserved"
"""Lets jobs in up to what is deserved although a queue above is full, so that reclaim sees them."""
OUTRANK = "capacity.admitByPriority"
"""Lets a job into its full queue when it outranks one that holds something there, so that preemption sees it."""


class Capacity(Plugin):
    """Admission, allocation, reclaim and queue order by capability, deserved and guarantee."""

    name = "capacity"
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {
        LEVELS: Type.INT,
        ADMIT: Type.BOOL,
        OUTRANK: Type.BOOL,
        "capacity.DynamicResourceAllocationEnable": Type.BOOL,
        "capacity.DRAConsumableCapacityEnable": Type.BOOL,
    }

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.levels = arguments.int(LEVELS, 0)
        if self.levels < 0:
            log.warning("%s: %s %d is negative, 0 counts", self.name, LEVELS, self.levels)
            self.levels = 0
        self.admits_within_deserved = arguments.bool(ADMIT, False)
        self.admits_by_priority = arguments.bool(OUTRANK, False)
        self.quotas: Quotas
        self.promises: Promises
        self.back: GiveBack
        self._session: Session

    def on_session_open(self, session: Session) -> None:
        """Work out the quotas, and register the questions about them."""
        self._session = session
        options = [option for option in session.configuration.plugins if option.name == self.name]
        hierarchy = any(option.is_on("enableHierarchy") for option in options[:1])
        self.quotas = Quotas(session, hierarchy=hierarchy)
        self.promises = Promises(session, self._keeping)
        back = self.back = GiveBack(session, self.quotas, self.levels if hierarchy else 0)
        if hierarchy:
            session.add_queue_order(self.name, self._compare, is_entangled=True)
            session.add_victim_queue_order(self.name, self._compare_victims)
        else:
            session.add_queue_order(self.name, key=self._rank)
        session.add_allocatable(
            self.name, self._may_take, room=self._room, reason=self._refusal, reason_after=self._refusal
        )
        session.add_simulate_allocatable(self.name, self._would_take)
        session.add_preemptive(self.name, self._may_take_back)
        session.add_job_enqueueable(self.name, self._vote)
        session.add_job_enqueued(self.name, self._reserve)
        session.add_reclaimable(self.name, back.reclaimable)
        session.add_gate_opened(self.name, self.promises.make)
        session.add_unified_evictable(self.name, back.evictable)
        session.add_batch_event_handler(self.name, allocate=self._allocated, deallocate=self._deallocated)

    def on_session_close(self, session: Session) -> None:
        """Tell how the queues stand."""
        shares.tell(session.gauges, session.cluster.dimensions, self.queue_figures())

    def queue_figures(self) -> dict[str, shares.QueueFigures]:
        """Where each queue stands now, with all below it, by name."""
        quotas = self.quotas
        return {
            name: shares.QueueFigures(
                allocated=quotas.claimed(name),
                request=quotas.wanted(name),
                inqueue=quotas.inqueue(name),
                share=quotas.share(name),
                is_overused=quotas.share(name) > 1.0,
                deserved=quota.deserved,
                capacity=quota.capability,
                real_capacity=quota.real_capability,
            )
            for name, quota in quotas.by_name.items()
            if not quota.broken
        }

    # Orders.

    def _standing(self, queue: Queue, name: str) -> tuple[float, bool]:
        quota = self.quotas.get(queue)
        if quota is None:
            return 0.0, True
        return self.quotas.share(name), self.quotas.by_name[name].is_best_effort

    def _rank(self, queue: Queue) -> tuple[int, float, bool]:
        return (-queue.limits.priority, *self._standing(queue, queue.name))

    def _compare(self, left: Queue, right: Queue) -> int:
        """Priority, then leaves before others, then shares where the ways from the root part."""
        a, b = self.quotas.get(left), self.quotas.get(right)
        names = left.name, right.name
        if a is not None and b is not None and a.is_leaf and b.is_leaf:
            depth = _common(a.full_path, b.full_path)
            if depth < min(len(a.full_path), len(b.full_path)):
                names = a.full_path[depth], b.full_path[depth]
        mine, other = (
            (-queue.limits.priority, quota is None or not quota.is_leaf, *self._standing(queue, name))
            for queue, quota, name in ((left, a, names[0]), (right, b, names[1]))
        )
        return int(mine > other) - int(mine < other)

    def _compare_victims(self, left: Queue, right: Queue, preemptor: Queue) -> int:
        """Those nearer to the preemptor's queue in the tree give first."""
        own = self.quotas.get(preemptor)
        if own is None:
            return 0
        near = [
            _common(own.path, quota.path) if (quota := self.quotas.get(queue)) is not None else 0
            for queue in (left, right)
        ]
        return near[1] - near[0]

    # Allocation.

    def _request(self, task: Task) -> Floats:
        return task.request.row(self._session.cluster.dimensions)

    def _keeping(self, queue: str) -> Sequence[str]:
        """The queues that keep the room of a pod which one of them let in."""
        quota = self.quotas.by_name.get(queue)
        return quota.full_path if quota is not None else ()

    def _taken(self, queue: str, task: Task) -> Floats:
        """What a queue holds or has promised to other pods."""
        return self.quotas.claimed(queue) + self.promises.beside(queue, task)

    def _full(self, quota: Quota, task: Task, taken: int = 0) -> Quota | None:
        """The first queue on the way to the root that has no room for a task, once it has taken so many like it."""
        request = self._request(task)
        for above in self.quotas.above(quota):
            after = self._taken(above.name, task) + (taken + 1) * request
            if shares.lacking(after, above.real_capability, request).any():
                return above
        return None

    def _takes(self, queue: Queue, task: Task) -> bool:
        quota = self.quotas.get(queue)
        return quota is not None and quota.is_leaf and self._full(quota, task) is None

    def _may_take(self, queue: Queue, task: Task) -> bool:
        return queue.limits.is_open and self._takes(queue, task)

    def _would_take(self, trial: Simulation, queue: Queue) -> bool:
        # What a trial removes and adds is told to the handlers and taken back with the trial.
        return self._takes(queue, trial.task)

    def _room(self, queue: Queue, task: Task, most: int) -> int:
        quota = self.quotas.get(queue)
        if quota is None:
            return 0
        if self.promises.holds(task):
            # Each of such tasks has room of its own, which the others' promises leave to it.
            return 1
        request = self._request(task)
        for above in self.quotas.above(quota):
            most = shares.room(self._taken(above.name, task), above.real_capability, request, most)
        return most

    def _refusal(self, queue: Queue, task: Task, taken: int = 0) -> str:
        reason = self._misfit(queue)
        quota = self.quotas.get(queue)
        if reason or quota is None:
            return f"{self.name}: {reason}"
        request = self._request(task)
        full = self._full(quota, task, taken) or quota
        used = self._taken(full.name, task) + taken * request
        lack = shares.shortage(self._session.cluster.dimensions, request, used, full.real_capability)
        return f"{self.name}: queue {full.name} is at its capability: {lack}"

    def _misfit(self, queue: Queue) -> str:
        """What is wrong with a queue itself."""
        quota = self.quotas.by_name.get(queue.name)
        if quota is None:
            return f"queue {queue.name} is not known yet"
        if quota.broken:
            return quota.broken
        if not quota.is_leaf:
            return f"queue {queue.name} has queues below it and takes no jobs"
        return "" if queue.limits.is_open else f"queue {queue.name} is not open"

    def _may_take_back(self, queue: Queue, task: Task) -> bool:
        """
        Whether a queue is below what it deserves in something that the task asks for, itself or by its ancestors.

        And there is somebody to take it from: who the victims are may be for plugins of a higher tier alone to say.
        """
        quota = self.quotas.get(queue)
        if quota is None or not queue.limits.is_open:
            return False
        request = self._request(task)
        after = self.quotas.claimed(queue.name) + request
        if shares.lacking(after, quota.real_capability, request).any():
            return False
        if self.back.would_rob(quota, request):
            return False
        if within(after, quota.deserved, request):
            return True
        levels = self.levels if self.quotas.hierarchy else 0
        nearest = quota.path[:0:-1][:levels]
        return any(
            within(self.quotas.claimed(name) + request, self.quotas.by_name[name].deserved, request) for name in nearest
        )

    # Admission.

    def _vote(self, job: Job) -> int:
        session = self._session
        queue = session.queue_of(job)
        reason = self._misfit(queue)
        quota = self.quotas.get(queue)
        if reason or quota is None:
            session.refuse(job, reason, self.name)
            return REJECT
        if job.minimum is None:
            return PERMIT
        minimum = minimum_row(session.cluster, job)
        for above in self.quotas.above(quota):
            used = self.quotas.in_use(above.name)
            short = shares.lacking(used + minimum, above.real_capability, minimum)
            if short.any() and not self._is_owed(quota, above, minimum) and not self._outranks(job, queue, above):
                dimensions = session.cluster.dimensions
                listed = ", ".join(f"insufficient {name}" for name in shares.names(dimensions, short))
                lack = shares.shortage(dimensions, minimum, used, above.real_capability)
                cause = f"queue {above.name} resource quota insufficient: {lack}"
                session.refuse(job, f"queue resource quota insufficient: {listed}", self.name, cause)
                return REJECT
        return PERMIT

    def _is_owed(self, quota: Quota, full: Quota, minimum: Floats) -> bool:
        """
        Whether a job is let in although a queue above its own is full: reclaim can get back what is deserved.

        Only where the argument asks for it.
        """
        if not self.admits_within_deserved or full.name == quota.name:
            return False
        below = [one for one in self.quotas.above(quota) if len(one.path) > len(full.path)]
        return not any(
            shares.lacking(self.quotas.in_use(one.name) + minimum, one.deserved, minimum).any() for one in below
        )

    def _outranks(self, job: Job, queue: Queue, full: Quota) -> bool:
        """Whether the job's own queue is the full one and holds something for a job of lower priority."""
        if not self.admits_by_priority or full.name != queue.name:
            return False
        return any(
            other.priority < job.priority and shares.names_of(other.claimed).any() for other in queue.jobs.values()
        )

    def _reserve(self, job: Job) -> None:
        if job.minimum is not None:
            self.quotas.let_in(job.queue, ungated(job, minimum_row(self._session.cluster, job)))

    # Events.

    def _allocated(self, tasks: Sequence[Task], _: Sequence[Node]) -> str | None:
        self.promises.redeem(tasks)
        self._move(tasks, 1)
        return None

    def _deallocated(self, tasks: Sequence[Task]) -> None:
        self.promises.renew(tasks)
        self._move(tasks, -1)

    def _move(self, tasks: Sequence[Task], sign: int) -> None:
        job = self._session.job(tasks[0].job)
        if job is not None:
            self.quotas.move(job.queue, sign * len(tasks) * self._request(tasks[0]))


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """How many first segments two paths share."""
    depth = 0
    while depth < min(len(left), len(right)) and left[depth] == right[depth]:
        depth += 1
    return depth
