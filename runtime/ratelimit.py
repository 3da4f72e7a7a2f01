"""
Who may send next: QPS and burst, the number of requests in flight, and priorities among those that wait.

Without the bound on requests in flight a burst of events would fill all connections, and a bind would wait
behind them in the connection pool, where nobody asks for its priority.
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


class Gate:
    """
    Lets requests through by priority, first come first served within one; of one event loop.

    `qps` <= 0 and `in_flight` <= 0 mean no bound. Time is that of the event loop.
    """

    def __init__(self, *, qps: float = 0.0, burst: int = 0, in_flight: int = 0) -> None:
        self._qps = qps
        self._burst = burst
        self._bucket: TokenBucket | None = None
        self._free = in_flight if in_flight > 0 else None
        self._queues: list[deque[tuple[asyncio.Future[None], bool]]] = [deque() for _ in Priority]
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return self._waiting

    async def enter(self, priority: Priority, *, slot: bool = True) -> None:
        """Wait for one's turn. With `slot` it counts as in flight until `leave`; streams go without."""
        loop = asyncio.get_running_loop()
        if not self._waiting and self._admit(loop, slot=slot):
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

    def _admit(self, loop: asyncio.AbstractEventLoop, *, slot: bool) -> bool:
        if slot and self._free == 0:
            return False
        if self._qps > 0 and not self._tokens(loop).take(loop.time()):
            return False
        if slot and self._free is not None:
            self._free -= 1
        return True

    def _tokens(self, loop: asyncio.AbstractEventLoop) -> TokenBucket:
        if self._bucket is None:
            self._bucket = TokenBucket(self._qps, self._burst, loop.time())
        return self._bucket

    def _serve(self) -> None:
        """Admit as many of those waiting as may go, the most urgent first."""
        loop = asyncio.get_running_loop()
        for queue in reversed(self._queues):
            while queue:
                turn, slot = queue[0]
                if not turn.done():
                    if not self._admit(loop, slot=slot):
                        self._arm(loop)
                        return
                    turn.set_result(None)
                    self._waiting -= 1
                queue.popleft()

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake up when the next token is due. A missing slot needs no timer: `leave` serves."""
        if self._timer is None and self._qps > 0 and (pause := self._tokens(loop).wait(loop.time())) > 0:
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
