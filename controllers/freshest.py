"""
Reading one's own writes.

A cache lags behind the server by some milliseconds, so a reconciler that runs again at once would see the object as it
was before its own write and write it a second time. What the server answered to a write is kept here until the cache
has it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from runtime.objects import Key, Object, key_of

T = TypeVar("T", bound=Object)


class Freshest(Generic[T]):
    """The newest known state of objects of one kind: the cache's, or what the last write gave."""

    def __init__(self) -> None:
        self._written: dict[Key, T] = {}

    def __len__(self) -> int:
        return len(self._written)

    def note(self, obj: T) -> None:
        """Keep what the server answered to a write."""
        self._written[key_of(obj)] = obj

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._written.pop(key, None)

    def is_written(self, obj: T) -> bool:
        """Whether this is what the last write gave: no news for who wrote it."""
        written = self._written.get(key_of(obj))
        return written is not None and (written.metadata.uid, written.metadata.resource_version) == (
            obj.metadata.uid,
            obj.metadata.resource_version,
        )

    def of(self, cached: T) -> T:
        """The newer one of what is cached and what was written; an object of another UID is never taken for it."""
        key = key_of(cached)
        written = self._written.get(key)
        if written is None:
            return cached
        if written.metadata.uid == cached.metadata.uid and _version(written) > _version(cached):
            return written
        del self._written[key]
        return cached


def _version(obj: Object) -> int:
    """The resourceVersion as a number; the server promises that they can be compared."""
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() else 0
