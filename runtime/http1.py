"""
HTTP/1.1 requests out of bytes, answers into bytes; no socket in sight.

The admission server answers every write of the cluster on one core. A general server spends more on a request
than the review itself costs (aiohttp: 170 microseconds against 70 here, over TLS), and lacks the reading limits
and timeouts that are asked for. This reader knows just what an API server's client sends: a head, and a body by
length or in chunks. What is ambiguous (two lengths, folded lines, blanks before a colon) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

MAX_HEAD = 32 * 1024
"""Bytes of request line and headers, and of trailers."""
_MAX_CHUNK_LINE = 1024

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105  # HTTP calls a word so
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
_FIELD = re.compile(rf"^({_TOKEN}):([^\r\n\0]*)\r\n", re.MULTILINE)
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]*)?")


class HttpError(Exception):
    """The request can't be read; after the answer the connection must close, its next byte is unknown ground."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """One request. Header names are in lower case; repeated headers are joined by a comma."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


class HttpResponse(msgspec.Struct, frozen=True, gc=False):
    """One answer. `headers` are complete lines without their ends, such as `Allow: POST`."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[str, ...] = ()


class _Stage(Enum):
    HEAD = auto()
    BODY = auto()
    CHUNK_SIZE = auto()
    CHUNK_DATA = auto()
    TRAILERS = auto()


class RequestReader:
    """Cuts a stream of bytes into requests. `max_body` in bytes, after removal of the chunk framing."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._searched = 0
        self._awaits_continue = False
        self._begin()

    def _begin(self) -> None:
        self._stage = _Stage.HEAD
        self._head: HttpRequest | None = None
        self._needed = 0
        self._chunks = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._buffer += data

    @property
    def is_idle(self) -> bool:
        """Whether no part of a request has arrived."""
        return self._stage is _Stage.HEAD and not self._buffer

    @property
    def is_in_head(self) -> bool:
        """Whether the head of the next request isn't complete yet."""
        return self._stage is _Stage.HEAD

    @property
    def buffered(self) -> int:
        """Bytes held that belong to no returned request."""
        return len(self._buffer) + len(self._chunks)

    def take_continue(self) -> bool:
        """Whether the client holds its body back for a `100 Continue`; true once a request."""
        asked, self._awaits_continue = self._awaits_continue, False
        return asked

    def next(self) -> HttpRequest | None:
        """The next complete request, or None until more arrives. Raises HttpError."""
        if self._stage is _Stage.HEAD and not (self._buffer and self._read_head()):
            return None
        assert self._head is not None
        body = self._read_body() if self._stage is _Stage.BODY else self._read_chunks()
        if body is None:
            return None
        request = msgspec.structs.replace(self._head, body=body) if body else self._head
        self._begin()
        self._awaits_continue = False
        return request

    def _read_head(self) -> bool:
        # An empty line before the request line is let pass, as RFC 9112 2.2 asks.
        while self._buffer.startswith(b"\r\n"):
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n", max(0, self._searched - 3))
        if end < 0:
            self._searched = len(self._buffer)
        if end > MAX_HEAD or (end < 0 and len(self._buffer) > MAX_HEAD):
            raise HttpError(431, f"request head is larger than {MAX_HEAD} bytes")
        if end < 0:
            return False
        self._searched = 0
        head = self._buffer[: end + 2].decode("latin-1")
        del self._buffer[: end + 4]
        self._head = _parse_head(head)
        self._expect_body(self._head.headers)
        return True

    def _expect_body(self, headers: Mapping[str, str]) -> None:
        if "transfer-encoding" in headers:
            self._stage = _Stage.CHUNK_SIZE
        else:
            self._needed = int(headers.get("content-length", "0"))
            self._stage = _Stage.BODY
            self._limit(self._needed)
        self._awaits_continue = headers.get("expect", "").lower() == "100-continue" and not self._buffer

    def _limit(self, size: int) -> None:
        if size > self._max_body:
            raise HttpError(413, "request body too large")

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
        end = self._buffer.find(b"\r\n", 0, _MAX_CHUNK_LINE)
        if end < 0:
            if len(self._buffer) >= _MAX_CHUNK_LINE:
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
        while (end := self._buffer.find(b"\r\n", 0, MAX_HEAD)) > 0:
            del self._buffer[: end + 2]
        if end < 0 and len(self._buffer) >= MAX_HEAD:
            raise HttpError(431, f"trailers are larger than {MAX_HEAD} bytes")
        if end == 0:
            del self._buffer[:2]
        return end == 0


@lru_cache(maxsize=128)
def _parse_head(head: str) -> HttpRequest:
    """
    A request without its body, from the lines of its head with their ends.

    Remembered, because an API server sends the same head over and over; equal requests share their headers.
    """
    line, _, fields = head.partition("\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise HttpError(400, "request line is malformed")
    method, target, major, minor = match.groups()
    if major != "1":
        raise HttpError(505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
    headers = _parse_fields(fields)
    is_modern = minor != "0"
    _check_framing(headers, is_modern=is_modern)
    path, query = _split_target(target)
    connection = headers.get("connection", "").lower()
    keep_alive = is_modern
    if connection:
        options = {option.strip() for option in connection.split(",")}
        keep_alive = "close" not in options and (is_modern or "keep-alive" in options)
    return HttpRequest(method, path, query, headers, b"", keep_alive)


def _parse_fields(lines: str) -> dict[str, str]:
    fields = _FIELD.findall(lines)
    if len(fields) != lines.count("\n"):  # a line that is no field, or one that somebody else would cut in two
        raise HttpError(400, "header line is malformed")
    headers: dict[str, str] = {}
    for name, value in fields:
        key, text = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _check_framing(headers: dict[str, str], *, is_modern: bool) -> None:
    """Refuse what two readers could cut differently (RFC 9112 6.3)."""
    if is_modern and "host" not in headers:
        raise HttpError(400, "missing required Host header")
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


def _split_target(target: str) -> tuple[str, str]:
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return path, query
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise HttpError(400, "request target must be a path")
    return parts.path or "/", parts.query


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def encode_response(response: HttpResponse, *, date: str, close: bool) -> bytes:
    """The answer on the wire. `date` is the value of the Date header, see `http_date`."""
    extra = "".join(f"{line}\r\n" for line in response.headers)
    head = (
        f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, '')}\r\nDate: {date}\r\n"
        f"Content-Type: {response.content_type}\r\nContent-Length: {len(response.body)}\r\n{extra}"
        f"{'Connection: close' + chr(13) + chr(10) if close else ''}\r\n"
    )
    return head.encode("latin-1") + response.body


def http_date(seconds: float) -> str:
    """Unix time as HTTP writes it."""
    return formatdate(seconds, usegmt=True)


_PHRASES: dict[int, str] = {status.value: status.phrase for status in HTTPStatus}
