"""
One client of the HTTPS server: TLS records in, requests out, answers back in order, and a deadline for each state.

TLS runs in memory (MemoryBIO), so a request that arrives in one segment is decrypted, answered and encrypted within
one callback of the loop.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Protocol, TypeAlias, cast

import msgspec

from runtime.certs import CertificateError
from runtime.http1 import CONTINUE, HttpRequest, HttpResponse, RequestReader, encode_response
from runtime.http1_framing import HttpError

logger = logging.getLogger(__name__)

HttpHandler: TypeAlias = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]

_READ_SIZE = 64 * 1024
_RECORD_SIZE = 16 * 1024
"""The most that one TLS record holds, and one read gives."""
_MAX_AHEAD = 64 * 1024
"""Bytes that a client may send ahead of the answer that it waits for, before reading stops."""
_DRAIN_IDLE = 1.0
"""Seconds that an idle connection stays while the server drains: a request may be on its way."""


class Timeouts(msgspec.Struct, frozen=True):
    """How long a connection may stay in each state, in seconds."""

    head: float = 5.0
    """From the first byte, or the start of the connection (TLS handshake included), to the end of the head."""
    read: float = 30.0
    """From the first byte to the end of the body."""
    write: float = 60.0
    """For which a client may leave answers untaken, all in all, before it has caught up with what it asked."""
    idle: float = 180.0
    """Between requests: more than the 90 s after which an API server drops idle connections itself, so that the
    two don't cross: a request sent into a closing connection is lost."""
    linger: float = 2.0
    """For which the rest of a refused request is read and dropped, so that the refusal arrives before a reset."""


class Host(Protocol):
    """What a connection asks of its server."""

    handler: HttpHandler
    context: Callable[[], ssl.SSLContext]
    max_body: int
    timeouts: Timeouts
    is_draining: bool
    date: str

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """One client: TLS records in, requests out, answers back in order."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._timeouts = server.timeouts
        self._space = bytearray(_READ_SIZE)
        self._view = memoryview(self._space)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject
        self._reader = RequestReader(server.max_body)
        self._is_secure = False
        self._is_over = False
        self._is_blocked = False
        self._is_paused = False
        self._blocked_at = 0.0
        self._write_time = self._timeouts.write
        """Seconds of blocked writing that the client has left; whole again once it has caught up."""
        self._task: asyncio.Task[None] | None = None
        self._began = self._loop.time()
        self.deadline = self._began + self._timeouts.head

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # Nothing may wait unseen: any unsent byte calls pause_writing, and the write timeout runs.
        self._transport.set_write_buffer_limits(high=0)
        self._server.opened(self)
        try:
            self._tls = self._server.context().wrap_bio(self._incoming, self._outgoing, server_side=True)
        except CertificateError as error:
            logger.debug('msg="connection refused" error="%s"', error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        self._server.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # asyncio's signature
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_over:
            return  # lingering: dropped unread
        self._incoming.write(self._view[:nbytes])
        try:
            if self._is_secure or self._shake_hands():
                self._decrypt()
                self._serve()
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self._close()
        except ssl.SSLError as error:
            logger.debug('msg="TLS failure" peer=%s error="%s"', self._transport.get_extra_info("peername"), error)
            self._flush()  # the alert that tells the client why
            self._transport.close()
            self._is_over = True

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._is_blocked = True
        self._blocked_at = self._loop.time()
        if self._is_secure:  # a handshake has its own limit
            self.deadline = self._blocked_at + self._write_time

    def resume_writing(self) -> None:
        self._is_blocked = False
        self._write_time -= self._loop.time() - self._blocked_at
        if self._is_secure and not self._is_over:
            self._serve()

    # The server calls these

    def start_draining(self) -> None:
        """An idle connection gets one more second for a request that is on its way."""
        if self._task is None and self._reader.is_idle:
            self.deadline = min(self.deadline, self._loop.time() + _DRAIN_IDLE)

    def expire(self) -> None:
        """The deadline has passed."""
        if not self._is_secure or self._is_blocked or self._is_over:
            self.abort()
        elif self._reader.is_idle:
            self._close()
        else:
            self._refuse(HttpError(408, "request took too long to arrive"))

    def abort(self) -> None:
        """Close without ceremony."""
        self._is_over = True
        self._transport.abort()

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        else:
            self._is_secure = True
            return True
        finally:
            self._flush()

    def _decrypt(self) -> None:
        try:
            while True:
                data = self._tls.read(_RECORD_SIZE)
                if not data:
                    raise ssl.SSLEOFError("the client closed the connection")
                self._reader.feed(data)
                if not self._incoming.pending and not self._tls.pending():
                    return
        except ssl.SSLWantReadError:
            return

    def _serve(self) -> None:
        """Answer what has arrived completely, then set the deadline for what comes next."""
        try:
            while self._task is None and not self._is_blocked and not self._is_over:
                request = self._reader.next()
                if request is None:
                    break
                self._begin(request)
            if self._reader.take_continue():
                self._send(CONTINUE)
        except HttpError as error:
            self._refuse(error)
        self._pace()

    def _pace(self) -> None:
        """Choose the deadline, and stop reading from a client that runs ahead of its answers or doesn't take them."""
        if self._is_over:
            return
        is_ahead = self._task is not None and self._reader.buffered > _MAX_AHEAD
        self._hold_reading(is_held=self._is_blocked or is_ahead)
        if self._is_blocked:
            return  # the deadline is that of pause_writing
        if self._task is not None:
            self.deadline = math.inf  # the handler has a time limit of its own
            return
        if self._reader.is_idle:
            self._began = math.nan
            self._write_time = self._timeouts.write
            self.deadline = self._loop.time() + (_DRAIN_IDLE if self._server.is_draining else self._timeouts.idle)
            return
        if math.isnan(self._began):
            self._began = self._loop.time()
        self.deadline = self._began + (self._timeouts.head if self._reader.is_in_head else self._timeouts.read)

    def _hold_reading(self, *, is_held: bool) -> None:
        if is_held and not self._is_paused:
            self._transport.pause_reading()
        elif self._is_paused and not is_held:
            self._transport.resume_reading()
        self._is_paused = is_held

    def _begin(self, request: HttpRequest) -> None:
        try:
            result = self._server.handler(request)
        except Exception:
            logger.exception('msg="handler failed" path=%s', request.path)
            result = HttpResponse(500, b"internal error\n", "text/plain; charset=utf-8")
        if isawaitable(result):
            self._task = self._loop.create_task(self._finish(request, result))
        else:
            self._respond(request, result)

    async def _finish(self, request: HttpRequest, result: Awaitable[HttpResponse]) -> None:
        try:
            response = await result
        except Exception:
            logger.exception('msg="handler failed" path=%s', request.path)
            response = HttpResponse(500, b"internal error\n", "text/plain; charset=utf-8")
        self._task = None
        if not self._is_over:
            self._respond(request, response)
            self._serve()

    def _respond(self, request: HttpRequest, response: HttpResponse) -> None:
        close = not request.keep_alive or self._server.is_draining
        date, has_body = self._server.date, request.wants_body
        self._send(encode_response(response, date=date, close=close, has_body=has_body))
        if close:
            self._close()

    def _refuse(self, error: HttpError) -> None:
        """Answer a request that can't be read, and drop what still comes of it for a while."""
        response = HttpResponse(error.status, error.text.encode() + b"\n", "text/plain; charset=utf-8")
        self._send(encode_response(response, date=self._server.date, close=True))
        self._is_over = True
        self._hold_reading(is_held=False)
        self._goodbye()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self.deadline = self._loop.time() + self._timeouts.linger

    def _send(self, data: bytes) -> None:
        sent = self._tls.write(data)
        while sent < len(data):  # one record a call
            sent += self._tls.write(memoryview(data)[sent:])
        self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending and not self._transport.is_closing():
            self._transport.write(self._outgoing.read())

    def _goodbye(self) -> None:
        """Tell the client that the end is meant (TLS close_notify)."""
        with suppress(ssl.SSLError):  # its answer isn't there yet, and never waited for
            self._tls.unwrap()
        self._flush()

    def _close(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._goodbye()
        self._transport.close()
        self.deadline = self._loop.time() + self._timeouts.write
