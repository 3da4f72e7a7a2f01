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
        first, *lines = chunk.split(b"\n")
        self._parts.append(first)
        self._size += len(first)
        if self._size > self._limit:
            raise LineTooLong(f"line of more than {self._limit} bytes")
        if not lines:
            return []
        lines.insert(0, b"".join(self._parts))
        last = lines.pop()
        self._parts = [last]
        self._size = len(last)
        return [line for line in lines if line]

    @property
    def rest(self) -> bytes:
        """The beginning of a line whose end has not come."""
        return b"".join(self._parts)
