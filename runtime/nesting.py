"""
JSON nested deeper than a recursive parser goes.

A document that contains one such object can't be parsed as a whole, not even to skip the object. Here its deep parts
are cut out first, by a scan that doesn't recurse, so that the objects around can be read and the deep one named.
"""

from __future__ import annotations

import os
import re

DEPTH = 500
"""Levels that are kept: half of what Python's own limit lets a parser descend."""

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class Cut:
    """A JSON text in which a string that occurs nowhere else stands for each value below `DEPTH` levels."""

    def __init__(self, text: bytes) -> None:
        self._nonce = os.urandom(16).hex().encode()
        self._removed: list[bytes] = []
        self.text = self._without_depths(text)

    def _without_depths(self, text: bytes) -> bytes:
        kept: list[bytes] = []
        begin = depth = 0
        for token in _TOKEN.finditer(text):
            sign = text[token.start() : token.start() + 1]
            if sign in (b"{", b"["):
                depth += 1
                if depth == DEPTH + 1:
                    kept += text[begin : token.start()], b'"%s:%d"' % (self._nonce, len(self._removed))
                    begin = token.start()
            elif sign in (b"}", b"]"):
                if depth == DEPTH + 1:
                    self._removed.append(text[begin : token.end()])
                    begin = token.end()
                depth -= 1
        (kept if depth <= DEPTH else self._removed).append(text[begin:])
        return b"".join(kept)

    def restored(self, part: bytes) -> bytes:
        """A part of `text` with everything that was cut out of it."""
        return re.sub(rb'"%s:(\d+)"' % self._nonce, lambda found: self._removed[int(found[1])], part)
