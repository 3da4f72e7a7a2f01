"""Writes which nodes this scheduler uses into the status of its NodeShard, on the event loop (scheduler.md 16)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from generated.apply.shard import v1alpha1 as apply
from runtime import timestamps
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.patches import MergePatch
from runtime.rbac import Rule

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset
    from scheduler.shards import ShardStatus

log = logging.getLogger(__name__)

RULES = (Rule("shard.volcano.sh", ("nodeshards/status",), ("patch",)),)


class ShardWriter:
    """
    The writer of one NodeShard's status; only the newest one that was submitted is written.

    `clock` gives unix seconds; `pause` is the time in seconds after which a failed write is tried again.
    """

    def __init__(self, clients: Clientset, name: str, *, clock: Callable[[], float], pause: float) -> None:
        self._clients = clients
        self._name = name
        self._clock = clock
        self._pause = pause
        self._wanted: ShardStatus | None = None
        self._due = asyncio.Event()

    def submit(self, status: ShardStatus | None) -> None:
        """What the status is to become; None when nothing needs to be written any more."""
        self._wanted = status
        self._due.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            wanted = self._wanted
            if wanted is not None and not await self._write(wanted):
                await asyncio.sleep(self._pause)
                self._due.set()
            elif self._wanted is wanted:
                self._wanted = None

    async def _write(self, wanted: ShardStatus) -> bool:
        """Whether nothing is left to be done about a status."""
        body = apply.NodeShard(
            status=apply.NodeShardStatus(
                last_update_time=timestamps.format_seconds(timestamps.now(self._clock)),
                nodes_in_use=sorted(wanted.in_use),
                nodes_to_add=sorted(wanted.to_add),
                nodes_to_remove=sorted(wanted.to_remove),
            )
        )
        try:
            await self._clients.shard_v1alpha1.node_shards.patch_status(self._name, MergePatch(body))
        except NotFound:
            log.info("shard status not written: the shard is gone nodeshard=%s", self._name)
        except (ApiError, ConnectionFailed) as error:
            log.warning("shard status not written nodeshard=%s error=%s", self._name, error)
            return False
        except Exception:
            log.exception("shard status could not be written nodeshard=%s", self._name)
            return False
        else:
            log.info("shard status written nodeshard=%s in_use=%d", self._name, len(wanted.in_use))
        return True
