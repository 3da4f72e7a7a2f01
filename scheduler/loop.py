"""
The scheduling thread: drains what the informers saw, runs a cycle when something changed, hands its outcome on.

Only this thread touches the state. The event loop appends changes and wakes it; decisions leave through a call into
the loop. New work starts a cycle at once; the schedule period is the longest wait between two.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from uuid import uuid4

from scheduler.cycle import Result, run_cycle

if TYPE_CHECKING:
    from scheduler.cache.facts import Change, Facts
    from scheduler.memory import Memory
    from scheduler.session import Session

log = logging.getLogger(__name__)

BUDGET = 5.0
"""Seconds after which a cycle leaves the rest of the jobs to the next one."""
_SETTLE = 0.002
"""Seconds that a burst of changes is given to arrive before a cycle begins."""


class Scheduler:
    """
    Owns the state. `push` may be called from any thread; everything else belongs to the scheduling thread.

    `hand_on` takes a cycle's result to the writers; it is called on the scheduling thread.
    """

    def __init__(
        self,
        facts: Facts,
        memory: Memory,
        actions: Mapping[str, Callable[[Session], None]],
        hand_on: Callable[[Result], None],
        *,
        period: float,
        clock: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self.facts = facts
        self.memory = memory
        self.cycles = 0
        self._actions = actions
        self._hand_on = hand_on
        self._period = period
        self._clock = clock
        self._stopwatch = stopwatch
        self._changes: deque[Change] = deque()
        self._failed_binds: deque[str] = deque()
        self._wake = threading.Event()
        self._seen = -1

    def push(self, change: Change) -> None:
        """Queue a change of an object."""
        self._changes.append(change)
        self._wake.set()

    def unbound(self, uid: str) -> None:
        """Queue the news that a bind failed."""
        self._failed_binds.append(uid)
        self._wake.set()

    def run(self, stop: threading.Event, ready: threading.Event) -> None:
        """Schedule until `stop`; begins when `ready` says that the first lists were delivered."""
        while not ready.wait(0.1):
            if stop.is_set():
                return
        while not stop.is_set():
            self._wake.clear()
            self.drain()
            self.cycle()
            if self._wake.wait(self._period):
                stop.wait(_SETTLE)

    def drain(self) -> None:
        """Apply the changes that wait."""
        changes, failed = self._changes, self._failed_binds
        while changes:
            self.facts.apply(changes.popleft())
        while failed:
            self.facts.unbound(failed.popleft())

    def cycle(self) -> Result | None:
        """Run one cycle, unless nothing changed since the last."""
        cluster = self.facts.cluster
        if cluster.version == self._seen:
            return None
        self._seen = cluster.version
        begun = self._stopwatch()
        reached_all = True

        def expired() -> bool:
            nonlocal reached_all
            reached_all = self._stopwatch() - begun < BUDGET
            return not reached_all

        result = run_cycle(cluster, self.memory, self._actions, uid=str(uuid4()), now=self._clock(), expired=expired)
        self.cycles += 1
        if not reached_all:
            log.info("cycle budget spent seconds=%.1f: the rest of the jobs waits for the next cycle", BUDGET)
            self._seen = -1
            self._wake.set()
        self._hand_on(result)
        return result
