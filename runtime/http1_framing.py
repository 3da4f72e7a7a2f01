"""
How HTTP/1.1 messages are cut out of a stream of bytes: heads, and bodies by length, in chunks or until the end.

Shared by the reader of requests (`runtime.http1`, the admission server) and that of answers (`runtime.http1_answers`,
the API client). What two readers could cut differently (two lengths, folded lines, blanks before a colon) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import ClassVar

MAX_CHUNK_LINE = 1024
_FIELD = re.compile(r"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\r\n\0]*)\r\n", re.MULTILINE)
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]*)?")


class HttpError(Exception):
    """The message can't be read; the connection must close, its next byte is unknown ground."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """What a server answers to a request like that."""
        self.text = text


class _Stage(Enum):
    HEAD = auto()
    BODY = auto()
    CHUNK_SIZE = auto()
    CHUNK_DATA = auto()
    TRAILERS = auto()
    UNTIL_END = auto()


class MessageReader:
    """
    The bytes that arrived, and how far the current message has been read.

    `max_head` bounds a head and its trailers, `max_body` a body without its chunk framing; both in bytes.
    """

    what: ClassVar[str]
    """What its messages are, for errors: request or response."""

    def __init__(self, *, max_head: int, max_body: int) -> None:
        self._max_head = max_head
        self._max_body = max_body
        self._buffer = bytearray()
        self._searched = 0
        self._begin()

    def _begin(self) -> None:
        self._stage = _Stage.HEAD
        self._needed = 0
        self._chunks = bytearray()
        self._ended = False

    def feed(self, data: bytes | memoryview) -> None:
        """Take in what arrived."""
        self._buffer += data

    @property
    def is_idle(self) -> bool:
        """Whether no part of a message has arrived."""
        return self._stage is _Stage.HEAD and not self._buffer

    @property
    def is_in_head(self) -> bool:
        """Whether the head of the next message isn't complete yet."""
        return self._stage is _Stage.HEAD

    @property
    def reads_until_end(self) -> bool:
        """Whether only the end of the connection ends the current message."""
        return self._stage is _Stage.UNTIL_END

    @property
    def buffered(self) -> int:
        """Bytes held that belong to no returned message."""
        return len(self._buffer) + len(self._chunks)

    def _take_head(self) -> str | None:
        """The lines of a head with their ends, without the empty one; None until it is complete."""
        # An empty line before the first one is let pass, as RFC 9112 2.2 asks.
        while self._buffer.startswith(b"\r\n"):
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n", max(0, self._searched - 3))
        if end < 0:
            self._searched = len(self._buffer)
        if end > self._max_head or (end < 0 and len(self._buffer) > self._max_head):
            raise HttpError(431, f"{self.what} head is larger than {self._max_head} bytes")
        if end < 0:
            return None
        self._searched = 0
        head = self._buffer[: end + 2].decode("latin-1")
        del self._buffer[: end + 4]
        return head

    def _expect_body(self, fields: Mapping[str, str], *, until_end: bool = False) -> None:
        """What follows the head: chunks, a length, or (`until_end`, without either) all up to the end."""
        if "transfer-encoding" in fields:
            self._stage = _Stage.CHUNK_SIZE
        elif until_end and "content-length" not in fields:
            self._stage = _Stage.UNTIL_END
        else:
            self._needed = int(fields.get("content-length", "0"))
            self._stage = _Stage.BODY
            self._limit(self._needed)

    def _take_body(self) -> bytes | None:
        """The whole body, None until it is complete."""
        if self._stage is _Stage.BODY:
            return self._read_body()
        return None if self._stage is _Stage.UNTIL_END else self._read_chunks()

    def _take_part_of_body(self) -> bytes:
        """What has come of the body and was not taken yet; for bodies that are read while they come."""
        if self._stage is _Stage.BODY:
            part = bytes(self._buffer[: self._needed])
            del self._buffer[: self._needed]
            self._needed -= len(part)
            return part
        if self._stage is _Stage.UNTIL_END:
            part = bytes(self._buffer)
            self._buffer.clear()
            return part
        ended = self._read_chunks()
        part = bytes(self._chunks)
        self._chunks.clear()
        self._ended = ended is not None
        return part

    @property
    def _is_body_over(self) -> bool:
        return self._ended or (self._stage is _Stage.BODY and not self._needed)

    def _limit(self, size: int) -> None:
        if size > self._max_body:
            raise HttpError(413, f"{self.what} body too large")

    def _read_body(self) -> bytes | None:
        missing = self._needed - len(self._buffer)
        if missing > 0:
            return None
        body = bytes(self._buffer if missing == 0 else self._buffer[: self._needed])
        del self._buffer[: self._needed]
        return body

    def _read_chunks(self) -> bytes | None:
        while self._stage is not _Stage.TRAILERS:
            progressed = self._read_chunk_size() if self._stage is _Stage.CHUNK_SIZE else self._read_chunk_data()
            if not progressed:
                return None
        return bytes(self._chunks) if self._skip_trailers() else None

    def _read_chunk_size(self) -> bool:
        end = self._buffer.find(b"\r\n", 0, MAX_CHUNK_LINE)
        if end < 0:
            if len(self._buffer) >= MAX_CHUNK_LINE:
                raise HttpError(400, "chunk size line is too long")
            return False
        match = _CHUNK_SIZE.fullmatch(self._buffer, 0, end)
        if match is None:
            raise HttpError(400, "chunk size is no hexadecimal number")
        self._needed = int(match[1], 16)
        del match  # it holds the buffer, which can't shrink meanwhile
        del self._buffer[: end + 2]
        self._limit(len(self._chunks) + self._needed)
        self._stage = _Stage.CHUNK_DATA if self._needed else _Stage.TRAILERS
        return True

    def _read_chunk_data(self) -> bool:
        size = self._needed
        if len(self._buffer) < size + 2:
            return False
        if self._buffer[size : size + 2] != b"\r\n":
            raise HttpError(400, "chunk is longer than its size")
        self._chunks += memoryview(self._buffer)[:size]
        del self._buffer[: size + 2]
        self._stage = _Stage.CHUNK_SIZE
        return True

    def _skip_trailers(self) -> bool:
        while (end := self._buffer.find(b"\r\n", 0, self._max_head)) > 0:
            del self._buffer[: end + 2]
        if end < 0 and len(self._buffer) >= self._max_head:
            raise HttpError(431, f"trailers are larger than {self._max_head} bytes")
        if end == 0:
            del self._buffer[:2]
        return end == 0


def parse_fields(lines: str) -> dict[str, str]:
    """Header lines with their ends, by name in lower case; repeated ones are joined by a comma. Raises HttpError."""
    fields = _FIELD.findall(lines)
    if len(fields) != lines.count("\n"):  # a line that is no field, or one that somebody else would cut in two
        raise HttpError(400, "header line is malformed")
    headers: dict[str, str] = {}
    for name, value in fields:
        key, text = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def check_framing(headers: dict[str, str], *, is_modern: bool) -> None:
    """Refuse what two readers could cut differently (RFC 9112 6.3), and tidy a length that was given twice."""
    coding = headers.get("transfer-encoding")
    if coding is not None:
        if "content-length" in headers or not is_modern:
            raise HttpError(400, "transfer encoding contradicts the length or the protocol version")
        if coding.lower() != "chunked":
            raise HttpError(501, f"transfer encoding {coding!r} is not supported")
    length = headers.get("content-length")
    if length is not None and not _LENGTH.fullmatch(length):
        values = {value.strip() for value in length.split(",")}
        if len(values) > 1 or not _LENGTH.fullmatch(values.pop()):
            raise HttpError(400, "content length is malformed")
        headers["content-length"] = length.partition(",")[0].strip()


def keeps_alive(headers: Mapping[str, str], *, is_modern: bool) -> bool:
    """Whether the connection goes on after this message."""
    connection = headers.get("connection", "").lower()
    if not connection:
        return is_modern
    options = {option.strip() for option in connection.split(",")}
    return "close" not in options and (is_modern or "keep-alive" in options)
