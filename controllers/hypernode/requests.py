"""What the HyperNode controller is asked to do, and what wakes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from controllers.hypernode.label import values
from controllers.hypernode.settings import LABEL
from generated.core.v1 import ConfigMap, Node
from generated.topology.v1alpha1 import HyperNode
from runtime.queue import WorkQueue

SETTLE: Final = 1.0
"""Seconds that changes are gathered for, before all nodes are looked at."""


class Reload(NamedTuple):
    """Read the configuration."""

    what: str = "reload"


class Discover(NamedTuple):
    """Look what a source says, and write it."""

    source: str


class CountOne(NamedTuple):
    """Count the nodes of one HyperNode."""

    hypernode: str
    what: str = "count"


class CountAll(NamedTuple):
    """See which HyperNodes have other nodes now."""

    what: str = "count all"


Work = Reload | Discover | CountOne | CountAll


class OnConfigMap:
    """Nothing runs before the configuration is seen."""

    def __init__(self, queue: WorkQueue[Work]) -> None:
        self._queue = queue

    def on_add(self, obj: ConfigMap, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        self._queue.add(Reload())

    def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        if old.data != new.data:
            self._queue.add(Reload())

    def on_delete(self, obj: ConfigMap) -> None:  # noqa: ARG002  # as Handler
        self._queue.add(Reload())


class OnHyperNode:
    """HyperNodes are counted when they come or change; where one goes, labels may make another one."""

    def __init__(self, queue: WorkQueue[Work]) -> None:
        self._queue = queue

    def on_add(self, obj: HyperNode, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if initial:
            self._queue.add(CountAll(), is_urgent=False)
        else:
            self._queue.add(CountOne(obj.metadata.name))

    def on_update(self, old: HyperNode, new: HyperNode) -> None:
        if (old.spec.members, old.status.node_count) != (new.spec.members, new.status.node_count):
            self._queue.add(CountOne(new.metadata.name))

    def on_delete(self, obj: HyperNode) -> None:  # noqa: ARG002  # as Handler
        self._queue.add_after(Discover(LABEL), SETTLE)


class OnNode:
    """Nodes that come, go or change their labels. `watched` gives the labels that make HyperNodes."""

    def __init__(self, queue: WorkQueue[Work], watched: Callable[[], frozenset[str]]) -> None:
        self._queue = queue
        self._watched = watched

    def on_add(self, obj: Node, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:  # all are looked at when this process starts
            self._changed({}, obj.metadata.labels)

    def on_update(self, old: Node, new: Node) -> None:
        if old.metadata.labels != new.metadata.labels:
            self._changed(old.metadata.labels, new.metadata.labels)

    def on_delete(self, obj: Node) -> None:
        self._changed(obj.metadata.labels, {})

    def _changed(self, before: dict[str, str], after: dict[str, str]) -> None:
        watched = self._watched()
        if values(before, watched) != values(after, watched):
            self._queue.add_after(Discover(LABEL), SETTLE)
        self._queue.add_after(CountAll(), SETTLE)
