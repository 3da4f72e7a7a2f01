"""One request and what has come of its answer, as an HTTP/2 session keeps them."""

from __future__ import annotations

from functools import lru_cache

from runtime.http1_answers import Headers, HttpAnswer
from runtime.http2_frames import LARGEST_WINDOW, ErrorCode
from runtime.http2_hpack import BlockHeaders, Raw, text_of
from runtime.streaming import Broken

_WITHOUT_BODY = frozenset({204, 304})
_NO_HEADERS = Headers({})


class Unprocessed(Exception):  # noqa: N818  # says what is the case
    """The server has not looked at the request, and never will: it may be sent again whatever it asks for."""

    def __init__(self, origin: Exception) -> None:
        super().__init__(str(origin))
        self.origin = origin


class StreamError(Exception):
    """The answer can't be used; the connection can. The stream is reset with this code."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code

    def as_broken(self) -> Broken:
        return Broken(ValueError(f"malformed HTTP response: {self}"))


class Exchange:
    """`outcome` is set when it is over: the answer, Broken or Unprocessed."""

    __slots__ = (
        "block", "body", "deadline", "headers", "length", "outcome", "parts", "sent", "size", "status", "stream", "window",
    )  # fmt: skip

    def __init__(self, block: bytes, body: bytes, deadline: float = 0.0) -> None:
        self.block = block
        self.body = body
        self.deadline = deadline
        """Of the event loop's clock; for whoever watches it."""
        self.stream = 0
        """Its number, 0 before it begins."""
        self.sent = 0
        """Bytes of the body."""
        self.window = 0
        """Bytes that the server takes on this stream now; below 0 after it changed its mind."""
        self.status = 0
        """0 until the final headers have come."""
        self.headers: Headers | BlockHeaders = _NO_HEADERS
        self.length = -1
        """Of the body as the server announced it, -1 without."""
        self.parts: list[bytes] = []
        self.size = 0
        self.outcome: HttpAnswer | Broken | Unprocessed | None = None

    def may_begin(self) -> bool:
        """Asked when it has waited for its turn; False when nobody wants it any more."""
        return True

    def take_fields(self, fields: list[tuple[str, Raw]], *, is_last: bool) -> None:
        """Headers or trailers. Raises StreamError, and Http2Error for a value that can't be decoded."""
        if self.status:
            if not is_last:
                raise StreamError(ErrorCode.PROTOCOL_ERROR, "a second head")
            return
        status = _status_of(fields[0][1]) if fields and fields[0][0] == ":status" else 0
        if not status:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "it has no status")
        del fields[0]
        for name, value in fields:
            if name == "content-length":
                self._expect(_length_of(value))
            elif name[:1] == ":":
                raise StreamError(ErrorCode.PROTOCOL_ERROR, f"unexpected header {name[:40]!r}")
        if status >= 200:
            self.status = status
            self.headers = BlockHeaders(fields)
        elif is_last or status == 101:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "it ends before it begins")

    def take_data(self, part: bytes) -> None:
        """A part of the body. Raises StreamError."""
        if not self.status:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "a body without headers")
        self.parts.append(part)
        self.size += len(part)
        if self.size > LARGEST_WINDOW:
            raise StreamError(ErrorCode.FLOW_CONTROL_ERROR, "the body is larger than was allowed")

    def answer(self) -> HttpAnswer:
        """All of it. Raises StreamError when it has no head, or a body that isn't as long as was said."""
        if not self.status:
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "it has no headers")
        if self.length >= 0 and self.size != self.length and self.status not in _WITHOUT_BODY:
            text = f"a body of {self.size} bytes with a content length of {self.length}"
            raise StreamError(ErrorCode.PROTOCOL_ERROR, text)
        parts = self.parts
        return HttpAnswer(self.status, self.headers, parts[0] if len(parts) == 1 else b"".join(parts), True)

    def _expect(self, length: int) -> None:
        if length < 0 or self.length not in (-1, length):
            raise StreamError(ErrorCode.PROTOCOL_ERROR, "content length is malformed")
        self.length = length


@lru_cache(maxsize=64)
def _status_of(value: Raw) -> int:
    """0 for what is no status."""
    text = text_of(value)
    return int(text) if len(text) == 3 and text.isascii() and text.isdecimal() and text >= "100" else 0


@lru_cache(maxsize=512)
def _length_of(value: Raw) -> int:
    """-1 for what is no length."""
    text = text_of(value)
    return int(text) if len(text) <= 18 and text.isascii() and text.isdecimal() else -1
