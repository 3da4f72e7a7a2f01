"""The head of a request as an HTTP/2 header block: all but its path and length is the same again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from runtime.http1_answers import check_target, encode_field
from runtime.http2_hpack import write_fields, write_integer, write_string

_MOST_KEPT = 64
_PATH = b"\x04"
"""A literal that enters no table, named by index."""
_LENGTH = b"\x0f\x0d"
_OF_CONNECTIONS = frozenset({"connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
"""Headers that HTTP/2 has other means for, and forbids."""
_Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]


class HeadEncoder:
    """Heads of requests to one server: `host` with its port, `fields` for all of them."""

    def __init__(self, host: str, fields: Sequence[tuple[str, str]]) -> None:
        self._host = host
        self._fields = fields
        self._kept: dict[_Key, tuple[bytes, bytes]] = {}
        """What stands before the path and after it, for the latest credentials."""

    def encode(
        self, method: str, target: str, authorization: str, headers: Mapping[str, str], body: bytes | None
    ) -> bytes:
        """
        The header block. `authorization` is the header's value, empty without credentials.

        Raises ValueError for a target or header that would not arrive as it was meant.
        """
        key = (method, authorization, tuple(headers.items()))
        kept = self._kept.get(key)
        if kept is None:
            kept = self._keep(key)
        check_target(target)
        path = target.encode("ascii")
        size = len(path)
        literal = bytes((size,)) if size < 0x7F else write_integer(size, 7)
        block = kept[0] + literal + path + kept[1]
        return block if body is None else block + _LENGTH + write_string(b"%d" % len(body))

    def _keep(self, key: _Key) -> tuple[bytes, bytes]:
        method, authorization, headers = key
        if len(self._kept) >= _MOST_KEPT or any(known[1] != authorization for known in self._kept):
            self._kept.clear()
        given = [*self._fields, *headers]
        if authorization:
            given.append(("authorization", authorization))
        for name, value in given:
            encode_field(name, value)  # for its checks
        fields = [(name.lower(), value) for name, value in given if name.lower() not in _OF_CONNECTIONS]
        before = write_fields([(":method", method), (":scheme", "https"), (":authority", self._host)]) + _PATH
        self._kept[key] = kept = before, write_fields(fields)
        return kept
