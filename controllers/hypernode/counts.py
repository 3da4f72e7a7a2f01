"""`status.nodeCount`: how many nodes and children a HyperNode's members name (controllers.md 11.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from api.hypernodes import MemberIndex, Nodes, count_members, members_of
from generated.clients.clientset import Clientset
from generated.core.v1 import Node
from generated.topology.v1alpha1 import HyperNode
from runtime.errors import Conflict, NotFound
from runtime.lister import Lister
from runtime.objects import Key
from runtime.patches import MergePatch


class Counter:
    """Counts members, and writes the counts that differ."""

    def __init__(self, clients: Clientset, hypernodes: Lister[HyperNode], nodes: Lister[Node]) -> None:
        self._client = clients.topology_v1alpha1.hyper_nodes
        self._hypernodes = hypernodes
        self._nodes = nodes

    async def count(self, name: str) -> None:
        """Bring the count of one HyperNode up to date. Raises ApiError, ConnectionFailed."""
        found = self._hypernodes.get(Key("", name))
        if found is None:
            return
        members = members_of(found)
        count = len(members.names)
        if members.is_dynamic:
            count = await asyncio.to_thread(count_members, found, self._labels())
        if count == found.status.node_count:
            return
        body = {"metadata": {"uid": found.metadata.uid}, "status": {"nodeCount": count}}
        try:
            await self._client.patch_status(name, MergePatch(body))
        except (NotFound, Conflict):
            return  # it is gone; another one of that name is counted by itself

    async def outdated(self) -> list[str]:
        """The HyperNodes whose count is not right now."""
        hypernodes = self._hypernodes.list()
        counts = await asyncio.to_thread(_counts, hypernodes, self._labels())
        return [each.metadata.name for each in hypernodes if counts[each.metadata.name] != each.status.node_count]

    def _labels(self) -> dict[str, dict[str, str]]:
        return {node.metadata.name: node.metadata.labels for node in self._nodes}


def _counts(hypernodes: Sequence[HyperNode], nodes: Nodes) -> dict[str, int]:
    """By HyperNode. Nodes are looked at only if members select them by more than their names."""
    index = MemberIndex(hypernodes, kind="")
    is_dynamic = any(held.is_dynamic for held in index.members.values())
    selected = index.select(nodes) if is_dynamic else {}
    return {name: len(index.names(name) | selected.get(name, set())) for name in index.members}
