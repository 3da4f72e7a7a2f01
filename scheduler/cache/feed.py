"""What the informers see, handed to the scheduling thread as (kind, old, new)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from api.poddecoding import pod_decoder
from generated.apps.v1 import REPLICA_SETS, STATEFUL_SETS
from generated.core.v1 import (
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    Pod,
)
from generated.scheduling.v1 import PRIORITY_CLASSES
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES
from generated.shard.v1alpha1 import NODE_SHARDS
from generated.topology.v1alpha1 import HYPER_NODES
from runtime.handlers import Filtered
from runtime.informer import Informer
from runtime.informers import Informers
from runtime.rbac import READ, Rule
from runtime.resource import Resource
from scheduler.cache.selection import Selection

POD_RULES = (
    Rule(
        "",
        ("namespaces", "nodes", "persistentvolumeclaims", "pods", "replicationcontrollers", "services"),
        READ,
    ),
    Rule("apps", ("replicasets", "statefulsets"), READ),
    Rule("shard.volcano.sh", ("nodeshards",), READ),
)
"""To see nodes, and pods each by itself."""
RULES = (
    *POD_RULES,
    Rule("scheduling.k8s.io", ("priorityclasses",), READ),
    Rule("scheduling.volcano.sh", ("podgroups", "queues"), READ),
    Rule("topology.volcano.sh", ("hypernodes",), READ),
)

RESOURCES: tuple[Resource[Any], ...] = (
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    SERVICES,
    REPLICATION_CONTROLLERS,
    REPLICA_SETS,
    STATEFUL_SETS,
    QUEUES,
    PRIORITY_CLASSES,
    HYPER_NODES,
    NODE_SHARDS,
    NODES,
    POD_GROUPS,
    PODS,
)
"""What can be watched. What is watched are those of them whose kinds the state is made of."""


class _Handler(msgspec.Struct, frozen=True):
    kind: str
    push: Callable[[tuple[str, Any, Any]], None]

    def on_add(self, obj: Any, initial: bool) -> None:  # noqa: FBT001  # the seam of every handler
        del initial
        self.push((self.kind, None, obj))

    def on_update(self, old: Any, new: Any) -> None:
        self.push((self.kind, old, new))

    def on_delete(self, obj: Any) -> None:
        self.push((self.kind, obj, None))


class Forgetting:
    """Tells the uids of objects that are gone to whoever keeps something by them."""

    def __init__(self, forget: Callable[[str], None]) -> None:
        self._forget = forget

    def on_add(self, obj: Any, initial: bool) -> None:  # noqa: FBT001  # as Handler
        """Nothing is kept yet."""

    def on_update(self, old: Any, new: Any) -> None:
        """It is still there."""

    def on_delete(self, obj: Any) -> None:
        self._forget(obj.metadata.uid)


class _PodHandler(Filtered[Pod]):
    """A pod that is gone always passes: what is known of it may be older than what made it ours."""

    def __init__(self, accepts: Callable[[Pod], bool], handler: _Handler) -> None:
        super().__init__(accepts, handler)
        self._all = handler

    def on_delete(self, obj: Pod) -> None:
        self._all.on_delete(obj)


def feed(
    informers: Informers,
    push: Callable[[tuple[str, Any, Any]], None],
    kinds: Collection[str],
    selection: Selection | None = None,
) -> Mapping[str, Informer[Any]]:
    """Watch the kinds, as far as `selection` admits their objects; gives the informers by kind, to wait for."""
    chosen = selection if selection is not None else Selection()
    watched: dict[str, Informer[Any]] = {}
    for resource in RESOURCES:
        if resource.kind not in kinds:
            continue
        decoder = pod_decoder() if resource is PODS else None
        informer = informers.of(resource, decoder=decoder)
        informer.add_handler(_handler(resource, push, chosen))
        watched[resource.kind] = informer
    return watched


def _handler(resource: Resource[Any], push: Callable[[tuple[str, Any, Any]], None], selection: Selection) -> Any:
    handler = _Handler(resource.kind, push)
    if resource is PODS:
        return _PodHandler(selection.admits_pod, handler)
    if resource is NODES:
        return Filtered(selection.admits_node, handler)
    if resource is POD_GROUPS:
        return Filtered(selection.admits_pod_group, handler)
    return handler
