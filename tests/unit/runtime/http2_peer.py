"""The server's side of HTTP/2, frame by frame, for tests of our client's side."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from runtime import http2_frames as frames
from runtime.http2_exchange import Exchange
from runtime.http2_frames import HEAD_SIZE, PREFACE, frame
from runtime.http2_hpack import write_fields
from runtime.http2_huffman import CODES
from runtime.http2_requests import HeadEncoder
from runtime.http2_session import Session

GREETING = frame(frames.SETTINGS, 0, 0)
HEAD = HeadEncoder("host:6443", [("Accept", "application/json")]).encode("GET", "/path", "", {}, None)
_LETTERS = {symbol: code for code, symbol in CODES.items()}


@dataclass(frozen=True)
class Frame:
    """One frame as it was sent."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def number(self) -> int:
        """The payload as a number, such as an error code."""
        return int.from_bytes(self.payload)


def parse(data: bytes) -> list[Frame]:
    """What a client sent, its preface left out."""
    data = data.removeprefix(PREFACE)
    found = []
    while len(data) >= HEAD_SIZE:
        high, low, kind, flags, stream = frames.FRAME_HEAD.unpack_from(data)
        end = HEAD_SIZE + (high << 8 | low)
        if len(data) < end:
            break
        found.append(Frame(kind, flags, stream, data[HEAD_SIZE:end]))
        data = data[end:]
    return found


def sent(session: Session) -> list[Frame]:
    """What a session has sent since this was asked last."""
    data = b"".join(session.outbox.frames)
    session.outbox.frames.clear()
    return parse(data)


def greeted(**settings: int) -> Session:
    """A session whose server has sent these settings, with nothing left to send."""
    session = Session()
    session.feed(announce(**settings))
    sent(session)
    return session


def announce(**settings: int) -> bytes:
    return frames.settings({frames.Setting[name.upper()]: value for name, value in settings.items()})


def asked(session: Session, body: bytes = b"", block: bytes = HEAD) -> Exchange:
    """A request that was begun."""
    exchange = Exchange(block, body)
    session.begin(exchange)
    return exchange


def head(stream: int, *fields: tuple[str, str], flags: int = frames.END_HEADERS, status: str = "200") -> bytes:
    return frame(frames.HEADERS, flags, stream, write_fields([(":status", status), *fields]))


def data(stream: int, body: bytes, *, last: bool = True) -> bytes:
    return frame(frames.DATA, frames.END_STREAM if last else 0, stream, body)


def answer(stream: int, body: bytes = b"", *fields: tuple[str, str], status: str = "200") -> bytes:
    """A whole answer."""
    return head(stream, *fields, status=status) + data(stream, body)


def reset(stream: int, code: int) -> bytes:
    return frame(frames.RST_STREAM, 0, stream, struct.pack(">I", code))


def goaway(last: int, code: int = 0, text: bytes = b"") -> bytes:
    return frame(frames.GOAWAY, 0, 0, struct.pack(">II", last, code) + text)


def huffman(text: bytes) -> bytes:
    """A string literal in the Huffman code."""
    bits = "".join(_LETTERS[symbol] for symbol in text)
    bits += "1" * (-len(bits) % 8)
    packed = bytes(int(bits[start : start + 8], 2) for start in range(0, len(bits), 8))
    assert len(packed) < 127
    return bytes((0x80 | len(packed),)) + packed
