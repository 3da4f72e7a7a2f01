"""
HTTP/1.1 requests out of bytes, answers into bytes; no socket in sight.

The admission server answers every write of the cluster on one core. A general server spends more on a request
than the review itself costs (aiohttp: 170 microseconds against 70 here, over TLS), and lacks the reading limits
and timeouts that are asked for. This reader knows just what an API server's client sends: a head, and a body by
length or in chunks.
"""

from __future__ import annotations

import re
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from runtime.http1_framing import HttpError, MessageReader, check_framing, keeps_alive, parse_fields

MAX_HEAD = 32 * 1024
"""Bytes of request line and headers, and of trailers."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105  # HTTP calls a word so
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """One request. Header names are in lower case; repeated headers are joined by a comma."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool

    @property
    def wants_body(self) -> bool:
        """Whether the answer may have a body: that to HEAD only tells how long it would be."""
        return self.method != "HEAD"


class HttpResponse(msgspec.Struct, frozen=True, gc=False):
    """One answer. `headers` are complete lines without their ends, such as `Allow: POST`."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[str, ...] = ()


class RequestReader(MessageReader):
    """Cuts a stream of bytes into requests. `max_body` in bytes, after removal of the chunk framing."""

    what = "request"

    def __init__(self, max_body: int) -> None:
        self._awaits_continue = False
        super().__init__(max_head=MAX_HEAD, max_body=max_body)

    def _begin(self) -> None:
        super()._begin()
        self._request: HttpRequest | None = None

    def take_continue(self) -> bool:
        """Whether the client holds its body back for a `100 Continue`; true once a request."""
        asked, self._awaits_continue = self._awaits_continue, False
        return asked

    def next(self) -> HttpRequest | None:
        """The next complete request, or None until more arrives. Raises HttpError."""
        if self._request is None and not (self._buffer and self._read_head()):
            return None
        request, body = self._request, self._take_body()
        if body is None or request is None:
            return None
        self._begin()
        self._awaits_continue = False
        return msgspec.structs.replace(request, body=body) if body else request

    def _read_head(self) -> bool:
        head = self._take_head()
        if head is None:
            return False
        self._request = _parse_head(head)
        self._expect_body(self._request.headers)
        self._awaits_continue = self._request.headers.get("expect", "").lower() == "100-continue" and not self._buffer
        return True


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
    headers = parse_fields(fields)
    is_modern = minor != "0"
    if is_modern and "host" not in headers:
        raise HttpError(400, "missing required Host header")
    check_framing(headers, is_modern=is_modern)
    path, query = _split_target(target)
    return HttpRequest(method, path, query, headers, b"", keeps_alive(headers, is_modern=is_modern))


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


def encode_response(response: HttpResponse, *, date: str, close: bool, has_body: bool = True) -> bytes:
    """
    The answer on the wire. `date` is the value of the Date header, see `http_date`.

    Without `has_body`, as HEAD asks for, only the length tells of the body: its bytes would be taken for the beginning
    of the next answer.
    """
    extra = "".join(f"{line}\r\n" for line in response.headers)
    head = (
        f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, '')}\r\nDate: {date}\r\n"
        f"Content-Type: {response.content_type}\r\nContent-Length: {len(response.body)}\r\n{extra}"
        f"{'Connection: close' + chr(13) + chr(10) if close else ''}\r\n"
    )
    return head.encode("latin-1") + (response.body if has_body else b"")


def http_date(seconds: float) -> str:
    """Unix time as HTTP writes it."""
    return formatdate(seconds, usegmt=True)


_PHRASES: dict[int, str] = {status.value: status.phrase for status in HTTPStatus}
