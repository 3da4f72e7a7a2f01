"""
What an HTTP/2 client has to send, no faster than the server allows.

Bodies obey two windows, the stream's and the connection's; what doesn't fit waits here, oldest first. A body that
waits for its own stream's window holds up no other.
"""

from __future__ import annotations

from runtime import http2_frames as frames
from runtime.http2_exchange import Exchange
from runtime.http2_frames import DEFAULT_FRAME, DEFAULT_WINDOW, LARGEST_WINDOW, ErrorCode, Http2Error


class Outbox:
    """Frames to be written, and bodies that wait for a window."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        """To be written in this order; whoever writes them empties it."""
        self.max_frame = DEFAULT_FRAME
        self.window = DEFAULT_WINDOW
        """Bytes of bodies that the server takes on this connection now."""
        self._first_window = DEFAULT_WINDOW
        """Bytes that it takes on a new stream."""
        self._waiting: dict[int, Exchange] = {}

    def send(self, exchange: Exchange) -> None:
        """Begin with a request, on the stream whose number it has."""
        body, block, stream = exchange.body, exchange.block, exchange.stream
        size = len(body)
        if len(block) > self.max_frame:
            self.frames.append(frames.headers(stream, block, end_stream=not size, max_frame=self.max_frame))
        else:
            flags = frames.END_HEADERS if size else frames.END_HEADERS | frames.END_STREAM
            self.frames.append(frames.frame(frames.HEADERS, flags, stream, block))
        if not size:
            return
        exchange.window = self._first_window
        if size <= self.window and size <= exchange.window and size <= self.max_frame and not self._waiting:
            self._send_part(exchange, size)
        else:
            self._waiting[stream] = exchange
            self._send_waiting()

    def drop(self, exchange: Exchange) -> None:
        """Send no more of it."""
        self._waiting.pop(exchange.stream, None)

    def widen(self, increment: int) -> None:
        """The server takes so many more bytes on the connection. Raises Http2Error."""
        if not increment:
            raise Http2Error(ErrorCode.PROTOCOL_ERROR, "a window grows by nothing")
        self.window += increment
        if self.window > LARGEST_WINDOW:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window grows beyond all bounds")
        self._send_waiting()

    def widen_stream(self, exchange: Exchange, increment: int) -> bool:
        """The server takes so many more bytes of this body. False if that can't be."""
        if exchange.stream not in self._waiting:  # nothing is left of it, so nobody has kept account
            return increment > 0
        exchange.window += increment
        if not increment or exchange.window > LARGEST_WINDOW:
            return False
        self._send_waiting()
        return True

    def resize(self, first_window: int) -> None:
        """The server takes another number of bytes on each stream from the start. Raises Http2Error."""
        if first_window > LARGEST_WINDOW:
            raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window larger than all bounds")
        change = first_window - self._first_window
        self._first_window = first_window
        for exchange in self._waiting.values():
            exchange.window += change
            if exchange.window > LARGEST_WINDOW:
                raise Http2Error(ErrorCode.FLOW_CONTROL_ERROR, "a window grows beyond all bounds")
        self._send_waiting()

    def _send_waiting(self) -> None:
        for exchange in list(self._waiting.values()):
            while self.window > 0 and exchange.window > 0:
                left = len(exchange.body) - exchange.sent
                self._send_part(exchange, min(left, self.window, exchange.window, self.max_frame))
                if exchange.sent == len(exchange.body):
                    del self._waiting[exchange.stream]
                    break

    def _send_part(self, exchange: Exchange, size: int) -> None:
        end = exchange.sent + size
        is_last = end == len(exchange.body)
        part = exchange.body if is_last and not exchange.sent else exchange.body[exchange.sent : end]
        self.frames.append(frames.frame(frames.DATA, frames.END_STREAM if is_last else 0, exchange.stream, part))
        exchange.sent = end
        exchange.window -= size
        self.window -= size
