"""
The keys that wait for a reconciler.

A key waits once, however often it is added, and runs once at a time: one that is added while it runs will run once
more. Keys that failed wait outside for their time (`runtime.retry_limiter`). When they come back they stand in a lane
of their own behind those that changed, together with the flood of keys at start-up, so that a thousand broken objects
hold up no healthy one. For one event loop only; not for threads.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from runtime.queue_metrics import QueueMetrics, Snapshot
from runtime.retry_limiter import DEFAULT_LIMITS, RetryLimiter, RetryLimits

K = TypeVar("K", bound=Hashable)

_FEW = 16
"""So many void entries are kept in any case."""
URGENT_IN_A_ROW = 8
"""So many urgent keys go first while patient ones wait; then one of those has its turn."""


class QueueShutDown(Exception):  # noqa: N818  # named for what happened
    """There is nothing more to do: the queue was shut down."""


class WorkQueue(Generic[K]):
    """Hands out keys to workers: `get`, work, `done`."""

    def __init__(self, name: str, limits: RetryLimits = DEFAULT_LIMITS) -> None:
        """`name` labels the metrics."""
        self.name = name
        self._limiter: RetryLimiter[K] = RetryLimiter(limits)
        self._urgent: OrderedDict[K, float] = OrderedDict()
        """Keys that wait for a worker, by the time since when."""
        self._patient: OrderedDict[K, float] = OrderedDict()
        self._urgent_served = 0
        self._running: dict[K, float] = {}
        self._again: dict[K, bool] = {}
        """Keys added while they run, and whether that was urgent."""
        self._delayed: list[tuple[float, int, K]] = []
        """A heap; entries that `_due` doesn't confirm are void."""
        self._due: dict[K, tuple[float, int, bool]] = {}
        """When a delayed key comes, the number of its entry, and whether it is urgent then."""
        self._entries = 0
        self._timer: asyncio.TimerHandle | None = None
        self._getters: deque[asyncio.Future[None]] = deque()
        self._idle: set[asyncio.Future[None]] = set()
        self.is_shut_down = False
        self._down = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._metrics = QueueMetrics.of(self)

    def __len__(self) -> int:
        """The number of keys that wait for a worker; neither running nor delayed ones."""
        return len(self._urgent) + len(self._patient)

    async def wait_shut_down(self) -> None:
        """Wait until somebody shuts the queue down."""
        await self._down.wait()

    def snapshot(self) -> Snapshot:
        """Depth and ages at this moment, for metrics; may be called from another thread."""
        now = self._now() if self._loop is not None else 0.0
        waiting = [now - since for since in [*self._urgent.values(), *self._patient.values()]]
        running = [now - since for since in list(self._running.values())]
        return Snapshot(
            depth=len(waiting),
            delayed=len(self._due),
            oldest_wait=max(waiting, default=0.0),
            unfinished=sum(running),
            longest_running=max(running, default=0.0),
        )

    def add(self, key: K, *, is_urgent: bool = True) -> None:
        """The key has work to do, now; if it isn't urgent, behind those that are."""
        if key in self._urgent or self.is_shut_down:
            return
        if key in self._running:
            if key not in self._again:
                self._metrics.adds.inc()
            self._again[key] = is_urgent or self._again.get(key, False)
        elif key not in self._patient:
            self._metrics.adds.inc()
            self._enqueue(key, is_urgent=is_urgent)
        elif is_urgent:
            self._urgent[key] = self._patient.pop(key)

    def add_after(self, key: K, seconds: float) -> None:
        """The key has work to do in `seconds`. Of several such times the earliest counts."""
        self._add_after(key, seconds, is_urgent=True)

    def add_rate_limited(self, key: K) -> None:
        """The key failed: try it again after its back-off."""
        if self.is_shut_down:
            return
        self._metrics.retries.inc()
        pause = self._limiter.next_pause(key, self._now())
        self._add_after(key, pause, is_urgent=False)

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure counts as its first."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """How often `add_rate_limited` was called since the key was forgotten."""
        return self._limiter.failures(key)

    async def get(self) -> K:
        """Wait for a key and take it; `done` must follow. Raises QueueShutDown when no key will come any more."""
        while True:
            lane = self._next_lane()
            if lane is not None:
                return self._take(lane)
            if self.is_shut_down:
                raise QueueShutDown(f"queue {self.name} was shut down")
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake()  # somebody else must take the key that this one was woken for
                raise

    def done(self, key: K) -> None:
        """The key's work is over, well or not. Raises ValueError when it isn't running."""
        began = self._running.pop(key, None)
        if began is None:
            raise ValueError(f"queue {self.name}: {key!r} is not running")
        self._metrics.work_seconds.observe(self._now() - began)
        is_urgent = self._again.pop(key, None)
        if is_urgent is not None:
            self._enqueue(key, is_urgent=is_urgent)
        self._announce_idle()

    def shut_down(self, *, drain: bool = False) -> None:
        """
        Take no further keys; those that wait for their time are dropped.

        Keys that wait for a worker are dropped, too, or with `drain` still handed out. Then `get` raises.
        """
        self.is_shut_down = True
        self._down.set()
        self._due.clear()
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not drain:
            for waiting in (self._urgent, self._patient, self._again):
                waiting.clear()
        while self._getters:
            self._wake()
        self._announce_idle()

    async def wait_idle(self) -> None:
        """Wait until no key runs or waits for a worker. Delayed keys don't count."""
        while self._running or len(self):
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.add(idle)
            try:
                await idle
            finally:
                self._idle.discard(idle)

    def _now(self) -> float:
        """The loop's time, in seconds."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    def _enqueue(self, key: K, *, is_urgent: bool) -> None:
        lane = self._urgent if is_urgent else self._patient
        lane[key] = self._now()
        self._wake()

    def _next_lane(self) -> OrderedDict[K, float] | None:
        """Where the next key comes from; None when none waits."""
        if self._urgent and (not self._patient or self._urgent_served < URGENT_IN_A_ROW):
            self._urgent_served += 1
            return self._urgent
        self._urgent_served = 0
        return self._patient or None

    def _take(self, lane: OrderedDict[K, float]) -> K:
        key, since = lane.popitem(last=False)
        now = self._now()
        self._running[key] = now
        self._metrics.wait_seconds.observe(now - since)
        return key

    def _wake(self) -> None:
        """Let one waiting worker look again."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _announce_idle(self) -> None:
        if not self._running and not len(self):
            for idle in self._idle:
                if not idle.done():
                    idle.set_result(None)

    def _add_after(self, key: K, seconds: float, *, is_urgent: bool) -> None:
        if self.is_shut_down:
            return
        if seconds <= 0:
            self.add(key, is_urgent=is_urgent)
            return
        when = self._now() + seconds
        known = self._due.get(key)
        if known is not None and known[0] <= when:
            return
        self._entries += 1
        self._due[key] = (when, self._entries, is_urgent)
        heapq.heappush(self._delayed, (when, self._entries, key))
        self._compact()
        self._arm()

    def _compact(self) -> None:
        """Drop void entries when they are the greater part, as those of far times would be kept for long."""
        if len(self._delayed) > 2 * len(self._due) + _FEW:
            self._delayed = list(filter(self._is_valid, self._delayed))
            heapq.heapify(self._delayed)

    def _arm(self) -> None:
        """Have one timer, for the earliest delayed key."""
        while self._delayed and not self._is_valid(self._delayed[0]):
            heapq.heappop(self._delayed)
        if self._timer is not None:
            if self._delayed and self._timer.when() == self._delayed[0][0]:
                return
            self._timer.cancel()
            self._timer = None
        if self._delayed:
            self._timer = asyncio.get_running_loop().call_at(self._delayed[0][0], self._release, self._delayed[0][0])

    def _is_valid(self, entry: tuple[float, int, K]) -> bool:
        known = self._due.get(entry[2])
        return known is not None and known[1] == entry[1]

    def _release(self, when: float) -> None:
        """Let in every delayed key whose time has come; `when` has, though the loop may call a little early."""
        self._timer = None
        now = max(when, self._now())
        while self._delayed and self._delayed[0][0] <= now:
            entry = heapq.heappop(self._delayed)
            if self._is_valid(entry):
                _, _, is_urgent = self._due.pop(entry[2])
                self.add(entry[2], is_urgent=is_urgent)
        self._arm()
