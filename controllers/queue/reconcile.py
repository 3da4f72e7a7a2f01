"""
Brings a queue to the state that is asked for, and keeps its parent, its gauges and its children's states right.

Closing and opening cascade by state: a queue that sees its parent shut shuts itself and marks that it did so, and
opens again when it sees its parent open. So a cascade goes on after a restart, whoever wrote the parent's state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn
from weakref import WeakValueDictionary

from api import names
from controllers.freshest import Freshest
from controllers.queue import gauges
from controllers.queue.machine import SHUT, Operation, cell, target
from controllers.queue.population import Population
from controllers.queue.requests import CASCADE, Order, Request, Work
from generated.apply.scheduling import v1beta1 as apply
from generated.bus.v1alpha1 import Action, Event
from generated.clients.clientset import Clientset
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.scheduling.v1beta1 import QUEUES, Queue, QueueState
from runtime.controller import DONE, ReconcileError, Result
from runtime.errors import ApiError, Conflict, ConnectionFailed, NotFound
from runtime.events import EventRecorder
from runtime.objects import key_of
from runtime.patches import MergePatch

_log = logging.getLogger(__name__)

_TRUE = "true"
_FALSE = "false"


class QueueError(ReconcileError):
    """A queue can't be brought to the state asked for, as things are."""


class QueueReconciler:
    """`reconcile` carries out one request. `ask` queues a further one."""

    def __init__(
        self,
        clients: Clientset,
        queues: QueueLister,
        population: Population,
        events: EventRecorder,
        ask: Callable[[Request], None],
    ) -> None:
        self._clients = clients
        self._queues = queues
        self._population = population
        self._events = events
        self._ask = ask
        self._fresh: Freshest[Queue] = Freshest()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Different actions on one queue wait for each other."""

    async def reconcile(self, work: Work) -> Result:
        """Raises QueueError, InvalidStateError, ApiError, ConnectionFailed."""
        if isinstance(work, Order):
            await self._take(work)
            return DONE
        lock = self._locks.setdefault(work.queue, asyncio.Lock())
        async with lock:
            queue = self._read(work.queue)
            if queue is not None:
                await self._act(queue, work)
        return DONE

    async def give_up(self, work: Work, error: Exception) -> None:
        """Tell on the queue that an action failed for good."""
        queue = self._read(work.queue)
        if isinstance(work, Order) or queue is None:
            return
        reason = f"sync queue {work.queue} failed for {error}, event is {work.event}, action is {work.action}"
        self._events.warning(QUEUES, queue, work.action, f"{work.action} queue failed for {reason}")

    def forget(self, queue: Queue) -> None:
        """A queue is gone."""
        self._fresh.forget(key_of(queue))

    async def _take(self, order: Order) -> None:
        """Delete the Command first, so that it is carried out at most once."""
        try:
            await self._clients.bus_v1alpha1.commands.delete(order.name, order.namespace, uid=order.uid)
        except (NotFound, Conflict):
            return  # somebody else has taken it
        _log.info("command.taken command=%s/%s queue=%s action=%s", order.namespace, order.name, *order[3:])
        self._ask(Request(order.queue, order.action, Event.COMMAND_ISSUED))

    async def _act(self, queue: Queue, request: Request) -> None:
        name, state = queue.metadata.name, queue.status.state
        found = cell(name, state, request.action)
        wanted = target(found.goal, self._population.of(name))
        if found.operation is Operation.OPEN:
            await self._open(queue, wanted, request)
        elif found.operation is Operation.CLOSE:
            await self._close(queue, wanted, request)
        else:
            await self._sync(queue, wanted)

    async def _sync(self, queue: Queue, wanted: str) -> None:
        queue = await self._adopt(queue)
        gauges.show(queue.metadata.name, self._population)
        if queue.status.state != wanted:
            queue = await self._apply(queue, wanted)
        await self._follow_parent(queue)

    async def _adopt(self, queue: Queue) -> Queue:
        """Hang a queue without parent below root."""
        name = queue.metadata.name
        if queue.spec.parent or name == names.ROOT_QUEUE:
            return queue
        meta = queue.metadata  # pinned, so that a parent which a user sets at this moment is not overwritten
        head = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        patch = MergePatch({"metadata": head, "spec": {"parent": names.ROOT_QUEUE}})
        return self._noted(await self._clients.scheduling_v1beta1.queues.patch(name, patch))

    async def _follow_parent(self, queue: Queue) -> None:
        name = queue.metadata.name
        if name == names.ROOT_QUEUE:
            return
        parent = self._parent_state(queue)
        is_shut = queue.status.state in SHUT
        if parent in SHUT and not is_shut:
            await self._mark(queue, _TRUE)
            self._ask(Request(name, Action.CLOSE_QUEUE, CASCADE))
        elif parent == QueueState.OPEN and _is_marked(queue):
            if is_shut:
                self._ask(Request(name, Action.OPEN_QUEUE, CASCADE))
            else:  # the parent was opened before its close got here; a later close is somebody's own
                await self._mark(queue, _FALSE)

    async def _open(self, queue: Queue, wanted: str, request: Request) -> None:
        if queue.spec.parent not in {"", names.ROOT_QUEUE} and self._parent_state(queue) in SHUT:
            self._refuse_to_open(queue, request)
        before = queue.status.state
        try:
            await self._apply(queue, wanted)
        except (ApiError, ConnectionFailed) as error:
            message = f"Update queue status from {before} to {wanted} failed for {error}"
            self._events.warning(QUEUES, queue, names.QueueReason.OPEN_QUEUE, message)
            raise
        self._events.normal(QUEUES, queue, names.QueueReason.OPEN_QUEUE, "Open queue succeed")
        await self._mark(queue, _FALSE)

    def _refuse_to_open(self, queue: Queue, request: Request) -> NoReturn:
        """
        A queue stays closed while its parent is. Raises QueueError.

        Whoever ordered it is told at once: the retries go on for minutes, in case the parent is opened. A cascade, which
        nobody ordered, comes again with the parent's next state.
        """
        message = (
            f"Failed to open queue {queue.metadata.name} because its parent queue {queue.spec.parent} is closing or "
            "closed. Open the parent queue first."
        )
        if request.event != CASCADE:
            self._events.warning(QUEUES, queue, names.QueueReason.OPEN_QUEUE, message)
        raise QueueError(message)

    async def _close(self, queue: Queue, wanted: str, request: Request) -> None:
        name = queue.metadata.name
        if name == names.ROOT_QUEUE:
            _log.warning("queue.close_refused queue=%s: the root queue can't be closed", name)
            return
        if request.event == CASCADE and self._parent_state(queue) not in SHUT:
            return  # the parent was opened again meanwhile
        try:
            if request.event != CASCADE and _is_marked(queue):
                queue = await self._mark(queue, _FALSE)  # whoever closes it himself opens it himself
            await self._apply(queue, wanted)
        except (ApiError, ConnectionFailed) as error:
            reason = names.QueueReason.CLOSE_QUEUE
            self._events.warning(QUEUES, queue, reason, f"Close queue failed for {error}")
            raise
        self._events.normal(QUEUES, queue, names.QueueReason.CLOSE_QUEUE, "Close queue succeed")

    async def _apply(self, queue: Queue, state: str) -> Queue:
        """Own nothing but the state."""
        name = queue.metadata.name
        body = apply.Queue(status=apply.QueueStatus(state=state))
        applied = await self._clients.scheduling_v1beta1.queues.apply_status(
            name, body, field_manager=names.QUEUE_FIELD_MANAGER, force=True
        )
        _log.info("queue.state queue=%s from=%s to=%s", name, queue.status.state, state)
        return self._noted(applied)

    async def _mark(self, queue: Queue, value: str) -> Queue:
        """Note whether the queue was closed by its parent."""
        key = names.CLOSED_BY_PARENT_ANNOTATION
        if queue.metadata.annotations.get(key) == value:
            return queue
        body = {"metadata": {"uid": queue.metadata.uid, "annotations": {key: value}}}
        return self._noted(await self._clients.scheduling_v1beta1.queues.patch(queue.metadata.name, MergePatch(body)))

    def _parent_state(self, queue: Queue) -> str:
        """
        The state of the parent; one without state, and a root that isn't there, count as open.

        Raises QueueError for another parent that isn't there.
        """
        name = queue.spec.parent or names.ROOT_QUEUE
        parent = self._read(name)
        if parent is None and name != names.ROOT_QUEUE:
            raise QueueError(f"parent queue {name} of queue {queue.metadata.name} is not found")
        return (parent.status.state if parent else "") or QueueState.OPEN

    def _read(self, name: str) -> Queue | None:
        cached = self._queues.get(name)
        return self._fresh.of(cached) if cached is not None else None

    def _noted(self, queue: Queue) -> Queue:
        self._fresh.note(queue)
        return queue


def _is_marked(queue: Queue) -> bool:
    """Whether it was its parent's state that closed the queue."""
    return queue.metadata.annotations.get(names.CLOSED_BY_PARENT_ANNOTATION) == _TRUE
