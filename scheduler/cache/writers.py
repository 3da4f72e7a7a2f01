"""
Carries out what cycles decided, on the event loop: binds, evictions, statuses, events.

Binds go first, then deletions, statuses, events (the client's rate limit serves them in this order). A failed bind is
told back to the scheduling thread, which lets the pod wait again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from api import names
from generated.apply.core import v1 as core_apply
from generated.apply.meta.v1 import ObjectMeta
from generated.apply.scheduling import v1beta1 as apply
from generated.core.v1 import PODS
from generated.scheduling.v1beta1 import POD_GROUPS, PodGroupPhase
from runtime import timestamps
from runtime.errors import ApiError, Conflict, NotFound
from runtime.failures import OUTAGES
from runtime.patches import MergePatch, StrategicPatch
from runtime.ratelimit import Rush
from runtime.rbac import Rule
from scheduler.cache.evictions import Evictions
from scheduler.cache.later import Later
from scheduler.cache.statuses import GroupStatus, GroupStatuses, TaskStatuses
from scheduler.contract.decisions import Bind, Evict
from scheduler.reporting.messages import READY
from scheduler.reporting.metrics import WRITES_WAITING
from scheduler.reporting.outcome import JobOutcome, TaskOutcome
from scheduler.reporting.publishing import BIND, BOUND, PRE_BOUND, observe_stage, observe_task

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset
    from generated.scheduling.v1beta1 import PodGroup
    from runtime.events import EventRecorder
    from scheduler.cycle import Result
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

RULES = (
    Rule("", ("pods/binding",), ("create",)),
    Rule("", ("pods",), ("get", "delete")),
    Rule("", ("pods/status",), ("patch",)),
    Rule("scheduling.volcano.sh", ("podgroups",), ("patch",)),
)
BIND_WORKERS = 96
STATUS_WORKERS = 16
PODS_EXPECTED = 10.0
"""Seconds within which the pods of a group that was let in are created; an event that there are none waits so long."""
_EXPECTED = (ApiError, *OUTAGES)


class Writers:
    """
    The writing half of the cache. `submit` and everything else runs on the event loop.

    `unbound(uid)` is called when a bind failed; `clock` gives unix seconds. With `carries_annotations` a binding
    repeats the annotations of its pod.
    """

    def __init__(
        self,
        clients: Clientset,
        events: EventRecorder,
        *,
        unbound: Callable[[str], None],
        clock: Callable[[], float],
        carries_annotations: bool = False,
    ) -> None:
        self._clients = clients
        self._events = events
        self._unbound = unbound
        self._clock = clock
        self._carries_annotations = carries_annotations
        self._evictions = Evictions(clients, events, failed=unbound, clock=clock)
        self._binds: asyncio.Queue[Bind] = asyncio.Queue()
        self._others: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._groups = GroupStatuses()
        self._tasks = TaskStatuses()
        self._pod_groups: dict[str, PodGroup] = {}
        self._refusals: dict[str, str] = {}
        self._later = Later()
        self._offered: dict[str, JobOutcome | TaskOutcome] = {}
        """By uid: what waits for its time."""
        self._without_pods = Later()
        """Groups that may have to be told that they have no pods."""
        self._telling: dict[str, asyncio.Future[bool]] = {}
        """Conditions of pods on their way, by uid."""
        self._rush = Rush()
        """Of binds."""
        self.bound = 0
        """Binds that the server accepted."""
        self.running = 0
        """Writes under way."""
        WRITES_WAITING.set_function(lambda: float(self.owed))

    @property
    def owed(self) -> int:
        """Writes that are waiting or under way."""
        return self._binds.qsize() + self._others.qsize() + self.running + len(self._later) + len(self._without_pods)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(BIND_WORKERS):
                workers.create_task(self._work(self._binds, self._bind))
            for _ in range(STATUS_WORKERS):
                workers.create_task(self._work(self._others, _call))

    async def drain(self) -> None:
        """Wait until everything submitted is written, also statuses of groups that were to wait a while."""
        for found in tuple(self._offered.values()):
            if isinstance(found, JobOutcome):
                self._tell_group(found, at_once=True)
        await self._binds.join()
        await self._others.join()

    async def _work(self, queue: asyncio.Queue[Any], write: Callable[[Any], Awaitable[None]]) -> None:
        while True:
            item = await queue.get()
            self.running += 1
            try:
                await write(item)
            except Exception:
                log.exception("write failed item=%s", item)
            finally:
                self.running -= 1
                queue.task_done()

    def submit(self, result: Result) -> None:
        """Take in what a cycle decided."""
        for decision in result.decisions:
            if isinstance(decision, Bind):
                self._tasks.forget(decision.task.uid)
                self._binds.put_nowait(decision)
            elif isinstance(decision, Evict):
                self._others.put_nowait(_bound_to(self._evictions.evict, decision))
        for lapse in result.outcome.lapses:
            self._evictions.tell(lapse)
        for job in result.outcome.jobs:
            self._tell_group(job)
        for task in result.outcome.tasks:
            self._offer_task(task)

    def forget(self, uid: str) -> None:
        """A pod or a PodGroup is gone."""
        self._tasks.forget(uid)
        self._groups.forget(uid)
        self._later.forget(uid)
        self._without_pods.forget(uid)
        self._offered.pop(uid, None)
        self._pod_groups.pop(uid, None)
        self._refusals.pop(uid, None)

    # Binds.

    async def _bind(self, bind: Bind) -> None:
        try:
            await self._post(bind)
        except Exception:
            self._unbound(bind.task.uid)  # whatever it was, the pod must not wait for its node for ever
            raise

    async def _post(self, bind: Bind) -> None:
        task = bind.task
        telling = self._telling.get(task.uid)
        if telling is not None:  # a condition that arrived after the binding would say that the pod has no node
            await asyncio.wait((telling,))
        begun = self._clock()
        self._rush.note(begun)
        observe_task(task, PRE_BOUND, begun)
        try:
            carried = task.pod.metadata.annotations if self._carries_annotations and task.pod is not None else None
            await self._clients.core_v1.pods.bind(
                task.name, task.namespace, bind.node, uid=task.uid, annotations=carried
            )
        except NotFound:
            log.info("pod is gone pod=%s", task.key)
            self._unbound(task.uid)
            return
        except _EXPECTED as error:
            await self._bind_failed(bind, error)
            return
        observe_stage(BIND, self._clock() - begun)
        self._bound(bind)

    def _bound(self, bind: Bind) -> None:
        self.bound += 1
        task = bind.task
        observe_task(task, BOUND, self._clock())
        if task.pod is not None:
            text = f"Successfully assigned {task.key} to {bind.node}"
            self._events.normal(PODS, task.pod, names.PodReason.SCHEDULED, text)

    async def _bind_failed(self, bind: Bind, error: Exception) -> None:
        task = bind.task
        if isinstance(error, Conflict) and await self._stands_there(bind):
            self._bound(bind)
            return
        log.warning("bind failed pod=%s node=%s error=%s", task.key, bind.node, error)
        text = f"failed to bind to node {bind.node}: {error}"
        await self._set_condition(task, names.PodReason.SCHEDULER_ERROR, text, "")
        self._tasks.note(task.uid, names.PodReason.SCHEDULER_ERROR, text, self._clock())
        self._unbound(task.uid)

    async def _stands_there(self, bind: Bind) -> bool:
        """Whether a conflict only says that the pod is where it was to go: an earlier try got through."""
        try:
            pod = await self._clients.core_v1.pods.get(bind.task.name, bind.task.namespace)
        except _EXPECTED:
            return False
        return pod.metadata.uid == bind.task.uid and pod.spec.node_name == bind.node

    # Statuses.

    def _tell_group(self, found: JobOutcome, *, at_once: bool = False) -> None:
        group = found.job.pod_group
        if group is None:
            return
        uid = group.metadata.uid
        self._pod_groups[uid] = group
        self._tell_refusal(uid, group, found.refusal)
        self._groups.learn(group)
        now = self._clock()
        offer = self._groups.offer(uid, GroupStatus.of(found), now, at_once=at_once, in_rush=self._rush.pause(now) > 0)
        if offer.wait:
            self._offered[uid] = found
            self._later.after(uid, offer.wait, self._offer_again)
        else:
            self._offered.pop(uid, None)
        if offer.is_first:
            self._others.put_nowait(_bound_to(self._write_group, uid))
        if offer.is_news or found.condition is not None:
            self._without_pods.forget(uid)
        if PodGroupPhase.RUNNING in {offer.after, found.phase if offer.is_news else ""}:
            self._events.normal(POD_GROUPS, group, names.PodGroupReason.SCHEDULED, READY)
        if offer.is_news:
            if found.event and found.phase == PodGroupPhase.INQUEUE and found.condition is None:
                self._without_pods.after(uid, PODS_EXPECTED, lambda _: self._tell_waits(group, found))
            elif found.event:
                self._tell_waits(group, found)

    def _tell_waits(self, group: PodGroup, found: JobOutcome) -> None:
        self._events.warning(POD_GROUPS, group, names.PodGroupReason.UNSCHEDULABLE, found.event)

    def _offer_again(self, uid: str) -> None:
        """The time has come of what differs little from what was told lately."""
        found = self._offered.pop(uid, None)
        if isinstance(found, JobOutcome):
            self._tell_group(found)
        elif found is not None:
            self._offer_task(found)

    def _offer_task(self, found: TaskOutcome) -> None:
        uid = found.task.uid
        offer = self._tasks.offer(found, self._clock())
        if offer.wait:
            self._offered[uid] = found
            self._later.after(uid, offer.wait, self._offer_again)
        elif offer.is_news:
            self._offered.pop(uid, None)
            self._others.put_nowait(_bound_to(self._tell_pod, found))

    def _tell_refusal(self, uid: str, group: PodGroup, refusal: str) -> None:
        """Say why a job is not let into its queue, once for each reason."""
        if not refusal:
            self._refusals.pop(uid, None)
        elif self._refusals.get(uid) != refusal:
            self._refusals[uid] = refusal
            self._events.normal(POD_GROUPS, group, names.PodGroupReason.UNSCHEDULABLE, refusal)

    async def _write_group(self, uid: str) -> None:
        while (status := self._groups.next(uid)) is not None:
            group = self._pod_groups[uid]
            body = apply.PodGroup(
                metadata=ObjectMeta(uid=uid), status=_group_status(group, status, timestamps.now(self._clock))
            )
            try:
                stored = await self._clients.scheduling_v1beta1.pod_groups.patch(
                    group.metadata.name, group.metadata.namespace, MergePatch(body)
                )
            except (NotFound, Conflict):  # gone, or another one has its name
                self.forget(uid)
                return
            except _EXPECTED as error:
                # It is offered no second time, so it waits here until it can be written.
                log.warning(
                    "status not written yet podgroup=%s/%s error=%s",
                    group.metadata.namespace, group.metadata.name, error,
                )  # fmt: skip
                self._later.again(uid, self._write_again)
                return
            self._later.succeeded(uid)
            self._pod_groups[uid] = stored
            self._groups.written(uid, status, self._clock())

    def _write_again(self, uid: str) -> None:
        self._others.put_nowait(_bound_to(self._write_group, uid))

    async def _tell_pod(self, found: TaskOutcome) -> None:
        pod, uid = found.task.pod, found.task.uid
        if pod is None or not self._tasks.holds(found):
            return  # it was bound meanwhile, or there is a newer word
        if found is not self._offered.get(uid):
            self._events.warning(PODS, pod, names.PodReason.FAILED_SCHEDULING, found.message)
        writing = asyncio.ensure_future(self._set_condition(found.task, found.reason, found.message, found.nominated))
        self._telling[uid] = writing
        try:
            is_written = await writing
        finally:
            del self._telling[uid]
        if is_written:
            self._later.succeeded(uid)
            self._offered.pop(uid, None)
        elif self._tasks.holds(found):
            self._offered[uid] = found
            self._later.again(uid, self._tell_again)

    def _tell_again(self, uid: str) -> None:
        found = self._offered.get(uid)
        if isinstance(found, TaskOutcome):
            self._others.put_nowait(_bound_to(self._tell_pod, found))

    async def _set_condition(self, task: Task, reason: str, message: str, nominated: str | None) -> bool:
        """Write a pod's condition; False when that must be tried again."""
        condition = core_apply.PodCondition(
            type=names.PodConditionType.POD_SCHEDULED,
            status="False",
            reason=reason,
            message=message,
            last_transition_time=timestamps.format_seconds(timestamps.now(self._clock)),
        )
        status = core_apply.PodStatus(conditions=[condition])
        if nominated != "":
            # None takes a name away that is no longer true.
            status.nominated_node_name = nominated
        try:
            await self._clients.core_v1.pods.patch_status(
                task.name, task.namespace,
                StrategicPatch(core_apply.Pod(metadata=ObjectMeta(uid=task.uid), status=status)),
            )  # fmt: skip
        except (NotFound, Conflict):
            return True  # gone, or another one has its name
        except _EXPECTED as error:
            log.info("condition not written pod=%s error=%s", task.key, error)
            return False
        return True


def _group_status(group: PodGroup, status: GroupStatus, now: Any) -> apply.PodGroupStatus:
    body = apply.PodGroupStatus(
        phase=status.phase, running=status.running, succeeded=status.succeeded, failed=status.failed
    )
    if status.condition:
        fresh = apply.PodGroupCondition(
            type=status.condition,
            status="True",
            reason=status.reason,
            message=status.message,
            transition_id=status.transition_id,
            last_transition_time=timestamps.format_seconds(now),
        )
        kept = [
            apply.PodGroupCondition(
                type=held.type,
                status=held.status,
                reason=held.reason,
                message=held.message,
                transition_id=held.transition_id,
                last_transition_time=held.last_transition_time,
            )
            for held in group.status.conditions
            if held.type != status.condition
        ]
        body.conditions = [*kept, fresh]
    return body


def _bound_to(write: Callable[[Any], Awaitable[None]], item: Any) -> Callable[[], Awaitable[None]]:
    return lambda: write(item)


async def _call(write: Callable[[], Awaitable[None]]) -> None:
    await write()
