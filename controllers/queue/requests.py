"""What the queue controller is asked to do, and by whom: changes of queues and pod groups, and Commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from controllers.queue import gauges
from generated.bus.v1alpha1 import Action, Command, Event
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.scheduling.v1beta1 import QUEUES, PodGroup, Queue
from runtime.queue import WorkQueue

CASCADE = ""
"""The event of a request that follows from the parent's state."""


class Request(NamedTuple):
    """One action on a queue. Equal requests wait once."""

    queue: str
    action: str = Action.SYNC_QUEUE
    event: str = Event.OUT_OF_SYNC


class Order(NamedTuple):
    """A Command that waits to be taken."""

    namespace: str
    name: str
    uid: str
    queue: str
    action: str


Work = Request | Order
Requests = WorkQueue[Work]


class OnQueue:
    """Wakes a queue for its own changes, and its children when its state changes or it comes or goes."""

    def __init__(self, requests: Requests, queues: QueueLister, forget: Callable[[Queue], None]) -> None:
        """`forget` is called for a queue that is gone."""
        self._requests = requests
        self._queues = queues
        self._forget = forget

    def on_add(self, obj: Queue, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._requests.add(Request(obj.metadata.name), is_urgent=not initial)
        if not initial:
            self._wake_children(obj)

    def on_update(self, old: Queue, new: Queue) -> None:
        if old.spec.parent != new.spec.parent:
            self._requests.add(Request(new.metadata.name))
        if old.status.state != new.status.state:
            self._wake_children(new)

    def on_delete(self, obj: Queue) -> None:
        gauges.drop(obj.metadata.name)
        self._forget(obj)

    def _wake_children(self, queue: Queue) -> None:
        for child in self._queues.by_parent(queue.metadata.name):
            self._requests.add(Request(child.metadata.name))


class OnPodGroup:
    """Wakes the queue of a pod group that comes, goes, moves or changes its phase."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def on_add(self, obj: PodGroup, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._wake(obj, is_urgent=not initial)

    def on_update(self, old: PodGroup, new: PodGroup) -> None:
        if (old.status.phase, old.spec.queue) != (new.status.phase, new.spec.queue):
            self._wake(new)
            self._wake(old)

    def on_delete(self, obj: PodGroup) -> None:
        self._wake(obj)

    def _wake(self, group: PodGroup, *, is_urgent: bool = True) -> None:
        if group.spec.queue:
            self._requests.add(Request(group.spec.queue), is_urgent=is_urgent)


class OnCommand:
    """Takes Commands that are for queues."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def on_add(self, obj: Command, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        target = obj.target
        if target is not None and target.api_version == QUEUES.api_version and target.kind == QUEUES.kind:
            meta = obj.metadata
            self._requests.add(Order(meta.namespace, meta.name, meta.uid, target.name, obj.action))

    def on_update(self, old: Command, new: Command) -> None:
        """A Command is carried out as it came."""

    def on_delete(self, obj: Command) -> None:
        """It was taken, or withdrawn in time."""
