"""
Connections that carry one request after the other to one server, kept open in between; of one event loop.

A connection does one exchange at a time and belongs to whoever took it from the pool. What arrives is read straight
into a buffer that all connections share, since asyncio fills and hands it over in one go.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

import aiohappyeyeballs
import msgspec

from runtime.http1_answers import AnswerReader, HttpAnswer
from runtime.http1_framing import HttpError
from runtime.sockets import new_socket
from runtime.streaming import CLOSED, Broken, StreamConnection

_READ_BUFFER = 64 * 1024
_NEXT_FAMILY_AFTER = 0.25


P = TypeVar("P", bound=asyncio.BaseProtocol)


class Unreachable(Exception):  # noqa: N818  # says what is the case
    """No connection came about. `origin` says why."""

    def __init__(self, origin: Exception) -> None:
        super().__init__(str(origin))
        self.origin = origin


class Connection(asyncio.BufferedProtocol):
    """One connection. `context` is the TLS identity that it was made with."""

    def __init__(self, context: ssl.SSLContext | None, buffer: memoryview, idle_timeout: float) -> None:
        self.context = context
        self._loop = asyncio.get_running_loop()
        self._buffer = buffer
        self._idle_timeout = idle_timeout
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._awaited: asyncio.Future[HttpAnswer] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, message: bytes, seconds: float) -> HttpAnswer:
        """Send a request and wait for its answer, `seconds` at most. Raises Broken; nobody may wait already."""
        if self._transport is None or self._transport.is_closing():
            raise Broken(EOFError())
        future: asyncio.Future[HttpAnswer] = self._loop.create_future()
        self._awaited = future
        self._transport.write(message)
        self._expire_at(self._loop.time() + seconds)
        try:
            answer = await future
        except BaseException:
            self.abort()
            raise
        if answer.keep_alive:
            self._expire_at(self._loop.time() + self._idle_timeout)
        else:
            self.close()
        return answer

    def close(self) -> None:
        """Say goodbye to the server; an exchange that is under way breaks off."""
        if self._transport is not None:
            self._transport.close()
        self._end(ConnectionError(CLOSED))

    def abort(self) -> None:
        """Close without a word."""
        if self._transport is not None:
            self._transport.abort()
        self._end(ConnectionError(CLOSED))

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.feed(self._buffer[:nbytes])
        if self._awaited is None or self._awaited.done():
            self.abort()  # nobody asked
            return
        try:
            answer = self._reader.next()
        except HttpError as error:
            self._fail(ValueError(f"malformed HTTP response: {error.text}"))
            self.abort()
            return
        if answer is not None:
            if not self._reader.is_idle:  # more than was asked for: the next answer could not be told from it
                answer = msgspec.structs.replace(answer, keep_alive=False)
            self._awaited.set_result(answer)

    def eof_received(self) -> bool:
        answer = self._reader.end()
        if answer is not None and self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(answer)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.eof_received()  # TLS ends without it
        if self._reader.is_idle:
            self._end(exc or EOFError())
        else:
            self._end(exc or EOFError("unexpected EOF"))

    # Ends.

    def _end(self, error: Exception) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(Broken(error))

    def _expire_at(self, deadline: float) -> None:
        """Move the deadline; the timer is only set anew when it would come too late, as most deadlines move away."""
        self._deadline = deadline
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and self.is_open:
            self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._expire_at(self._deadline)
            return
        self._fail(TimeoutError())
        self.abort()


class Pool:
    """Connections to `host`:`port`. Seconds for all times."""

    def __init__(self, host: str, port: int, *, connect_timeout: float, idle_timeout: float) -> None:
        self._address = (host, port)
        self._connect_timeout = connect_timeout
        self.idle_timeout = idle_timeout
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._streams: set[StreamConnection] = set()
        self.buffer = memoryview(bytearray(_READ_BUFFER))
        """Where all connections read into, since asyncio fills it and hands it over in one go."""
        self._closed = False

    async def exchange(
        self, message: bytes, seconds: float, *, context: ssl.SSLContext | None, server_name: str = ""
    ) -> HttpAnswer:
        """
        Send a request on a connection of that TLS identity, a new one when none is idle.

        Raises Unreachable when no connection came about, Broken when the exchange didn't end.
        """
        connection = self._take(context)
        if connection is None:
            made = lambda: Connection(context, self.buffer, self.idle_timeout)  # noqa: E731  # a factory
            connection = await self.open(made, context, server_name)
        self._busy.add(connection)
        try:
            answer = await connection.exchange(message, seconds)
        finally:
            self._busy.discard(connection)
        if answer.keep_alive and connection.is_open:
            self._idle.append(connection)
        return answer

    async def stream(
        self, message: bytes, seconds: float, *, context: ssl.SSLContext | None, server_name: str = ""
    ) -> tuple[HttpAnswer, StreamConnection]:
        """
        The head of an answer and the connection that goes on bringing its body; give it back with `end`.

        All in all it may last so many seconds. Raises as `exchange`.
        """
        connection = await self.open(lambda: StreamConnection(context, self.buffer), context, server_name)
        self._streams.add(connection)
        try:
            return await connection.open(message, seconds), connection
        except BaseException:
            self.end(connection)
            raise

    def adopt(self, connection: Connection) -> None:
        """Keep an idle connection that somebody else made."""
        self._idle.append(connection)

    def end(self, connection: StreamConnection) -> None:
        """A stream was left."""
        self._streams.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close all connections. Exchanges and streams under way break off."""
        self._closed = True
        for connection in (*self._idle, *self._busy):
            connection.close()
        for stream in self._streams:
            stream.close()
        self._idle.clear()

    def _take(self, context: ssl.SSLContext | None) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.context is context and connection.is_open:
                return connection
            connection.close()  # its certificate was replaced, or the server closed it
        return None

    async def open(self, factory: Callable[[], P], context: ssl.SSLContext | None, server_name: str) -> P:
        """A new connection for whoever asks; the pool only keeps those it made itself. Raises Unreachable."""
        try:
            async with asyncio.timeout(self._connect_timeout):
                transport, connection = await self._connect(factory, context, server_name)
        except (OSError, UnicodeError) as error:  # UnicodeError: a name that IDNA refuses
            raise Unreachable(error) from error
        if self._closed:
            transport.close()
            raise Unreachable(ConnectionError(CLOSED))
        return connection

    async def _connect(
        self, factory: Callable[[], P], context: ssl.SSLContext | None, server_name: str
    ) -> tuple[asyncio.BaseTransport, P]:
        loop = asyncio.get_running_loop()
        host, port = self._address
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=_NEXT_FAMILY_AFTER, socket_factory=new_socket
        )
        try:
            return await loop.create_connection(
                factory,
                sock=sock,
                ssl=context,
                server_hostname=(server_name or host) if context is not None else None,
            )
        except BaseException:
            with suppress(OSError):
                sock.close()
            raise
