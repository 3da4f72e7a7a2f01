"""
One HTTP/2 connection on the event loop: it writes once a turn what all requests of that turn have to say.

Whether the server is still there is asked with a PING, after a request has run out of time, or when nothing has come
for a while although somebody waits. A server that is gone without a word costs no request more than half a minute.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from runtime import http2_frames as frames
from runtime.http1_answers import HttpAnswer
from runtime.http2_exchange import Exchange, Unprocessed
from runtime.http2_frames import ErrorCode, Http2Error
from runtime.http2_session import Session
from runtime.streaming import CLOSED, Broken

PING_AFTER = 15.0
"""Seconds of silence while requests wait."""
PING_TIMEOUT = 10.0
"""Seconds without any sign of life after a PING until the connection is given up."""


class _Awaited(Exchange):
    """An exchange and who waits for it."""

    __slots__ = ("future", "permit")

    def __init__(
        self,
        block: bytes,
        body: bytes,
        deadline: float,
        permit: Callable[[], None],
        future: asyncio.Future[HttpAnswer],
    ) -> None:
        super().__init__(block, body, deadline)
        self.permit = permit
        self.future = future

    def may_begin(self) -> bool:
        """It waited, so what allowed it then is asked again: a lease may be lost meanwhile."""
        try:
            self.permit()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is for who waits
            if not self.future.done():
                self.future.set_exception(error)
            return False
        return True


class MultiplexedConnection(asyncio.BufferedProtocol):
    """
    `identity` is the TLS context that says who we are; `on_end` is called when the connection is gone.

    It takes requests while `is_open`. Once it isn't, those that are under way go on, and then it closes.
    """

    def __init__(
        self,
        identity: ssl.SSLContext,
        buffer: memoryview,
        idle_timeout: float,
        on_end: Callable[[MultiplexedConnection], None],
    ) -> None:
        self.identity = identity
        self._loop = asyncio.get_running_loop()
        self._buffer = buffer
        self._idle_timeout = idle_timeout
        self._on_end = on_end
        self._session = Session()
        self._outbox = self._session.outbox
        self.problem: Exception | None = None
        """Why it is gone."""
        self._transport: asyncio.Transport | None = None
        self._is_retired = False
        self._is_ended = False
        self._is_flush_due = False
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = float("inf")
        self._last_read = self._last_use = self._loop.time()
        self._ping_at = 0.0
        """When a PING was sent that nothing has come after; 0 without."""

    @property
    def is_open(self) -> bool:
        """Whether further requests may be sent."""
        return (
            self._transport is not None
            and not self._is_retired
            and self._session.takes_more
            and not self._transport.is_closing()
        )

    @property
    def load(self) -> int:
        """How many requests are under way."""
        return self._session.load

    async def exchange(
        self, block: bytes, body: bytes, deadline: float, permit: Callable[[], None] = lambda: None
    ) -> HttpAnswer:
        """
        Send a request and wait for its answer, up to a time of the loop's; `is_open` must be true.

        `permit` is called right before the sending, which it stops by an exception of its own.
        Raises Broken when the server may have carried it out, Unprocessed when it certainly hasn't.
        """
        permit()
        now = self._last_use = self._loop.time()
        exchange = _Awaited(block, body, deadline, permit, self._loop.create_future())
        self._session.begin(exchange)
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        if self._alarm_at > exchange.deadline or self._alarm_at > now + PING_AFTER:
            self._wake_at(min(exchange.deadline, now + PING_AFTER))
        try:
            return await exchange.future
        except asyncio.CancelledError:
            if exchange.outcome is None:
                self._session.cancel(exchange)
                self._settle()
            raise

    def retire(self) -> None:
        """Take no further requests, and close when those under way are over."""
        self._is_retired = True
        self._settle()

    def close(self) -> None:
        """Say goodbye to the server; what is under way breaks off."""
        self._leave(ErrorCode.NO_ERROR, ConnectionError(CLOSED))

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._flush()
        self._wake_at(self._last_use + self._idle_timeout)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_ended:
            return
        self._last_read = self._loop.time()
        self._ping_at = 0.0
        try:
            self._session.feed(self._buffer[:nbytes])
        except Http2Error as error:
            self._deliver()
            self._leave(error.code, ValueError(f"malformed HTTP/2: {error.text}"))
            return
        self._settle()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or EOFError(self._session.farewell))

    # Turns.

    def _flush(self) -> None:
        self._is_flush_due = False
        waiting = self._outbox.frames
        if waiting and self._transport is not None and not self._transport.is_closing():
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
        waiting.clear()

    def _settle(self) -> None:
        """Tell who waits, write what is due after those who wake up now have had their say, and go when all is done."""
        if self._session.finished:
            self._deliver()
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        if (self._is_retired or self._session.farewell) and not self._session.load:
            self.close()

    def _deliver(self) -> None:
        finished = self._session.finished
        for exchange in finished:
            future, outcome = cast("_Awaited", exchange).future, exchange.outcome
            if future.done():
                continue
            if isinstance(outcome, HttpAnswer):
                future.set_result(outcome)
            elif outcome is not None:
                future.set_exception(outcome)
        finished.clear()

    # Ends.

    def _leave(self, code: ErrorCode, error: Exception) -> None:
        """A server that did nothing wrong isn't waited for: it has nothing to say that anybody wants to hear."""
        if self._transport is not None and not self._transport.is_closing():
            self._outbox.frames.append(frames.goaway(code, str(error) if code else ""))
            self._flush()
            if code:
                self._transport.close()
            else:
                self._transport.abort()
        self._end(error)

    def _end(self, error: Exception) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._is_retired = self._is_ended = True
        self.problem = self.problem or error
        self._session.end(error)
        self._deliver()
        self._on_end(self)

    # Time. One timer for all: most answers come long before theirs is up.

    def _wake_at(self, when: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = when
        self._alarm = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._alarm, self._alarm_at = None, float("inf")
        now = self._loop.time()
        late = [exchange for exchange in self._session.under_way if exchange.deadline <= now]
        for exchange in late:
            self._time_out(cast("_Awaited", exchange))
        waiting = self._session.under_way
        if self._ping_at and now >= self._ping_at + PING_TIMEOUT:
            self._give_up()
            return
        if not waiting and not self._ping_at and now >= self._idle_since() + self._idle_timeout:
            self.close()
            return
        if not self._ping_at and (late or (waiting and now >= self._last_read + PING_AFTER)):
            self._ping_at = now
            self._session.ping()
        self._settle()
        if not self._is_ended:
            self._wake_at(self._next_look(waiting))

    def _time_out(self, exchange: _Awaited) -> None:
        """What waited for a stream all the time was never sent."""
        error: Broken | Unprocessed = Broken(TimeoutError()) if exchange.stream else Unprocessed(TimeoutError())
        self._session.cancel(exchange)
        exchange.outcome = error
        if not exchange.future.done():
            exchange.future.set_exception(error)

    def _give_up(self) -> None:
        assert self._transport is not None
        self._transport.abort()
        self._end(TimeoutError())

    def _idle_since(self) -> float:
        return max(self._last_read, self._last_use)

    def _next_look(self, waiting: list[Exchange]) -> float:
        times = [exchange.deadline for exchange in waiting]
        if self._ping_at:
            times.append(self._ping_at + PING_TIMEOUT)
        elif waiting:
            times.append(self._last_read + PING_AFTER)
        else:
            times.append(self._idle_since() + self._idle_timeout)
        return min(times)
