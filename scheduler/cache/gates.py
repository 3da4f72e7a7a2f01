"""
Removes the admission gates that cycles decided to open, on the event loop (scheduler.md 11.7).

A removal that fails, or finds no place in the buffer, is told back a moment later; the next cycle then decides anew,
with the room that there is by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from api import names
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.patches import StrategicPatch
from runtime.rbac import Rule

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

RULES = (Rule("", ("pods",), ("patch",)),)
BUFFERED = 200
"""Removals that may wait, a worker."""
DEFAULT_WORKERS = 5


class GateRemovals:
    """
    `workers` below 1 stand for the default. `refused(uid)` is called `pause` seconds after a removal failed.

    Everything here belongs to the event loop.
    """

    def __init__(self, clients: Clientset, *, workers: int, refused: Callable[[str], None], pause: float) -> None:
        self._clients = clients
        self._workers = workers if workers >= 1 else DEFAULT_WORKERS
        self._refused = refused
        self._pause = pause
        self._waiting: asyncio.Queue[Task] = asyncio.Queue(BUFFERED * self._workers)

    def submit(self, task: Task) -> None:
        """Have the gate of a pod removed."""
        try:
            self._waiting.put_nowait(task)
        except asyncio.QueueFull:
            log.warning("gate not removed for now: %d removals wait pod=%s", self._waiting.qsize(), task.key)
            self._tell(task)

    async def run(self) -> None:
        """Remove gates until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._workers):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            task = await self._waiting.get()
            try:
                await self._remove(task)
            except NotFound:
                log.info("gate not removed: the pod is gone pod=%s", task.key)
            except (ApiError, ConnectionFailed) as error:
                log.warning("gate not removed pod=%s gate=%s error=%s", task.key, names.QUEUE_ALLOCATION_GATE, error)
                self._tell(task)
            except Exception:
                log.exception("gate could not be removed pod=%s", task.key)
                self._tell(task)
            else:
                log.info("gate removed pod=%s gate=%s", task.key, names.QUEUE_ALLOCATION_GATE)

    async def _remove(self, task: Task) -> None:
        # The uid: a pod of the same name that came later may wait for other room.
        gate = {"$patch": "delete", "name": names.QUEUE_ALLOCATION_GATE}
        body = {"metadata": {"uid": task.uid}, "spec": {"schedulingGates": [gate]}}
        await self._clients.core_v1.pods.patch(task.name, task.namespace, StrategicPatch(body))

    def _tell(self, task: Task) -> None:
        asyncio.get_running_loop().call_later(self._pause, self._refused, task.uid)
