"""
A test mode that finds whoever changes a cached object.

Cached objects are frozen, but their maps (labels, annotations, resource lists) are plain dicts, and a reader that
writes into one changes the object for everybody, silently. With `STROMBOLI_CHECK_CACHE=1` in the environment every
cached object is hashed when it enters the cache and again at each border where others touched it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from runtime.objects import Key, Object, key_of

ENVIRONMENT = "STROMBOLI_CHECK_CACHE"


class CacheMutated(AssertionError):  # noqa: N818  # named for what happened
    """Somebody changed a cached object. It must build a new one instead: see `runtime.edit`."""


def is_enabled() -> bool:
    """Whether the environment asks for the checks. They cost an encoding of every object at every border."""
    return os.environ.get(ENVIRONMENT, "") not in {"", "0"}


class MutationGuard:
    """The hashes of the objects in one cache."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._seals: dict[Key, tuple[Object, int]] = {}

    def seal(self, obj: Object) -> None:
        """Remember an object as it enters the cache."""
        self._seals[key_of(obj)] = (obj, _digest(obj))

    def forget(self, key: Key) -> None:
        """The object left the cache."""
        self._seals.pop(key, None)

    def check(self, objects: Iterable[Object], suspect: str) -> None:
        """Raise CacheMutated if one of these objects is not as it was sealed. `suspect` says who had it last."""
        for obj in objects:
            sealed = self._seals.get(key_of(obj))
            if sealed is not None and sealed[0] is obj and sealed[1] != _digest(obj):
                raise CacheMutated(f"{self._kind} {key_of(obj)} in the cache was changed in place, by {suspect}")

    def check_all(self, suspect: str) -> None:
        """As `check`, for every object in the cache."""
        self.check([obj for obj, _ in self._seals.values()], suspect)


def _digest(obj: Object) -> int:
    return hash(msgspec.json.encode(obj))
