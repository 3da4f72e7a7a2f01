"""
The YAML that kubeconfig files are made of, read without the library.

Importing the library takes longer than a whole request, and nearly every kubeconfig is nested maps and lists of plain
words. Whatever goes beyond that (comments, anchors, numbers, folded texts, nulls) is not guessed at: the answer is
`NotPlain`, and the caller reads the text with the library. A test compares the two.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?: +(\S.*))?")
_WORD = re.compile(r"[A-Za-z/][A-Za-z0-9+/=._@:%-]*(?<!:)")
_QUOTED = re.compile(r'"([^"\\]*)"|\'([^\']*)\'')
_SPECIAL = frozenset(("yes", "no", "on", "off", "null", "true", "false"))
"""Words that YAML takes for something else in some spelling."""
_BOOLEANS = {"true": True, "false": False}
_EMPTY: dict[str, type[dict[str, Any] | list[Any]]] = {"{}": dict, "[]": list}


class NotPlain(Exception):  # noqa: N818  # no error: the text needs the library
    """The text holds more than this reader knows."""


def read(text: str) -> Any:
    """The one document of a text. Raises NotPlain."""
    if not text.isascii() or "\t" in text or "\r" in text or "#" in text:
        raise NotPlain
    reader = _Reader(text)
    value = reader.block(0)
    if reader.lines:
        raise NotPlain
    return value


class _Reader:
    """The lines that are left, last first, each with its indent in blanks."""

    def __init__(self, text: str) -> None:
        rows = [line.rstrip(" ") for line in text.split("\n")]
        self.lines = [(len(row) - len(row.lstrip(" ")), row.lstrip(" ")) for row in reversed(rows) if row]

    def block(self, indent: int) -> Any:
        """A list or a map whose lines begin at this indent."""
        if self._is_next(indent, "- "):
            return self._list(indent)
        return self._map(indent)

    def _list(self, indent: int) -> list[Any]:
        items = []
        while self._is_next(indent, "- "):
            text = self.lines.pop()[1][2:]
            if _KEY.fullmatch(text):
                self.lines.append((indent + 2, text))
                items.append(self._map(indent + 2))
            else:
                items.append(_scalar(text))
        self._end(indent)
        return items

    def _map(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._is_next(indent) and not self._is_next(indent, "- "):
            match = _KEY.fullmatch(self.lines.pop()[1])
            if match is None or match[1] in found or match[1].lower() in _SPECIAL:
                raise NotPlain
            found[match[1]] = self._below(indent) if match[2] is None else _scalar(match[2])
        if not found:
            raise NotPlain
        self._end(indent)
        return found

    def _below(self, indent: int) -> Any:
        """The value of a key that has nothing behind it: what is indented deeper, or a list at the same indent."""
        deeper = self.lines[-1][0] if self.lines else 0
        if deeper > indent:
            return self.block(deeper)
        if self._is_next(indent, "- "):
            return self._list(indent)
        raise NotPlain

    def _is_next(self, indent: int, start: str = "") -> bool:
        return bool(self.lines) and self.lines[-1][0] == indent and self.lines[-1][1].startswith(start)

    def _end(self, indent: int) -> None:
        if self.lines and self.lines[-1][0] > indent:
            raise NotPlain


def _scalar(text: str) -> Any:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text in _EMPTY:
        return _EMPTY[text]()
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[1] is not None else quoted[2]
    if not _WORD.fullmatch(text) or text.lower() in _SPECIAL:
        raise NotPlain
    return text
