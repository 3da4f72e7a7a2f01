"""
Streamed answers, such as watches: a connection of its own each, and lines out of what it brings.

Bytes are taken over as they arrive, a reader gets all that came since it last looked. What comes alone is handed over
at once, what follows within a hundredth of a second together. Who reads too slowly has the server wait: beyond some
hundred kilobytes the socket isn't read any more.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import msgspec

from runtime.errors import ConnectionFailed
from runtime.http1_answers import AnswerReader, HttpAnswer
from runtime.http1_framing import HttpError
from runtime.lines import LineSplitter, LineTooLong

_MOST_UNREAD = 512 * 1024
_BREATH, _LITTLE = 0.01, 16 * 1024
"""
Seconds between two looks at a stream that brings so few bytes in between.

Each look costs its reader about as much as an event: a hundred events a second, one by one, would cost it twice as much.
"""
CLOSED = "the transport was closed"


class Broken(Exception):  # noqa: N818  # says what is the case
    """The exchange broke off after the connection stood. `origin` says why."""

    def __init__(self, origin: Exception) -> None:
        super().__init__(str(origin))
        self.origin = origin


class StreamConnection(asyncio.BufferedProtocol):
    """One connection that carries one answer, whose body is read while it comes."""

    def __init__(self, context: ssl.SSLContext | None, buffer: memoryview) -> None:
        self.context = context
        self._loop = asyncio.get_running_loop()
        self._buffer = buffer
        self._answers = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._unread: list[bytes] = []
        self._size = 0
        self._is_paused = False
        self._end: Exception | None = None
        """Why nothing more comes; EOFError without a text at the end of the answer."""
        self._reading: asyncio.Future[None] | None = None
        self._looked = -_BREATH
        """When the reader last took something, by the loop's clock."""
        self._breath: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def open(self, message: bytes, seconds: float) -> HttpAnswer:
        """Send the request, which may all in all take so many seconds; the head of the answer. Raises Broken."""
        assert self._transport is not None
        self._timer = self._loop.call_later(seconds, self._fail, TimeoutError())
        self._transport.write(message)
        while (head := self._answers.head) is None:
            if self._end is not None:
                raise Broken(self._end)
            await self._wait()
        return head

    async def read(self) -> bytes:
        """What has come since the last call, waiting for something; empty at the end. Raises Broken."""
        while not self._unread:
            if self._end is not None:
                if isinstance(self._end, EOFError) and not str(self._end):
                    return b""
                raise Broken(self._end)
            await self._wait()
        data = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
        self._unread.clear()
        self._size = 0
        self._looked = self._loop.time()
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def close(self, problem: str = CLOSED) -> None:
        """Break off; who reads hears of it."""
        self._fail(ConnectionError(problem))

    async def _wait(self) -> None:
        self._reading = self._loop.create_future()
        try:
            await self._reading
        finally:
            self._reading = None

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            part = self._part_of(self._buffer[:nbytes])
        except HttpError as error:
            self._fail(ValueError(f"malformed HTTP response: {error.text}"))
            return
        if part:
            self._unread.append(part)
            self._size += len(part)
            if self._size > _MOST_UNREAD and not self._is_paused and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()
        if self._answers.is_over:
            self._fail(EOFError())
        if not self._waits_for_more():
            self._wake()

    def _waits_for_more(self) -> bool:
        """Whether the reader is woken a little later, to get more at once."""
        if self._reading is None or self._end is not None or not 0 < self._size < _LITTLE:
            return False
        due = self._looked + _BREATH
        if self._loop.time() >= due:
            return False
        if self._breath is None:
            self._breath = self._loop.call_at(due, self._wake)
        return True

    def _part_of(self, data: memoryview) -> bytes:
        """What is of the body in the bytes that came: in a body without chunks and length, all. Raises HttpError."""
        if self._answers.reads_until_end:
            return bytes(data)
        self._answers.feed(data)
        return self._answers.take_part()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        is_whole = self._answers.is_over or (self._answers.reads_until_end and exc is None)
        began = self._answers.head is not None or not self._answers.is_idle
        self._fail(exc or EOFError("" if is_whole or not began else "unexpected EOF"))

    def _fail(self, error: Exception) -> None:
        if self._end is None:
            self._end = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        if self._breath is not None:
            self._breath.cancel()
            self._breath = None
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)


class OpenStream(msgspec.Struct, frozen=True):
    """A stream as the transport hands it on."""

    read: Callable[[], Awaitable[bytes]]
    """The next bytes, empty at the end. Raises ConnectionFailed."""
    end: Callable[[], None]
    """To be called when nobody reads any more."""


class LineStream:
    """
    Lines of a streamed answer, without their line ends. Raises ConnectionFailed when the stream breaks off.

    `read` gives the next bytes, empty at the end, and raises ConnectionFailed.
    """

    def __init__(self, read: Callable[[], Awaitable[bytes]], fail: Callable[[str], ConnectionFailed]) -> None:
        self._read = read
        self._fail = fail
        self._splitter = LineSplitter()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for lines in self.batches():
            for line in lines:
                yield line

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """The lines as they arrive, a chunk's worth at a time: cheaper than one by one."""
        while chunk := await self._read():
            try:
                lines = self._splitter.feed(chunk)
            except LineTooLong as error:
                raise self._fail(str(error)) from error
            if lines:
                yield lines
        if self._splitter.rest:
            raise self._fail("unexpected EOF in the middle of a line")
