"""
The tasks that take keys from a queue: as many as asked for, and stand-ins for those that a key holds up.

A key that hangs must not stop the controller, however few workers there are. So a key that takes longer than
`PATIENCE` seconds no longer counts among the workers' work: its worker gets a stand-in and leaves when the key is over.
Stand-ins are bounded, as a queue full of hanging keys would otherwise fill the memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from prometheus_client import Gauge

from runtime.cooperation import cooperate
from runtime.metrics import gauge
from runtime.queue import QueueShutDown, WorkQueue

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds after which a key is slow."""
GROWTH = 10
"""So many times the workers asked for may there be, stand-ins included."""

SLOW = gauge("volcano_reconcile_slow_keys", f"Keys that have been running for over {PATIENCE:g} s.", ("controller",))


class Workers(Generic[K]):
    """Calls `handle` for each key of a queue; an exception that it raises ends all workers."""

    def __init__(self, name: str, queue: WorkQueue[K], handle: Callable[[K], Awaitable[None]], wanted: int) -> None:
        """`wanted` keys are worked on at once, beside slow ones. `name` is that of the controller."""
        self.count = 0
        """Workers that there are at the moment."""
        self._name = name
        self._queue = queue
        self._handle = handle
        self._wanted = wanted
        self._slow = SLOW.labels(name)

    async def run(self) -> None:
        """Work until the queue is shut down and running keys are over."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._wanted):
                self._start(tasks)

    def _start(self, tasks: asyncio.TaskGroup) -> None:
        self.count += 1
        task = tasks.create_task(self._work(tasks), name=f"{self._name} worker {self.count}")
        task.add_done_callback(self._left)  # also called for one that is cancelled before it began

    def _left(self, _: asyncio.Task[None]) -> None:
        self.count -= 1

    def _stand_in(self, tasks: asyncio.TaskGroup) -> bool:
        """Start a further worker, if there may be one."""
        may_grow = self.count < self._wanted * GROWTH
        if may_grow:
            self._start(tasks)
        return may_grow

    async def _work(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            await cooperate()  # a queue that has keys gives them without a pause
            try:
                key = await self._queue.get()
            except QueueShutDown:
                return
            stint = _Stint(f"controller={self._name} key={key}", self._slow, lambda: self._stand_in(tasks))
            try:
                await self._handle(key)
            finally:
                stint.end()
                self._queue.done(key)
            if stint.is_relieved:
                return


class _Stint:
    """The time that the current task spends on one key."""

    def __init__(self, subject: str, slow: Gauge, stand_in: Callable[[], bool]) -> None:
        """`subject` is for the log. `stand_in` tells whether one could be found; it is asked again until then."""
        self.is_relieved = False
        """Whether another worker has taken this one's place."""
        self._subject = subject
        self._slow = slow
        self._stand_in = stand_in
        self._is_slow = False
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(PATIENCE, self._be_late)

    def end(self) -> None:
        self._timer.cancel()
        if self._is_slow:
            self._slow.dec()

    def _be_late(self) -> None:
        if not self._is_slow:
            self._is_slow = True
            self._slow.inc()
            _log.warning("reconcile.slow %s: has been running for %g s", self._subject, PATIENCE)
        if self._task is not None and self._task.cancelling():
            return  # the controller is being stopped
        self.is_relieved = self._stand_in()
        if not self.is_relieved:
            self._timer = self._loop.call_later(PATIENCE, self._be_late)
