"""
One HTTP/2 connection as a client sees it (RFC 9113), without a socket: requests into frames, frames into answers.

What a general client can do and ours never needs is left out: pushes are refused, priorities ignored, no header ever
enters a table. The windows that we grant are as large as they may be, since answers are kept in memory whole anyway.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain

from runtime import http2_frames as frames
from runtime.http1_answers import MAX_HEAD
from runtime.http2_exchange import Exchange, StreamError, Unprocessed
from runtime.http2_frames import (
    DEFAULT_FRAME,
    DEFAULT_WINDOW,
    HEAD_SIZE,
    LARGEST_FRAME,
    LARGEST_STREAM,
    LARGEST_WINDOW,
    ErrorCode,
    Http2Error,
    Setting,
)
from runtime.http2_hpack import TABLE_OF_NOTHING, read_block
from runtime.http2_sending import Outbox
from runtime.streaming import Broken

_STREAMS_BEFORE_SETTINGS = 100
"""A server that has not yet said how many streams it takes gets no more than this."""
_OURS = {
    Setting.HEADER_TABLE_SIZE: 0,
    Setting.ENABLE_PUSH: 0,
    Setting.INITIAL_WINDOW_SIZE: LARGEST_WINDOW,
    Setting.MAX_HEADER_LIST_SIZE: MAX_HEAD,
}
_unpack_head = frames.FRAME_HEAD.unpack_from


class Session:
    """Exchanges under way on one connection. After an Http2Error call `end`, and nothing else any more."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.finished: list[Exchange] = []
        """Those that are over, with their `outcome`; whoever tells the callers empties it."""
        self.farewell = ""
        """What the server said when it announced its end; empty before."""
        self._streams: dict[int, Exchange] = {}
        self._queue: deque[Exchange] = deque()
        self._next = 1
        self._max_streams = _STREAMS_BEFORE_SETTINGS
        self._granted = LARGEST_WINDOW
        """Bytes of bodies that the server may still send us."""
        self._owes_update = False
        """Whether the next header block must say that it uses no table: asked for where a server limits ours."""
        self._rest = b""
        self._is_greeted = False
        self._block: tuple[int, int, bytearray] | None = None
        """A header block that goes on in the next frame: stream, flags, what came of it."""
        self._readers: tuple[Callable[[int, int, bytes], None], ...] = (
            self._read_data, self._read_headers, self._ignore, self._read_reset, self._read_settings,
            self._refuse_push, self._read_ping, self._read_goaway, self._read_window_update, self._read_continuation,
        )  # fmt: skip
        self.outbox.frames += [
            frames.PREFACE,
            frames.settings(_OURS),
            frames.window_update(0, LARGEST_WINDOW - DEFAULT_WINDOW),
        ]

    @property
    def takes_more(self) -> bool:
        """Whether further requests may begin here."""
        return not self.farewell and self._next <= LARGEST_STREAM

    @property
    def load(self) -> int:
        """How many exchanges aren't over."""
        return len(self._streams) + len(self._queue)

    @property
    def under_way(self) -> list[Exchange]:
        """All that aren't over, those that wait for a stream included."""
        return list(chain(self._streams.values(), self._queue))

    def begin(self, exchange: Exchange) -> None:
        """
        Send a request as soon as the server takes one more; `takes_more` must be true.

        Those that are too many wait in their order: a second connection would cost more than the wait for one answer.
        """
        if self._queue or len(self._streams) >= self._max_streams:
            self._queue.append(exchange)
        else:
            self._start(exchange)

    def cancel(self, exchange: Exchange) -> None:
        """Nobody waits for it any more; the others go on."""
        if exchange.stream:
            self._reset(exchange, ErrorCode.CANCEL)
        elif exchange in self._queue:
            self._queue.remove(exchange)

    def ping(self) -> None:
        """Ask for a sign of life."""
        self.outbox.frames.append(frames.frame(frames.PING, 0, 0, bytes(8)))

    def end(self, error: Exception) -> None:
        """The connection is gone: all that are under way are over, those that never began as unprocessed."""
        for exchange in self._streams.values():
            self._finish(exchange, Broken(error))
        for exchange in self._queue:
            self._finish(exchange, Unprocessed(error))
        self._streams.clear()
        self._queue.clear()
        self.farewell = self.farewell or str(error) or "EOF"

    def feed(self, data: bytes | memoryview) -> None:
        """Take in what arrived. Raises Http2Error."""
        buffer = self._rest + data if self._rest else bytes(data)
        place, end = 0, len(buffer)
        while end - place >= HEAD_SIZE:
            high, low, kind, flags, stream = _unpack_head(buffer, place)
            size = high << 8 | low
            if size > DEFAULT_FRAME:
                raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            start = place + HEAD_SIZE
            place = start + size
            if place > end:
                place = start - HEAD_SIZE
                break
            if not self._is_greeted or self._block is not None:
                self._check_order(kind, flags, stream & LARGEST_STREAM)
            if kind <= frames.CONTINUATION:
                self._readers[kind](flags, stream & LARGEST_STREAM, buffer[start:place])
        self._rest = buffer[place:]

    # Streams.

    def _start(self, exchange: Exchange) -> None:
        exchange.stream = self._next
        self._next += 2
        self._streams[exchange.stream] = exchange
        if self._owes_update:
            self._owes_update = False
            exchange.block = TABLE_OF_NOTHING + exchange.block
        self.outbox.send(exchange)

    def _start_queued(self) -> None:
        while self._queue and len(self._streams) < self._max_streams:
            exchange = self._queue.popleft()
            if not self.takes_more:
                self._finish(exchange, Unprocessed(ConnectionError("the connection has no numbers left")))
            elif exchange.may_begin():
                self._start(exchange)

    def _finish(self, exchange: Exchange, outcome: Broken | Unprocessed) -> None:
        exchange.outcome = outcome
        self.outbox.drop(exchange)
        self.finished.append(exchange)

    def _leave(self, exchange: Exchange) -> None:
        del self._streams[exchange.stream]
        if self._queue:
            self._start_queued()

    def _reset(self, exchange: Exchange, code: ErrorCode) -> None:
        if self._streams.get(exchange.stream) is exchange:
            self.outbox.drop(exchange)
            self.outbox.frames.append(frames.rst_stream(exchange.stream, code))
            self._leave(exchange)

    def _complete(self, exchange: Exchange) -> None:
        """The server has said all; it doesn't want the rest of a body that it has not waited for."""
        exchange.outcome = exchange.answer()
        self.finished.append(exchange)
        if exchange.sent < len(exchange.body):
            self._reset(exchange, ErrorCode.NO_ERROR)
        else:
            self._leave(exchange)

    def _spoil(self, exchange: Exchange, error: StreamError) -> None:
        self._reset(exchange, error.code)
        self._finish(exchange, error.as_broken())

    def _find(self, stream: int) -> Exchange | None:
        """The exchange of a stream, None when it is over. Raises Http2Error for one that never was."""
        exchange = self._streams.get(stream)
        if exchange is None and (stream % 2 == 0 or stream >= self._next):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, f"stream {stream} was never opened")
        return exchange

    # Frames, by type.

    def _check_order(self, kind: int, flags: int, stream: int) -> None:
        if not self._is_greeted:
            if kind != frames.SETTINGS or flags & frames.ACK:
                raise Http2Error(ErrorCode.PROTOCOL_ERROR, "it doesn't begin with settings")
            self._is_greeted = True
        elif self._block is not None and (kind != frames.CONTINUATION or stream != self._block[0]):
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a header block is interrupted")

    def _read_data(self, flags: int, stream: int, payload: bytes) -> None:
        self._granted -= len(payload)
        if self._granted < 0:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "more data than was allowed")
        if self._granted < LARGEST_WINDOW // 2:
            self.outbox.frames.append(frames.window_update(0, LARGEST_WINDOW - self._granted))
            self._granted = LARGEST_WINDOW
        exchange = self._streams.get(stream) or self._find(stream)
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if exchange is None:
            return
        try:
            if payload:
                exchange.take_data(payload)
            if flags & frames.END_STREAM:
                self._complete(exchange)
        except StreamError as error:
            self._spoil(exchange, error)

    def _read_headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if flags & frames.WITH_PRIORITY:
            _check_size(len(payload) >= 5)
            payload = payload[5:]
        if flags & frames.END_HEADERS:
            self._take_block(flags, stream, payload)
        else:
            self._block = (stream, flags, bytearray(payload))

    def _read_continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._block is None:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, f"nothing to continue on stream {stream}")
        _, first_flags, block = self._block
        block += payload
        if len(block) > MAX_HEAD:
            raise Http2Error(ErrorCode.ENHANCE_YOUR_CALM, f"response head is larger than {MAX_HEAD} bytes")
        if flags & frames.END_HEADERS:
            self._block = None
            self._take_block(first_flags, stream, bytes(block))

    def _take_block(self, flags: int, stream: int, block: bytes) -> None:
        exchange = self._streams.get(stream) or self._find(stream)
        fields = read_block(block)
        if exchange is None:
            return
        is_last = flags & frames.END_STREAM != 0
        try:
            exchange.take_fields(fields, is_last=is_last)
            if is_last:
                self._complete(exchange)
        except StreamError as error:
            self._spoil(exchange, error)

    def _read_reset(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(len(payload) == 4)
        exchange = self._find(stream)
        if exchange is None:
            return
        code = int.from_bytes(payload)
        error = ConnectionError(f"the server reset the request ({frames.name_of(code)})")
        self._finish(exchange, Unprocessed(error) if code == ErrorCode.REFUSED_STREAM else Broken(error))
        self._leave(exchange)

    def _read_settings(self, flags: int, stream: int, payload: bytes) -> None:
        _check_stream(stream == 0)
        if flags & frames.ACK:
            _check_size(not payload)
            return
        _check_size(len(payload) % 6 == 0)
        for start in range(0, len(payload), 6):
            self._set(int.from_bytes(payload[start : start + 2]), int.from_bytes(payload[start + 2 : start + 6]))
        self.outbox.frames.append(frames.frame(frames.SETTINGS, frames.ACK, 0))
        self._start_queued()

    def _set(self, name: int, value: int) -> None:
        if name == Setting.MAX_CONCURRENT_STREAMS:
            self._max_streams = value
        elif name == Setting.HEADER_TABLE_SIZE:
            self._owes_update = True
        elif name == Setting.INITIAL_WINDOW_SIZE:
            self.outbox.resize(value)
        elif name == Setting.MAX_FRAME_SIZE:
            if not DEFAULT_FRAME <= value <= LARGEST_FRAME:
                raise Http2Error(ErrorCode.PROTOCOL_ERROR, f"frames of at most {value} bytes")
            self.outbox.max_frame = value
        elif name == Setting.ENABLE_PUSH and value:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a server can't allow pushes")

    def _read_ping(self, flags: int, stream: int, payload: bytes) -> None:
        _check_stream(stream == 0)
        _check_size(len(payload) == 8)
        if not flags & frames.ACK:
            self.outbox.frames.append(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _read_goaway(self, _flags: int, stream: int, payload: bytes) -> None:
        """Streams above the last one that the server names were not looked at; the others go on to their end."""
        _check_stream(stream == 0)
        _check_size(len(payload) >= 8)
        last, code = int.from_bytes(payload[:4]) & LARGEST_STREAM, int.from_bytes(payload[4:8])
        text = payload[8:208].decode("ascii", "replace")
        self.farewell = f"the server ended the connection ({frames.name_of(code)}{': ' if text else ''}{text})"
        refused = [self._streams.pop(number) for number in tuple(self._streams) if number > last]
        for exchange in (*refused, *self._queue):
            self._finish(exchange, Unprocessed(ConnectionError(self.farewell)))
        self._queue.clear()

    def _read_window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(len(payload) == 4)
        increment = int.from_bytes(payload) & LARGEST_WINDOW
        if not stream:
            self.outbox.widen(increment)
            return
        exchange = self._find(stream)
        if exchange is not None and not self.outbox.widen_stream(exchange, increment):
            code = ErrorCode.FLOW_CONTROL_ERROR if increment else ErrorCode.PROTOCOL_ERROR
            self._spoil(exchange, StreamError(code, "its window can't be"))

    def _refuse_push(self, _flags: int, stream: int, _payload: bytes) -> None:
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, f"a push on stream {stream}")

    def _ignore(self, _flags: int, _stream: int, _payload: bytes) -> None:
        """Priorities, which are for servers."""


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, "padding longer than its frame")
    return payload[1 : len(payload) - payload[0]]


def _check_size(is_right: bool) -> None:  # noqa: FBT001
    if not is_right:
        raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "a frame of the wrong size")


def _check_stream(is_right: bool) -> None:  # noqa: FBT001
    if not is_right:
        raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a frame on the wrong stream")
