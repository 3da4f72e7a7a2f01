"""HTTP/2 frames (RFC 9113, 4 and 6) as bytes: their numbers, and how the few that a client sends are written."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD = struct.Struct(">HBBBI")
"""Length in two parts (16 bits, 8 bits), type, flags, stream."""
HEAD_SIZE = 9
DEFAULT_FRAME = 16_384
LARGEST_FRAME = (1 << 24) - 1
DEFAULT_WINDOW = 65_535
LARGEST_WINDOW = (1 << 31) - 1
LARGEST_STREAM = (1 << 31) - 1

# Types. Plain integers: they are compared for each frame.
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

# Flags.
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20


class Setting(IntEnum):
    """What a peer announces of itself."""

    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class ErrorCode(IntEnum):
    """Why a stream or the connection ends."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13


class Http2Error(Exception):
    """The peer broke the protocol; the connection ends with this code."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def name_of(code: int) -> str:
    """The name of an error code, its number when it has none."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    size = len(payload)
    return FRAME_HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def headers(stream: int, block: bytes, *, end_stream: bool, max_frame: int) -> bytes:
    """A whole header block, continued where it is too large for one frame."""
    flags = END_STREAM if end_stream else 0
    if len(block) <= max_frame:
        return frame(HEADERS, flags | END_HEADERS, stream, block)
    parts = [block[start : start + max_frame] for start in range(0, len(block), max_frame)]
    last = len(parts) - 1
    return frame(HEADERS, flags, stream, parts[0]) + b"".join(
        frame(CONTINUATION, END_HEADERS if number == last else 0, stream, parts[number])
        for number in range(1, len(parts))
    )


def settings(values: Mapping[Setting, int]) -> bytes:
    """What we announce of ourselves."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", name, value) for name, value in values.items()))


def window_update(stream: int, increment: int) -> bytes:
    """Allow the peer so many more bytes."""
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def rst_stream(stream: int, code: ErrorCode) -> bytes:
    """End one stream."""
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def goaway(code: ErrorCode, text: str = "") -> bytes:
    """End the connection; a client has accepted no streams."""
    return frame(GOAWAY, 0, 0, struct.pack(">II", 0, code) + text.encode("ascii", "replace"))
