"""
Who hears of changes to a cache, and how one handler's failure is kept from the others.

Handlers are plain functions that only note what is to be done, usually by putting a key into a work queue: they run
on the event loop between two events, so they must be quick.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from runtime.mutation import CacheMutated, MutationGuard
from runtime.objects import Object, key_of

T = TypeVar("T", bound=Object)
T_contra = TypeVar("T_contra", bound=Object, contravariant=True)

_log = logging.getLogger(__name__)


class Handler(Protocol[T_contra]):
    """What an informer calls. Objects are shared with the cache: never change them."""

    def on_add(self, obj: T_contra, initial: bool) -> None:  # noqa: FBT001  # the seam of every handler
        """An object is there. `initial`: it was there before this handler or this process began to look."""

    def on_update(self, old: T_contra, new: T_contra) -> None:
        """An object changed; with a resync `old` is `new`."""

    def on_delete(self, obj: T_contra) -> None:
        """An object is gone. `obj` is what the cache held, the state that this handler heard of last."""


class Filtered(Generic[T]):
    """
    A handler that sees only the objects that `accepts`.

    An object that begins to be accepted is an addition, one that ceases to be is a deletion.
    """

    def __init__(self, accepts: Callable[[T], bool], handler: Handler[T]) -> None:
        self._accepts = accepts
        self._handler = handler

    def on_add(self, obj: T, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if self._accepts(obj):
            self._handler.on_add(obj, initial)

    def on_update(self, old: T, new: T) -> None:
        match self._accepts(old), self._accepts(new):
            case True, True:
                self._handler.on_update(old, new)
            case False, True:
                self._handler.on_add(new, False)
            case True, False:
                self._handler.on_delete(old)

    def on_delete(self, obj: T) -> None:
        if self._accepts(obj):
            self._handler.on_delete(obj)


class Guarded(Generic[T]):
    """In the test mode: a handler between two looks at the objects that it gets."""

    def __init__(self, handler: Handler[T], guard: MutationGuard) -> None:
        self.handler = handler
        self._guard = guard
        self._name = type(handler).__name__

    def on_add(self, obj: T, initial: bool) -> None:  # noqa: FBT001  # as Handler
        with self._watched(obj):
            self.handler.on_add(obj, initial)

    def on_update(self, old: T, new: T) -> None:
        with self._watched(old, new):
            self.handler.on_update(old, new)

    def on_delete(self, obj: T) -> None:
        with self._watched(obj):
            self.handler.on_delete(obj)

    @contextmanager
    def _watched(self, *objects: T) -> Iterator[None]:
        """Raise CacheMutated if the objects were changed before, or are by the handler."""
        self._guard.check(objects, f"somebody before {self._name}")
        try:
            yield
        finally:
            self._guard.check(objects, self._name)


class Handlers(Generic[T]):
    """
    Delivers each change to every handler.

    A handler that throws is logged with the object's name and reported to `on_failure`; the others still hear of
    the change. Only CacheMutated, the finding of a test mode, goes up to the caller.
    """

    def __init__(self, kind: str, guard: MutationGuard | None, on_failure: Callable[[], None]) -> None:
        self._kind = kind
        self._guard = guard
        self._on_failure = on_failure
        self._handlers: tuple[Handler[T], ...] = ()

    def add(self, handler: Handler[T], present: Iterable[T]) -> None:
        """From now on the handler hears of changes; first of what is present."""
        if self._guard is not None:
            handler = Guarded(handler, self._guard)
        self._handlers = (*self._handlers, handler)
        for obj in present:
            try:
                handler.on_add(obj, True)
            except Exception as error:  # noqa: BLE001  # see _failed
                self._failed(handler, obj, error)

    def remove(self, handler: Handler[T]) -> None:
        """From now on the handler hears nothing."""
        self._handlers = tuple(each for each in self._handlers if _inner(each) is not handler)

    def added(self, obj: T, *, initial: bool) -> None:
        for handler in self._handlers:
            try:
                handler.on_add(obj, initial)
            except Exception as error:  # noqa: BLE001  # see _failed; costs nothing without an error
                self._failed(handler, obj, error)

    def updated(self, old: T, new: T) -> None:
        for handler in self._handlers:
            try:
                handler.on_update(old, new)
            except Exception as error:  # noqa: BLE001  # see _failed; costs nothing without an error
                self._failed(handler, new, error)

    def deleted(self, obj: T) -> None:
        for handler in self._handlers:
            try:
                handler.on_delete(obj)
            except Exception as error:  # noqa: BLE001  # see _failed; costs nothing without an error
                self._failed(handler, obj, error)

    def _failed(self, handler: Handler[T], obj: T, error: Exception) -> None:
        """Report a handler's defect, so that the others can go on."""
        if isinstance(error, CacheMutated):
            raise error
        self._on_failure()
        name = type(_inner(handler)).__name__
        _log.error("handler.failed kind=%s object=%s handler=%s", self._kind, key_of(obj), name, exc_info=error)


def _inner(handler: Handler[T]) -> Handler[T]:
    return handler.handler if isinstance(handler, Guarded) else handler
