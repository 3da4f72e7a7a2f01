"""
HTTP/1.1 as the API client speaks it: a request into bytes, an answer out of bytes; no socket in sight.

A bind costs the scheduler little more than its HTTP, so what a general client spends on features that an API server
never needs (cookies, redirects, compression) counts; `docs/decisions/0004-client-http.md` has the figures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from runtime.http1_framing import HttpError, MessageReader, check_framing, keeps_alive, parse_fields

MAX_HEAD = 64 * 1024
"""Bytes of status line and headers."""

_STATUS_LINE = re.compile(r"HTTP/1\.(\d) (\d{3})(?: .*)?")
_SWITCHING = 101
_WITHOUT_BODY = frozenset({204, 304})


class Headers(Mapping[str, str]):
    """Headers of an answer, looked up without regard to case."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields
        """By name in lower case."""

    @classmethod
    def joined(cls, items: Iterable[tuple[str, str]]) -> Headers:
        """Headers out of single lines: those of the same name are joined by a comma."""
        fields: dict[str, str] = {}
        for name, value in items:
            key = name.lower()
            fields[key] = f"{fields[key]}, {value}" if key in fields else value
        return cls(fields)

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class HttpAnswer(msgspec.Struct, frozen=True, gc=False):
    """One answer, whatever its code."""

    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes
    keep_alive: bool


class AnswerReader(MessageReader):
    """Cuts what arrives on one connection into answers. `1xx` answers are passed over."""

    what = "response"

    def __init__(self) -> None:
        super().__init__(max_head=MAX_HEAD, max_body=sys.maxsize)

    def _begin(self) -> None:
        super()._begin()
        self._answer: HttpAnswer | None = None

    def next(self) -> HttpAnswer | None:
        """The next complete answer, or None until more arrives. Raises HttpError."""
        if not self._find_head():
            return None
        body = self._take_body()
        return None if body is None else self._finish(body)

    @property
    def head(self) -> HttpAnswer | None:
        """The answer under way, without its body; for bodies that are read while they come."""
        return self._answer

    @property
    def is_over(self) -> bool:
        """Whether `take_part` has given the last part of the body."""
        return self._answer is not None and self._is_body_over

    def take_part(self) -> bytes:
        """What has come of the body and was not taken yet. Raises HttpError."""
        return self._take_part_of_body() if self._find_head() else b""

    def _find_head(self) -> bool:
        while self._answer is None:
            head = self._take_head() if self._buffer else None
            if head is None:
                return False
            self._answer = self._read_head(head)
        return True

    def end(self) -> HttpAnswer | None:
        """Nothing more comes: the answer that only the end completes, or None when what came is no whole answer."""
        if not self.reads_until_end:
            return None
        body = bytes(self._buffer)
        self._buffer.clear()
        return self._finish(body)

    def _finish(self, body: bytes) -> HttpAnswer:
        assert self._answer is not None
        answer = self._answer
        self._begin()
        return msgspec.structs.replace(answer, body=body) if body else answer

    def _read_head(self, head: str) -> HttpAnswer | None:
        line, _, lines = head.partition("\r\n")
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise HttpError(0, f"status line {line[:40]!r}")
        is_modern, status = match[1] != "0", int(match[2])
        if status < 200:
            if status == _SWITCHING:
                raise HttpError(0, "unexpected switch of protocols")
            return None
        fields = parse_fields(lines)
        check_framing(fields, is_modern=is_modern)
        has_body = status not in _WITHOUT_BODY
        self._expect_body(fields if has_body else {}, until_end=has_body)
        keep_alive = not self.reads_until_end and keeps_alive(fields, is_modern=is_modern)
        return HttpAnswer(status, Headers(fields), b"", keep_alive)


def encode_request(method: str, target: str, fields: str, body: bytes | None, *, version: str = "1.1") -> bytes:
    """
    The request on the wire. `fields` are header lines with their ends, without the length.

    Raises ValueError for a target or header that would not arrive as it was meant.
    """
    check_target(target)
    length = f"Content-Length: {len(body)}\r\n" if body is not None else ""
    return f"{method} {target} HTTP/{version}\r\n{fields}{length}\r\n".encode("latin-1") + (body or b"")


def check_target(target: str) -> None:
    """Raise ValueError for a path that would not arrive as it was meant."""
    if not target.isascii() or not target.isprintable() or " " in target:
        raise ValueError(f"path {target!r} holds a character that no address can")


def encode_field(name: str, value: str) -> str:
    """One header line with its end. Raises ValueError for a value that no header can carry."""
    if not value.isprintable():
        raise ValueError(f"header {name} holds a control character")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError(f"header {name} holds a character outside Latin-1") from None
    return f"{name}: {value}\r\n"
