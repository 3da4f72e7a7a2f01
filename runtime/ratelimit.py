"""
Who may send next: QPS and burst, the number of requests in flight, and priorities among those that wait.

Without the bound on requests in flight a burst of events would fill all connections, and a bind would wait
behind them in the connection pool, where nobody asks for its priority. Nor would it help a bind that an event waited
only for binds that are under way: between two gangs there are none for a moment, and the server is as busy as before.
"""

from __future__ import annotations

import asyncio
from collections import deque

from runtime.requests import Priority

_WHOLE = 1.0 - 1e-9
"""Rounding may leave a token that much short of one at the moment it was waited for."""


class TokenBucket:
    """`qps` tokens a second, at most `burst` saved up. Time is handed in, in seconds, and never runs backwards."""

    def __init__(self, qps: float, burst: int, now: float) -> None:
        if qps <= 0:
            raise ValueError(f"qps must be positive, got {qps}")
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._then = now

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._refill(now)
        if self._tokens < _WHOLE:
            return False
        self._tokens -= 1.0
        return True

    def give_back(self) -> None:
        """Return a token that was taken for nothing."""
        self._tokens = min(self._tokens + 1.0, self._burst)

    def wait(self, now: float) -> float:
        """Seconds until `take` succeeds, 0 if it does now."""
        self._refill(now)
        return (1.0 - self._tokens) / self._qps if self._tokens < _WHOLE else 0.0

    def _refill(self, now: float) -> None:
        self._tokens = min(self._tokens + (now - self._then) * self._qps, self._burst)
        self._then = now


class Rush:
    """
    Whether requests come thick and fast, so that others had better wait. Time is handed in, in seconds.

    Where a rush follows upon the other, as when something is decided once a second, they are one.
    """

    MANY = 16
    """So many requests within WINDOW are a rush, which is over when there was none for as long."""
    WINDOW = 0.5
    RECURRING = 1.5
    """A rush that begins so soon after the last one goes on with it, and it takes as long to be over."""
    LONGEST = 30.0
    """For so many seconds events wait; then they go on whatever else there is to do."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=self.MANY)
        self._lull = self.WINDOW
        self._since = self._last = float("-inf")

    @property
    def end(self) -> float:
        """When the rush is over if nothing more comes; in the past when there is none."""
        return self._last + self._lull

    def note(self, now: float) -> None:
        """A request that no event may be in the way of."""
        latest = self._latest
        latest.append(now)
        if len(latest) == self.MANY and now - latest[0] <= self.WINDOW:
            if now > self.end:
                self._begin(now)
            self._last = now

    def _begin(self, now: float) -> None:
        is_recurring = now <= self._last + self.RECURRING
        self._lull = self.RECURRING if is_recurring else self.WINDOW
        if not is_recurring:
            self._since = now

    def pause(self, now: float) -> float:
        """Seconds after which an event may ask again; 0 when it may go."""
        return max(0.0, min(self.end, self._since + self.LONGEST) - now)


class Gate:
    """
    Lets requests through by priority, first come first served within one; of one event loop.

    Events wait for the end of a rush of other requests, too. `qps` <= 0 and `in_flight` <= 0 mean no bound. Time is that
    of the event loop.
    """

    def __init__(self, *, qps: float = 0.0, burst: int = 0, in_flight: int = 0) -> None:
        self._qps = qps
        self._burst = burst
        self._bucket: TokenBucket | None = None
        self._free = in_flight if in_flight > 0 else None
        self._queues: list[deque[tuple[asyncio.Future[None], bool]]] = [deque() for _ in Priority]
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rush = Rush()

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return self._waiting

    async def enter(self, priority: Priority, *, slot: bool = True) -> None:
        """Wait for one's turn. With `slot` it counts as in flight until `leave`; streams go without."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if priority == Priority.EVENT:
            while (pause := self._rush.pause(now)) > 0:
                await asyncio.sleep(pause)
                now = loop.time()
        else:
            self._rush.note(now)
        if not self._waiting and self._admit(now, slot=slot):
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._queues[priority].append((turn, slot))
        self._waiting += 1
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            self._cancelled(turn, slot=slot)
            raise

    def leave(self) -> None:
        """A request that entered with a slot is over."""
        if self._free is not None:
            self._free += 1
        if self._waiting:
            self._serve()

    def _admit(self, now: float, *, slot: bool) -> bool:
        if slot and self._free == 0:
            return False
        if self._qps > 0 and not self._tokens(now).take(now):
            return False
        if slot and self._free is not None:
            self._free -= 1
        return True

    def _tokens(self, now: float) -> TokenBucket:
        if self._bucket is None:
            self._bucket = TokenBucket(self._qps, self._burst, now)
        return self._bucket

    def _serve(self) -> None:
        """Admit as many of those waiting as may go, the most urgent first."""
        loop = asyncio.get_running_loop()
        now = loop.time()  # one for all: a token that came between two looks would be waited for in vain
        for queue in reversed(self._queues):
            while queue:
                turn, slot = queue[0]
                if not turn.done():
                    if not self._admit(now, slot=slot):
                        self._arm(loop, now)
                        return
                    turn.set_result(None)
                    self._waiting -= 1
                queue.popleft()

    def _arm(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        """Wake up when the next token is due. A missing slot needs no timer: `leave` serves."""
        if self._timer is None and self._qps > 0 and (pause := self._tokens(now).wait(now)) > 0:
            self._timer = loop.call_later(pause, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._serve()

    def _cancelled(self, turn: asyncio.Future[None], *, slot: bool) -> None:
        if turn.cancelled() or not turn.done():  # still in its queue, which skips it later
            turn.cancel()
            self._waiting -= 1
            return
        if self._bucket is not None:
            self._bucket.give_back()
        if slot:
            self.leave()
        elif self._waiting:
            self._serve()
