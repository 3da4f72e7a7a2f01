"""
Writes the shards of schedulers (controllers.md 12.4).

The nodes that a scheduler should use are ours to write. The status is the scheduler's; it is only told what changes
for it at the moment of a change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime

from controllers.freshest import Freshest
from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta
from generated.shard.v1alpha1 import NodeShard, NodeShardSpec
from runtime import timestamps
from runtime.errors import Conflict, NotFound
from runtime.lister import Lister
from runtime.objects import Key, key_of
from runtime.patches import MergePatch

_log = logging.getLogger(__name__)


class Shards:
    """NodeShards as they are to be. `clock` gives unix seconds."""

    def __init__(self, clients: Clientset, shards: Lister[NodeShard], clock: Callable[[], float]) -> None:
        self._client = clients.shard_v1alpha1.node_shards
        self._shards = shards
        self._clock = clock
        self._fresh: Freshest[NodeShard] = Freshest()
        self._untold: set[str] = set()
        """Shards whose status does not tell yet what changed."""

    def forget(self, shard: NodeShard) -> None:
        """A shard is gone."""
        self._fresh.forget(key_of(shard))

    def has(self, name: str) -> bool:
        """Whether there is a shard of this name."""
        return Key("", name) in self._shards

    async def write(self, name: str, nodes: tuple[str, ...]) -> None:
        """Give a scheduler these nodes. Raises ApiError, ConnectionFailed."""
        cached = self._shards.get(Key("", name))
        shard = self._fresh.of(cached) if cached is not None else None
        if shard is None:
            self._untold.add(name)
            made = NodeShard(metadata=ObjectMeta(name=name), spec=NodeShardSpec(nodes_desired=nodes))
            shard = await self._client.create(made)
        elif sorted(shard.spec.nodes_desired) != sorted(nodes):
            self._untold.add(name)
            body = {"metadata": {"uid": shard.metadata.uid}, "spec": {"nodesDesired": nodes}}
            shard = await self._client.patch(name, MergePatch(body))
        elif name not in self._untold and shard.status.last_update_time is not None:
            return
        _log.info("shard.assigned shard=%s nodes=%d", name, len(nodes))
        self._fresh.note(await self._tell(shard))
        self._untold.discard(name)

    async def drop_others(self, names: Collection[str]) -> None:
        """Delete the shards of all but these schedulers. Raises ApiError, ConnectionFailed."""
        for shard in self._shards.list():
            name = shard.metadata.name
            if name in names:
                continue
            with suppress(NotFound, Conflict):  # gone, or another one of that name
                await self._client.delete(name, uid=shard.metadata.uid)
                _log.info("shard.deleted shard=%s reason=no such scheduler is configured", name)

    async def _tell(self, shard: NodeShard) -> NodeShard:
        """Tell the scheduler which nodes to take up and which to give up."""
        desired, used = shard.spec.nodes_desired, shard.status.nodes_in_use
        status = {
            "lastUpdateTime": timestamps.format_seconds(datetime.fromtimestamp(self._clock(), UTC)),
            "nodesToAdd": [node for node in desired if node not in set(used)],
            "nodesToRemove": [node for node in used if node not in set(desired)],
        }
        body = {"metadata": {"uid": shard.metadata.uid}, "status": status}
        return await self._client.patch_status(shard.metadata.name, MergePatch(body))
