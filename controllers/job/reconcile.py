"""
The job controller's reconciliation: everything that waits for one job, in one go.

Requests are decided by policies, carried out by the state machine, and repeated when writes fail. One job is in one
hand at a time; different jobs run side by side.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from api import names
from api.jobs import INTERNAL_ACTIONS
from controllers.job import metrics
from controllers.job.commands import Order
from controllers.job.delays import TARGETED, Delayed, Delays, scope
from controllers.job.executor import REFUSED, Executor, is_namespace_leaving
from controllers.job.facts import exit_code, failed_at, is_due, still_holds
from controllers.job.inbox import Inbox
from controllers.job.machine import Operation, cell
from controllers.job.plan import is_hopeless, plan
from controllers.job.policies import decide
from controllers.job.reader import Reader
from controllers.job.requests import SYNC, Request
from controllers.job.steps import Preparation, Step
from controllers.job.waiting import RECHECK_SECONDS
from generated.batch.v1alpha1 import JOBS, Job
from generated.bus.v1alpha1 import Action, Event
from generated.clients.clientset import Clientset
from runtime import duration, timestamps
from runtime.controller import DONE, Result, again_after
from runtime.errors import Conflict, NotFound
from runtime.events import EventRecorder
from runtime.failures import is_excused
from runtime.objects import Key, key_of

_log = logging.getLogger(__name__)

Work = Key | Order
NORMAL_RETRIES: Final = 15


class Parts(msgspec.Struct, frozen=True):
    """
    What a reconciler is made of. `clock` gives unix seconds; `max_retries` below zero is no limit.

    `ticks` gives seconds of a clock that nobody sets, by which what was armed comes due.
    """

    clients: Clientset
    reader: Reader
    executor: Executor
    events: EventRecorder
    clock: Callable[[], float]
    max_retries: int = NORMAL_RETRIES
    ticks: Callable[[], float] = time.monotonic


class JobReconciler:
    """`reconcile` handles what `inbox` holds for a job. `wake` asks for a job to be reconciled."""

    def __init__(self, parts: Parts, wake: Callable[[Key], None]) -> None:
        self._parts = parts
        self._preparation = Preparation(parts.clients, parts.executor, parts.reader, parts.events)
        self._wake = wake
        self.inbox = Inbox()
        self.delays = Delays()

    async def reconcile(self, work: Work) -> Result:
        """Raises what the first failed write raised; what was not handled waits in the inbox then. May be cancelled."""
        if isinstance(work, Order):
            await self._take(work)
            return DONE
        job = self._parts.reader.job(work)
        if job is None:
            self.inbox.take(work)
            return DONE
        requests = self.inbox.take(work)
        for request in requests:
            self.delays.cancel_by_event(work, request)
        try:
            recheck = await self._handle_all(work, requests)
        finally:
            # what was noted since it went would stay for good
            successor = self._parts.reader.listers.jobs.by_key(work)
            if successor is None:
                self.forget(job)
            elif successor.metadata.uid != job.metadata.uid:
                self._forget_uid(job.metadata.uid)
        return self._next_look(work, recheck)

    def forget(self, job: Job) -> None:
        """A job is gone."""
        key = key_of(job)
        self.inbox.forget(key)
        self.delays.forget(key)
        self._forget_uid(job.metadata.uid)
        self._parts.executor.tallies.forget(key)
        self._parts.reader.fresh.forget(key)
        self._parts.reader.first.forget(key)
        metrics.drop(str(key))

    def _forget_uid(self, uid: str) -> None:
        self._parts.reader.recent.forget(uid)
        self._parts.executor.upkeep.forget(uid)

    async def _take(self, order: Order) -> None:
        """Delete the Command first, so that it is carried out at most once; it may arrive before its job does."""
        job = self._parts.reader.job(order.job_key) or await self._unseen(order.job_key)
        try:
            await self._parts.clients.bus_v1alpha1.commands.delete(order.name, order.namespace, uid=order.uid)
        except (NotFound, Conflict):
            return  # somebody else has taken it
        if job is None:
            return
        self._parts.events.normal(JOBS, job, names.JobReason.COMMAND_ISSUED, order.message())
        self.inbox.add(order.job_key, order.request())
        if self._parts.reader.job(order.job_key) is not None:  # else the job's own arrival wakes it
            self._wake(order.job_key)

    async def _unseen(self, key: Key) -> Job | None:
        """A job that the cache doesn't show yet, None when there is none."""
        try:
            return await self._parts.clients.batch_v1alpha1.jobs.get(key.name, key.namespace)
        except NotFound:
            return None

    async def _handle_all(self, key: Key, requests: list[Request]) -> float:
        """
        Expired actions first, then requests in their order, then one look for all that ask for no more.

        The seconds after which a job that waits for something is looked at again; 0 for one that doesn't.
        """
        for entry in self.delays.expired(key, self._parts.ticks()):
            if self.delays.holds(key, entry):  # else an action of its scope was carried out just now
                await self._expire(key, entry, [*requests, SYNC])
        restarted: set[tuple[str, ...]] = set()
        for number, found in enumerate(requests):
            job = self._parts.reader.job(key)
            if job is None:
                return 0.0
            request = self._completed(job, found)
            action, delay = decide(job, request)
            if action == Action.SYNC_JOB or not self._still_holds(job, request):
                continue
            if action in TARGETED:
                if self._is_settled(job, request) or (action, *scope(action, request)) in restarted:
                    continue
                if not delay:
                    restarted.add((action, *scope(action, request)))
            if delay:
                self._arm(key, job, request, action, delay)
                continue
            self._tell_start(job, action)
            await self._attempt(key, action, request, [*requests[number + 1 :], SYNC])
        return await self._attempt(key, Action.SYNC_JOB, SYNC, [])

    async def _attempt(self, key: Key, action: str, request: Request, rest: list[Request]) -> float:
        """One action with its retries. `rest` is handled later when it fails. Gives what `_handle_all` does."""
        job = self._parts.reader.job(key)
        if job is None:
            return 0.0
        try:
            recheck = await self._act(job, action, request)
        except asyncio.CancelledError:
            self.inbox.put_back(key, [request, *rest])
            raise
        except Exception as error:
            if is_namespace_leaving(error):
                _log.info("job.namespace_terminating job=%s: it is left to the garbage collector", key)
                return 0.0
            if not self._is_over(key, request, error):
                self.inbox.put_back(key, [request, *rest])
                await self._settle(key)
                raise
            try:
                await self._terminate(key, action, request, error)
            except (Exception, asyncio.CancelledError):
                self.inbox.put_back(key, rest)
                raise
            return 0.0
        self.inbox.succeeded(key, request)
        if action not in INTERNAL_ACTIONS:
            self.delays.cancel_by_action(key, action, request)
        return recheck

    async def _settle(self, key: Key) -> None:
        """What has failed keeps no job from its first status, unless that is what has failed."""
        job = self._parts.reader.job(key)
        if job is not None and not self._parts.reader.first.is_refused(job):
            with suppress(*REFUSED):
                await self._parts.executor.statuses.settle(job)

    async def _act(self, job: Job, action: str, request: Request) -> float:
        """Carry out one cell. Gives what `_handle_all` does."""
        parts = self._parts
        if not job.status.state.phase and job.metadata.deletion_timestamp is None:
            job = await self._preparation.begin(job, self._now())
        elif parts.reader.first.is_refused(job):
            job = await parts.executor.statuses.settle(job)
        found, step = cell(job.status.state.phase, action), Step(job)
        if found.operation is Operation.SYNC and job.metadata.deletion_timestamp is None and not is_hopeless(job):
            step = await self._preparation.run(job)
            if step.recheck and not step.is_frozen:
                return step.recheck
            job = step.job
            found = cell(job.status.state.phase, action)
        world = parts.reader.world(job)
        if step.is_frozen:
            world = replace(world, is_frozen=True)
        await parts.executor.carry_out(world, plan(world, found, request, action, self._now()))
        return RECHECK_SECONDS if world.taken else step.recheck

    def _is_over(self, key: Key, request: Request, error: Exception) -> bool:
        """Whether a request has failed too often. Conflicts and outages of the API count for nothing."""
        if is_excused(error):
            return False
        failures = self.inbox.failed(key, request)
        limit = self._parts.max_retries
        if limit < 0 or failures <= limit:
            return False
        self.inbox.succeeded(key, request)
        return True

    async def _terminate(self, key: Key, action: str, request: Request, error: Exception) -> None:
        """The end of a job for which something failed too often."""
        job = self._parts.reader.job(key)
        if job is None:
            return
        _log.error("job.gave_up job=%s action=%s error=%s", key, action, error)
        reason = names.JobReason.EXECUTE_ACTION
        self._parts.events.normal(JOBS, job, reason, f"Job failed on action {action} for retry limit reached")
        self._parts.events.warning(JOBS, job, reason, f"Action {action} failed: {error}")
        await self._act(job, Action.TERMINATE_JOB, request)

    async def _expire(self, key: Key, entry: Delayed, rest: list[Request]) -> None:
        """Carry out a delayed action if what it was armed for still holds. `rest` is handled later when it fails."""
        job = self._parts.reader.job(key)
        self.delays.drop(key, entry)  # when it fails, it is the request that is tried again
        if job is None or job.metadata.uid != entry.job_uid:
            return
        if is_due(entry.request, job, *self._parts.reader.pods(job)):
            await self._attempt(key, entry.action, entry.request._replace(action=entry.action), rest)

    def _still_holds(self, job: Job, request: Request) -> bool:
        """What was found rather than seen to happen counts only if nobody reacted to it yet."""
        return not request.is_found or still_holds(request, job, self._parts.reader.pods(job)[0])

    def _completed(self, job: Job, request: Request) -> Request:
        """With the exit code as the job's policies ask for it: when the pod was first seen, its job may not have been."""
        if request.event != Event.POD_FAILED:
            return request
        pod = self._parts.reader.pods(job)[0].get(request.target.pod)
        if pod is None or pod.metadata.uid != request.pod_uid:
            return request
        return request._replace(exit_code=exit_code(job, pod) or request.exit_code)

    def _is_settled(self, job: Job, request: Request) -> bool:
        """Whether the pod was told to go since then: a restart of its task must not lead to the next one."""
        return self._parts.reader.recent.was_deleted(job.metadata.uid, request.pod_uid)

    def _arm(self, key: Key, job: Job, request: Request, action: str, delay: float) -> None:
        text = duration.format_seconds(delay)
        message = f"Execute action {action} after {text}"
        self._parts.events.normal(JOBS, job, names.JobReason.EXECUTE_ACTION, message)
        due = self._parts.ticks() + self._since(job, request) + delay - self._parts.clock()
        self.delays.arm(key, Delayed(action, request, due, job.metadata.uid))

    def _since(self, job: Job, request: Request) -> float:
        """When what a delayed action reacts to began."""
        pod, now = self._parts.reader.pods(job)[0].get(request.target.pod), self._parts.clock()
        if pod is None or pod.metadata.uid != request.pod_uid:
            return now
        created = pod.metadata.creation_timestamp
        if request.event == Event.POD_PENDING and created:
            return timestamps.parse_nanoseconds(created) / 1e9
        ended = failed_at(pod) if request.event == Event.POD_FAILED else None
        return min(now, ended) if ended is not None else now  # clocks of nodes differ

    def _tell_start(self, job: Job, action: str) -> None:
        message = f"Start to execute action {action} "
        self._parts.events.normal(JOBS, job, names.JobReason.EXECUTE_ACTION, message)

    def _next_look(self, key: Key, recheck: float) -> Result:
        due = self.delays.next_due(key)
        times = [max(0.0, due - self._parts.ticks())] if due is not None else []
        if recheck:
            times.append(recheck)
        return again_after(min(times)) if times else DONE

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._parts.clock(), UTC)
