"""What the informers see, handed to the scheduling thread as (kind, old, new)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from generated.core.v1 import NODES, PODS, Pod
from generated.scheduling.v1 import PRIORITY_CLASSES
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES
from runtime.informer import Informer
from runtime.informers import Informers
from runtime.interning import InterningDecoder
from runtime.rbac import READ, Rule

POD_PARTS = (
    "spec.containers",
    "spec.initContainers",
    "spec.affinity",
    "spec.tolerations",
    "spec.volumes",
    "spec.topologySpreadConstraints",
)
"""Spec parts that the pods of a template share."""

RULES = (
    Rule("", ("pods", "nodes"), READ),
    Rule("scheduling.k8s.io", ("priorityclasses",), READ),
    Rule("scheduling.volcano.sh", ("podgroups", "queues"), READ),
)


@dataclass(frozen=True, slots=True)
class _Handler:
    kind: str
    push: Callable[[tuple[str, Any, Any]], None]

    def on_add(self, obj: Any, initial: bool) -> None:  # noqa: FBT001  # the seam of every handler
        del initial
        self.push((self.kind, None, obj))

    def on_update(self, old: Any, new: Any) -> None:
        self.push((self.kind, old, new))

    def on_delete(self, obj: Any) -> None:
        self.push((self.kind, obj, None))


def feed(informers: Informers, push: Callable[[tuple[str, Any, Any]], None]) -> Iterable[Informer[Any]]:
    """Watch everything that scheduling reads; gives the informers, to wait for."""
    watched: list[Informer[Any]] = [
        informers.of(QUEUES),
        informers.of(PRIORITY_CLASSES),
        informers.of(NODES),
        informers.of(POD_GROUPS),
        informers.of(PODS, decoder=InterningDecoder(Pod, intern=POD_PARTS)),
    ]
    for informer in watched:
        informer.add_handler(_Handler(informer.resource.kind, push))
    return watched
