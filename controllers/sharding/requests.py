"""What the sharding controller is asked to do, and what wakes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from controllers.sharding.usage import Usage, counts
from generated.core.v1 import ConfigMap, Node, Pod
from generated.shard.v1alpha1 import NodeShard
from runtime import quantity
from runtime.quantity import QuantityError
from runtime.queue import WorkQueue

_CPU: Final = "cpu"
_READY: Final = "Ready"
_NEVER_SEEN: Final = "NodeStatusNeverUpdated"
"""The reason by which Kubernetes marks nodes that no kubelet has reported for yet: that says nothing about them."""
_GROWTH: Final = 0.5


class Sync(NamedTuple):
    """Look at all nodes and assign them."""

    what: str = "sync"


class Measure(NamedTuple):
    """See whether loads have changed much."""

    what: str = "measure"


class Shard(NamedTuple):
    """Write the shard of one scheduler."""

    scheduler: str


Work = Sync | Measure | Shard


Wake = Callable[[Work], None]
"""Asks for a look, soon, if changes are to be followed."""


def is_usable(node: Node) -> bool:
    """Whether new pods can run on a node: it stays, takes pods, and is ready as far as anybody knows."""
    if node.metadata.deletion_timestamp is not None or node.spec.unschedulable:
        return False
    ready = next((each for each in node.status.conditions if each.type == _READY), None)
    return ready is None or ready.status == "True" or ready.reason == _NEVER_SEEN


class OnConfigMap:
    """The configuration is looked at before each sync."""

    def __init__(self, queue: WorkQueue[Work]) -> None:
        self._queue = queue

    def on_add(self, obj: ConfigMap, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        self._queue.add(Sync())

    def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        if old.data != new.data:
            self._queue.add(Sync())

    def on_delete(self, obj: ConfigMap) -> None:
        """The last configuration stays."""


class OnShard:
    """Shards that come, change or go."""

    def __init__(self, queue: WorkQueue[Work], forget: Callable[[NodeShard], None]) -> None:
        self._queue = queue
        self._forget = forget

    def on_add(self, obj: NodeShard, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:  # the first sync looks at all
            self._queue.add(Shard(obj.metadata.name))

    def on_update(self, old: NodeShard, new: NodeShard) -> None:
        if old.spec != new.spec:
            self._queue.add(Shard(new.metadata.name))

    def on_delete(self, obj: NodeShard) -> None:
        self._forget(obj)
        self._queue.add(Shard(obj.metadata.name))


class OnNode:
    """Nodes that come, go, or change what assignments depend on."""

    def __init__(self, usage: Usage, wake: Wake) -> None:
        self._usage = usage
        self._wake = wake

    def on_add(self, obj: Node, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._usage.mark(obj.metadata.name)
        if not initial:
            self._wake(Sync())

    def on_update(self, old: Node, new: Node) -> None:
        if old.status.capacity != new.status.capacity:
            self._usage.mark(new.metadata.name)
        if _aspects(old) != _aspects(new) or _has_grown(old, new):
            self._wake(Sync())

    def on_delete(self, obj: Node) -> None:
        self._usage.mark(obj.metadata.name)
        self._wake(Sync())


class OnPod:
    """Pods on nodes that come, go, end, or change what they request."""

    def __init__(self, usage: Usage, wake: Wake) -> None:
        self._usage = usage
        self._wake = wake

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._changed(obj.spec.node_name, is_news=not initial)

    def on_update(self, old: Pod, new: Pod) -> None:
        if _claims(old) != _claims(new):
            self._changed(old.spec.node_name)
            self._changed(new.spec.node_name)

    def on_delete(self, obj: Pod) -> None:
        self._changed(obj.spec.node_name)

    def _changed(self, node: str, *, is_news: bool = True) -> None:
        if node:
            self._usage.mark(node)
            if is_news:
                self._wake(Measure())


def _aspects(node: Node) -> object:
    return node.metadata.labels, node.metadata.annotations, is_usable(node)


def _has_grown(old: Node, new: Node) -> bool:
    """Whether the cpus of a node, in whole cores, are half as many more or less (compat: SHARD-2)."""
    if old.status.capacity == new.status.capacity:
        return False
    try:
        before, now = (quantity.units(node.status.capacity.get(_CPU, 0)) for node in (old, new))
    except QuantityError:
        return True
    return abs(now - before) / (before + 1) > _GROWTH


def _claims(pod: Pod) -> object:
    """What a pod takes of which node; a resize shows in the status first."""
    requests = [container.resources for container in (*pod.spec.init_containers, *pod.spec.containers)]
    held = [(status.allocated_resources, status.resources) for status in pod.status.container_statuses]
    return pod.spec.node_name, counts(pod), requests, pod.spec.resources, pod.spec.overhead, held
