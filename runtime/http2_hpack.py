"""
Header blocks of HTTP/2 (HPACK, RFC 7541) for an API client that keeps no dynamic table, in either direction.

We announce a table of size 0, so a server must spell out what it sends, and a block can be read by itself. Values are
kept as they came until somebody asks for them: of the ten headers of an answer hardly one is ever read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from runtime import http2_huffman
from runtime.http2_frames import ErrorCode, Http2Error

_STATIC: tuple[tuple[str, str], ...] = (
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
)  # fmt: skip
_LONGEST_INTEGER = 5
"""Bytes after the first: none that we could mean is larger."""
_SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})
TABLE_OF_NOTHING = b"\x20"
"""What a block may begin with: the sender's dynamic table has room for 0 bytes from now on."""
Raw = bytes | str
"""A value: text, or the string literal as it came."""


class BlockHeaders(Mapping[str, str]):
    """
    The headers of one answer, looked up without regard to case; a value is decoded when it is asked for.

    Repeated ones are joined by a comma. A value in a broken Huffman code reads as empty.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: list[tuple[str, Raw]]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        wanted = name.lower()
        found = [_text(raw) for field, raw in self._fields if field == wanted]
        if not found:
            raise KeyError(name)
        return ", ".join(found)

    def __contains__(self, name: object) -> bool:
        wanted = name.lower() if isinstance(name, str) else name
        for field, _ in self._fields:  # noqa: SIM110  # asked of each answer, and three times as quick as any()
            if field == wanted:
                return True
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._fields))

    def __len__(self) -> int:
        return len(dict(self._fields))


def read_block(block: bytes) -> list[tuple[str, Raw]]:
    """
    The fields of a header block, in their order, names in full.

    Raises Http2Error with COMPRESSION_ERROR for a block that is cut off or refers to a dynamic table.
    """
    fields: list[tuple[str, Raw]] = []
    add = fields.append
    place, end = 0, len(block)
    try:
        while place < end:
            first = block[place]
            if first & 0x80:
                index, place = read_integer(block, place, 7)
                add(_static(index))
                continue
            if 0x20 <= first < 0x40:
                size, place = read_integer(block, place, 5)
                if size or fields:
                    raise _broken("a dynamic table that we don't keep")
                continue
            bits = 6 if first & 0x40 else 4
            index = first & ((1 << bits) - 1)
            if index == 0:
                start = place + 1
                place = _skip_string(block, start)
                name = _name(block[start:place])
            elif index < (1 << bits) - 1:
                name, _ = _static(index)
                place += 1
            else:
                index, place = read_integer(block, place, bits)
                name, _ = _static(index)
            start = place
            place = _skip_string(block, start)
            add((name, block[start:place]))
    except IndexError:
        raise _broken("it is cut off") from None
    return fields


def text_of(raw: Raw) -> str:
    """A value in Latin-1. Raises Http2Error for a broken Huffman code."""
    return raw if isinstance(raw, str) else _decoded(raw)


def read_integer(data: bytes, place: int, bits: int) -> tuple[int, int]:
    """An integer whose first byte has so many bits for it, and the place after it. Raises Http2Error, IndexError."""
    most = (1 << bits) - 1
    value = data[place] & most
    place += 1
    if value < most:
        return value, place
    for shift in range(0, 7 * _LONGEST_INTEGER, 7):
        byte = data[place]
        place += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise _broken("an integer is too large")


def write_integer(value: int, bits: int, flags: int = 0) -> bytes:
    """An integer whose first byte has so many bits for it, under these flags."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((flags | value,))
    written = bytearray((flags | most,))
    value -= most
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def write_string(data: bytes) -> bytes:
    """A string literal, spelt out."""
    return write_integer(len(data), 7) + data


def write_fields(fields: Iterable[tuple[str, str]]) -> bytes:
    """
    Fields as literals that enter no table; credentials are marked so that nobody on the way puts them into one.

    Names in lower case, values in Latin-1.
    """
    return b"".join(
        (b"\x10" if name in _SECRET else b"\x00")
        + write_string(name.encode("latin-1"))
        + write_string(value.encode("latin-1"))
        for name, value in fields
    )


def _static(index: int) -> tuple[str, str]:
    if not 0 < index <= len(_STATIC):
        raise _broken(f"index {index} is in no table")
    return _STATIC[index - 1]


def _skip_string(block: bytes, place: int) -> int:
    """The place after a string literal."""
    length = block[place] & 0x7F
    if length == 0x7F:
        length, place = read_integer(block, place, 7)
        place += length
    else:
        place += 1 + length
    if place > len(block):
        raise _broken("it is cut off")
    return place


@lru_cache(maxsize=256)
def _name(literal: bytes) -> str:
    return _decoded(literal)


def _text(raw: Raw) -> str:
    try:
        return text_of(raw)
    except Http2Error:
        return ""


def _decoded(literal: bytes) -> str:
    length, start = read_integer(literal, 0, 7)
    data = literal[start : start + length]
    try:
        return (http2_huffman.decode(data) if literal[0] & 0x80 else data).decode("latin-1")
    except ValueError as error:
        raise _broken(str(error)) from None


def _broken(why: str) -> Http2Error:
    return Http2Error(ErrorCode.COMPRESSION_ERROR, f"header block: {why}")
