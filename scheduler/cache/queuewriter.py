"""Writes what queues hold into their status, on the event loop (scheduler.md 14.5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.patches import MergePatch
from runtime.rbac import Rule
from scheduler.cache.queuestatuses import Allocated, QueueStatuses
from scheduler.fairness.levels import Level

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset

log = logging.getLogger(__name__)

RULES = (Rule("scheduling.volcano.sh", ("queues/status",), ("patch",)),)
WORKERS = 4


class QueueWriter:
    """
    One writer of one field, `status.allocated`. `submit` and `run` belong to the event loop.

    `period` is the shortest time between two writes to a queue, in seconds; `clock` gives seconds.
    """

    def __init__(self, clients: Clientset, *, period: float, clock: Callable[[], float]) -> None:
        self._clients = clients
        self._clock = clock
        self._pause = period
        self._statuses = QueueStatuses(period)
        self._names: dict[str, str] = {}
        self._due: asyncio.Queue[str] = asyncio.Queue()

    def submit(self, found: Iterable[Level]) -> None:
        """Take in what queues hold after a cycle."""
        now = self._clock()
        names: dict[str, str] = {}
        for level in found:
            obj = level.queue.object
            if obj is None:
                continue
            uid = obj.metadata.uid
            names[uid] = obj.metadata.name
            wait = self._statuses.offer(level, now)
            if wait is not None:
                asyncio.get_running_loop().call_later(wait, self._due.put_nowait, uid)
        self._names = names
        self._statuses.keep(set(names))

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            uid = await self._due.get()
            name, found = self._names.get(uid), self._statuses.next(uid, self._clock())
            if name is None or found is None:
                continue
            wanted, before = found
            try:
                await self._write(name, wanted, before)
            except NotFound:
                continue
            except (ApiError, ConnectionFailed) as error:
                log.warning("queue status not written queue=%s error=%s", name, error)
            except Exception:
                log.exception("queue status could not be written queue=%s", name)
            else:
                self._statuses.written(uid, wanted)
                continue
            if self._statuses.failed(uid, wanted):
                asyncio.get_running_loop().call_later(self._pause, self._due.put_nowait, uid)

    async def _write(self, name: str, wanted: Allocated, before: Allocated) -> None:
        # A merge patch leaves what it doesn't name: resources that nothing holds any more are taken out by null.
        allocated: dict[str, Any] = {**dict.fromkeys(before), **wanted}
        await self._clients.scheduling_v1beta1.queues.patch_status(
            name, MergePatch({"status": {"allocated": allocated}})
        )
