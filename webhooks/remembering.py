"""
For how long judgements are remembered: until so many bytes of requests have come since the last time all were forgotten.

Whoever may create a job may send 3 MB at a time, no two alike. A bound on the number of things remembered says nothing
of their size, and measuring each would cost more than to judge again, now and then, what comes all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakSet

from api import resources

BUDGET: Final = 16 * 1024 * 1024
"""Bytes of requests. Decoded they take up to eight times as much."""


class Clearable(Protocol):
    """Something that remembers."""

    def clear(self) -> None: ...


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


C = TypeVar("C", bound=_Cached)

_functions: list[Callable[[], None]] = [resources.is_extended.cache_clear, resources.is_counted.cache_clear]
_others: WeakSet[Any] = WeakSet()
_heard = 0


def forgetful(cached: C) -> C:
    """A function behind `functools.lru_cache` that forgets with the others."""
    forget_by(cached.cache_clear)
    return cached


def forget_by(clear: Callable[[], None]) -> None:
    """Call this, too, as long as the process lives: for memories that belong to a function."""
    _functions.append(clear)


def forget_with_others(memory: Clearable) -> None:
    """Clear this, too, as long as somebody holds it."""
    _others.add(memory)


def heard(size: int) -> None:
    """A request of so many bytes has come. To be called before it is judged."""
    global _heard  # noqa: PLW0603  # one process, one memory
    _heard += size
    if _heard > BUDGET:
        _heard = size
        forget()


def forget() -> None:
    """Everything."""
    for clear in _functions:
        clear()
    for memory in tuple(_others):
        memory.clear()
