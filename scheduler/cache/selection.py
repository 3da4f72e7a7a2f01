"""
Which objects this scheduler is responsible for (scheduler.md 4.4): by the labels of nodes, and by a share of the cluster
where several replicas divide it among themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from api.names import SchedulerEnv
from runtime.errors import ConfigError

if TYPE_CHECKING:
    from generated.core.v1 import Node, Pod
    from generated.meta.v1 import ObjectMeta
    from generated.scheduling.v1beta1 import PodGroup

POINTS = 20
"""Of each replica on the ring."""


class Ring:
    """
    A consistent hash over replicas, the one of the Go scheduler, so that replicas of both divide a cluster alike.

    A replica has its points at CRC-32 of `<i><name>`; a key belongs to the first point strictly behind its own.
    """

    def __init__(self, members: Iterable[str]) -> None:
        points = {crc32(f"{number}{member}".encode()): member for member in members for number in range(POINTS)}
        self._hashes = sorted(points)
        self._members = [points[place] for place in self._hashes]

    def owner(self, key: str) -> str:
        """The replica of a key; nobody where there are no replicas."""
        if not self._members:
            return ""
        return self._members[bisect_right(self._hashes, crc32(key.encode())) % len(self._members)]


class Share(msgspec.Struct, frozen=True):
    """The part of the cluster that one replica looks after."""

    ring: Ring
    member: str

    def holds(self, key: str) -> bool:
        """Whether a key is this replica's."""
        return self.ring.owner(key) == self.member

    def holds_object(self, meta: ObjectMeta) -> bool:
        """Whether an object is: by its first owner's name, else by its own."""
        return self.holds(meta.owner_references[0].name if meta.owner_references else meta.name)


def share_of(environment: Mapping[str, str]) -> Share | None:
    """The share that the environment gives this process, None when it looks after everything. Raises ConfigError."""
    if environment.get(SchedulerEnv.MULTI_SCHEDULER_ENABLE) != "true":
        return None
    name = environment.get(SchedulerEnv.SCHEDULER_POD_NAME, "")
    base, dash, _ = name.rpartition("-")
    if not dash:
        raise ConfigError(
            f"{SchedulerEnv.SCHEDULER_POD_NAME} is {name!r}: with {SchedulerEnv.MULTI_SCHEDULER_ENABLE} it has to be "
            "the name of a pod of a StatefulSet, such as volcano-scheduler-0"
        )
    try:
        count = int(environment.get(SchedulerEnv.SCHEDULER_NUM, ""))
    except ValueError:
        count = 1
    return Share(Ring(f"{base}-{number}" for number in range(count)), name)


def selector_of(entries: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Labels of `--node-selector`: `key:value` entries. What has no colon, or nothing behind it, is passed over."""
    found = set()
    for entry in entries:
        key, _, value = entry.partition(":")
        if value.strip():
            found.add((key.strip(), value.strip()))
    return frozenset(found)


class Selection(msgspec.Struct, frozen=True):
    """What enters the scheduler's state."""

    node_labels: frozenset[tuple[str, str]] = frozenset()
    """A node needs any of these labels; without any every node will do."""
    share: Share | None = None

    def admits_node(self, node: Node) -> bool:
        """Whether a node is used."""
        if self.share is not None and not self.share.holds(node.metadata.name):
            return False
        return not self.node_labels or any(node.metadata.labels.get(key) == value for key, value in self.node_labels)

    def admits_pod(self, pod: Pod) -> bool:
        """Whether a pod may be this scheduler's, or stands on a node of its share."""
        if self.share is None:
            return True
        return self.share.holds_object(pod.metadata) or bool(
            pod.spec.node_name and self.share.holds(pod.spec.node_name)
        )

    def admits_pod_group(self, group: PodGroup) -> bool:
        """Whether a PodGroup is of this scheduler's share."""
        return self.share is None or self.share.holds_object(group.metadata)
