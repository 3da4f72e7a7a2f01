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
from generated.apply.scheduling import v1beta1 as apply
from generated.core.v1 import PODS
from generated.scheduling.v1beta1 import POD_GROUPS, PodGroupPhase
from runtime import timestamps
from runtime.errors import ApiError, Conflict, ConnectionFailed, NotFound
from runtime.patches import MergePatch, StrategicPatch
from runtime.rbac import Rule
from scheduler.cache.evictions import Evictions
from scheduler.cache.statuses import GroupStatus, GroupStatuses, TaskStatuses
from scheduler.decisions import Bind, Evict
from scheduler.messages import READY
from scheduler.publishing import BIND, BOUND, PRE_BOUND, observe_stage, observe_task

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset
    from generated.scheduling.v1beta1 import PodGroup
    from runtime.events import EventRecorder
    from scheduler.cycle import Result
    from scheduler.outcome import JobOutcome, TaskOutcome
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
_EXPECTED = (ApiError, ConnectionFailed)


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
        self.bound = 0
        """Binds that the server accepted."""
        self.running = 0
        """Writes under way."""

    @property
    def owed(self) -> int:
        """Writes that are waiting or under way."""
        return self._binds.qsize() + self._others.qsize() + self.running

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(BIND_WORKERS):
                workers.create_task(self._work(self._binds, self._bind))
            for _ in range(STATUS_WORKERS):
                workers.create_task(self._work(self._others, _call))

    async def drain(self) -> None:
        """Wait until everything submitted is written."""
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
        now = self._clock()
        for job in result.outcome.jobs:
            self._tell_group(job, now)
        for task in result.outcome.tasks:
            if self._tasks.offer(task, now):
                self._others.put_nowait(_bound_to(self._tell_pod, task))

    # Binds.

    async def _bind(self, bind: Bind) -> None:
        task = bind.task
        begun = self._clock()
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
        self._unbound(task.uid)

    async def _stands_there(self, bind: Bind) -> bool:
        """Whether a conflict only says that the pod is where it was to go: an earlier try got through."""
        try:
            pod = await self._clients.core_v1.pods.get(bind.task.name, bind.task.namespace)
        except _EXPECTED:
            return False
        return pod.metadata.uid == bind.task.uid and pod.spec.node_name == bind.node

    # Statuses.

    def _tell_group(self, found: JobOutcome, now: float) -> None:
        group = found.job.pod_group
        if group is None:
            return
        uid = group.metadata.uid
        self._pod_groups[uid] = group
        self._tell_refusal(uid, group, found.refusal)
        if self._groups.offer(uid, GroupStatus.of(found), now):
            self._others.put_nowait(_bound_to(self._write_group, uid))
            if found.event:
                self._events.warning(POD_GROUPS, group, names.PodGroupReason.UNSCHEDULABLE, found.event)
            elif found.phase == PodGroupPhase.RUNNING:
                self._events.normal(POD_GROUPS, group, names.PodGroupReason.SCHEDULED, READY)

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
            body = apply.PodGroup(status=_group_status(group, status, timestamps.now(self._clock)))
            try:
                stored = await self._clients.scheduling_v1beta1.pod_groups.patch(
                    group.metadata.name, group.metadata.namespace, MergePatch(body)
                )
            except NotFound:
                self._groups.forget(uid)
                return
            except _EXPECTED as error:
                log.warning(
                    "status not written podgroup=%s/%s error=%s", group.metadata.namespace, group.metadata.name, error
                )
                self._groups.forget(uid)
                return
            self._pod_groups[uid] = stored
            self._groups.written(uid, status, self._clock())

    async def _tell_pod(self, found: TaskOutcome) -> None:
        pod = found.task.pod
        if pod is None:
            return
        self._events.warning(PODS, pod, names.PodReason.FAILED_SCHEDULING, found.message)
        if not await self._set_condition(found.task, found.reason, found.message, found.nominated):
            self._tasks.forget(found.task.uid)

    async def _set_condition(self, task: Task, reason: str, message: str, nominated: str | None) -> bool:
        condition = core_apply.PodCondition(
            type="PodScheduled",
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
                task.name, task.namespace, StrategicPatch(core_apply.Pod(status=status))
            )
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
