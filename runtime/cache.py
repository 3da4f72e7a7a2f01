"""
One kind's objects as the server has them, and what changed when the server speaks.

Pure bookkeeping without I/O: it takes watch events and whole lists in, keeps the store, and tells the handlers. Rules:

- Each deletion is told exactly once, also one that only a later list shows, also when the name was taken again in
  between: an object with a new uid is a deletion and an addition.
- What can't be read (or makes the transform or an indexer throw) is reported and left out. If an older state of the
  same object is in the cache, it stays: taking it out would look like a deletion, upon which controllers delete
  children and the scheduler gives away resources that are in use. Its deletion, or its next readable state, is told
  as for any other.
- The transform may slim an object (not its name, namespace, uid and resourceVersion) or drop it by returning None;
  one that is dropped after it was kept is a deletion.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from runtime.cooperation import cooperate
from runtime.errors import DecodeError
from runtime.event_reader import Broken, Deleted
from runtime.handlers import Handlers
from runtime.informer_metrics import InformerMetrics
from runtime.lister import Indexer, Store
from runtime.mutation import MutationGuard
from runtime.objects import Key, Object, key_of

T = TypeVar("T", bound=Object)

Transform = Callable[[T], T | None]

_BEFORE = "somebody since its last change"
"""Who is suspected of a change that shows when an object leaves the cache."""

_log = logging.getLogger(__name__)


class Cache(Generic[T]):
    """The store of an informer and the rules that keep it."""

    def __init__(
        self,
        kind: str,
        metrics: InformerMetrics,
        *,
        transform: Transform[T] | None = None,
        indexers: Mapping[str, Indexer[T]] | None = None,
        guard: MutationGuard | None = None,
        on_unreadable: Callable[[Key, DecodeError], None] | None = None,
    ) -> None:
        self.store: Store[T] = Store(indexers)
        self.handlers: Handlers[T] = Handlers(kind, guard, metrics.handler_failures.inc)
        self.unreadable: dict[Key, DecodeError] = {}
        """Objects on the server whose present state is not in the store, and why."""
        self.synced = asyncio.Event()
        """Set when the first list is in the store and was told to every handler."""
        self._kind = kind
        self._growth = 0
        """How many more objects there are than the metric says."""
        self._metrics = metrics
        self._transform = transform
        self._guard = guard
        self._on_unreadable = on_unreadable

    def put(self, obj: T, *, initial: bool = False) -> None:
        """Take a new state in. `initial`: of the first list."""
        key = key_of(obj)
        old = self.store.get(key)
        if old is not None:
            before, meta = old.metadata, obj.metadata
            if before.uid != meta.uid:
                self._remove(key, old)
                old = None
            elif before.resource_version == meta.resource_version != "":
                self.unreadable.pop(key, None)
                return  # a list shows again what the watch has brought
        try:
            kept = obj if self._transform is None else self._transform(obj)
            if kept is not None:
                self.store.set(key, kept, old)
        except Exception as error:  # noqa: BLE001  # a defect shown by one object must not stop the others
            self._leave_out(key, DecodeError(f"{self._kind} {key}: {type(error).__name__}: {error}"))
            return
        if self.unreadable:
            self.unreadable.pop(key, None)
        if kept is not None:
            self._tell(old, kept, initial=initial)
        elif old is not None:
            self._remove(key, old)

    def delete(self, gone: Deleted) -> None:
        """Take an object's end in. That of a former namesake is no news."""
        present = self.store.get(gone.key)
        if present is not None and gone.uid and present.metadata.uid != gone.uid:
            return
        self.unreadable.pop(gone.key, None)
        if present is not None:
            self._remove(gone.key, present)

    def leave_out(self, broken: Broken) -> None:
        """Report what can't be read. The last good state of the same object stays, of a former namesake it goes."""
        present = self.store.get(broken.key)
        if present is not None and broken.uid and present.metadata.uid != broken.uid:
            self._remove(broken.key, present)
        self._leave_out(broken.key, broken.error)

    async def replace(self, items: Iterable[T | Broken]) -> None:
        """
        Take a whole list in: tell deletions first, then additions and updates.

        Lets the event loop run in between: readers then see a mixture, as they do between two watch events.
        """
        listed = list(items)
        try:
            await self._delete_all_but({item.key if isinstance(item, Broken) else key_of(item) for item in listed})
            await self._take_all(listed)
        finally:
            self.settle()
        self.synced.set()

    def settle(self) -> None:
        """Publish the number of objects: once for many changes, as a metric costs as much as a change."""
        self._metrics.objects.inc(self._growth)
        self._growth = 0

    async def _take_all(self, listed: Iterable[T | Broken]) -> None:
        initial = not self.synced.is_set()
        for item in listed:
            if isinstance(item, Broken):
                self.leave_out(item)
            else:
                self.put(item, initial=initial)
            await cooperate()

    async def _delete_all_but(self, keys: set[Key]) -> None:
        for key in self.unreadable.keys() - keys:
            del self.unreadable[key]
        for key in self.store.keys():  # noqa: SIM118  # iterating a store gives objects
            present = self.store.get(key)
            if key not in keys and present is not None:
                self._remove(key, present)
                await cooperate()

    async def resync(self) -> None:
        """Tell every handler of every object again, as an update without a change."""
        for key in self.store.keys():  # noqa: SIM118  # iterating a store gives objects
            obj = self.store.get(key)
            if obj is not None:
                self.handlers.updated(obj, obj)
            await cooperate()

    def check(self, suspect: str) -> None:
        """In the test mode: raise CacheMutated if an object was changed in place."""
        if self._guard is not None:
            self._guard.check_all(suspect)

    def _tell(self, old: T | None, new: T, *, initial: bool) -> None:
        if self._guard is not None:
            self._pass(self._guard, old, new)
        if old is not None:
            self.handlers.updated(old, new)
        else:
            self._growth += 1
            self.handlers.added(new, initial=initial)

    def _remove(self, key: Key, present: T) -> None:
        self.store.remove(key)
        self._growth -= 1
        if self._guard is not None:
            self._guard.check((present,), _BEFORE)
        self.handlers.deleted(present)
        if self._guard is not None:
            self._guard.forget(key)

    def _leave_out(self, key: Key, error: DecodeError) -> None:
        if str(self.unreadable.get(key)) == str(error):
            return  # each change of an object repeats its old fault; once is enough
        kept = "last_good" if key in self.store else "nothing"
        _log.error("object.unreadable kind=%s object=%s cached=%s error=%s", self._kind, key, kept, error)
        self.unreadable[key] = error
        self._metrics.unreadable.inc()
        if self._on_unreadable is not None:
            try:
                self._on_unreadable(key, error)
            except Exception:  # noqa: BLE001  # a reporter must not stop the informer
                self._metrics.handler_failures.inc()
                _log.exception("handler.failed kind=%s object=%s handler=on_unreadable", self._kind, key)

    @staticmethod
    def _pass(guard: MutationGuard, leaving: T | None, entering: T) -> None:
        """In the test mode: look at what leaves the cache, and remember what enters it."""
        if leaving is not None:
            guard.check((leaving,), _BEFORE)
        guard.seal(entering)
