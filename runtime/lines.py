"""
Lines out of a stream of chunks.

A line of a megabyte arrives in dozens of chunks; looking for its end in the new chunk only, and joining once,
keeps the work proportional to the bytes.
"""

from __future__ import annotations


class LineTooLong(Exception):  # noqa: N818  # named for what happened
    """A line exceeds the limit: this is no watch stream."""


class LineSplitter:
    """Collects chunks, gives whole lines without their line ends. Empty lines are dropped."""

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk. Raises LineTooLong when one grows beyond `limit` bytes."""
        end = chunk.find(b"\n")  # not split: that looks at each byte by itself, and takes ten times as long
        self._grow(chunk if end < 0 else chunk[:end])
        if end < 0:
            return []
        lines = [b"".join(self._parts)]
        begin = end + 1
        while (end := chunk.find(b"\n", begin)) >= 0:
            lines.append(chunk[begin:end])
            begin = end + 1
        self._parts.clear()
        self._size = 0
        self._grow(chunk[begin:])
        return [line for line in lines if line]

    def _grow(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            raise LineTooLong(f"line of more than {self._limit} bytes")

    @property
    def rest(self) -> bytes:
        """The beginning of a line whose end has not come."""
        return b"".join(self._parts)
