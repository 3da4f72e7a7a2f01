"""
A cache of one kind that follows the API server, and tells its handlers what changed.

Readers use `lister`; reconcilers are woken by handlers that put keys into work queues. Objects are decoded once, frozen
and shared by all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from runtime import mutation
from runtime.backoff import Backoff
from runtime.cache import Cache, Transform
from runtime.client import Client
from runtime.decoding import decoder_of
from runtime.errors import DecodeError
from runtime.event_reader import Decoder, EventReader
from runtime.handlers import Handler
from runtime.informer_metrics import InformerMetrics
from runtime.lister import Indexer, Lister
from runtime.listing import PAGE_SIZE
from runtime.mutation import MutationGuard
from runtime.objects import Key, Object
from runtime.reflector import SPREAD_BACKOFF, WATCH_SECONDS, Reflector, Scope
from runtime.resource import Resource

T = TypeVar("T", bound=Object)


class Registration(Generic[T]):
    """A handler's place at an informer."""

    def __init__(self, informer: Informer[T], handler: Handler[T]) -> None:
        self._informer = informer
        self._handler = handler

    @property
    def has_synced(self) -> bool:
        """Whether every object of the first list was delivered to this handler."""
        return self._informer.has_synced

    async def wait_synced(self) -> None:
        """Wait until `has_synced`."""
        await self._informer.wait_synced()

    def remove(self) -> None:
        """Stop calling the handler."""
        self._informer.remove_handler(self._handler)


class Informer(Generic[T]):
    """
    Follows the objects of one kind, all of them or those that namespace and selectors leave.

    `decoder` may intern parts (`runtime.interning`). `transform` may slim an object or drop it (None), but must keep
    name, namespace, uid, resourceVersion. `on_unreadable` hears of objects that can't be read (see `runtime.cache`);
    `unreadable` names those of the moment. `resync`, in seconds, repeats all objects to the handlers as updates.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        transform: Transform[T] | None = None,
        decoder: Decoder[T] | None = None,
        indexers: Mapping[str, Indexer[T]] | None = None,
        page_size: int = PAGE_SIZE,
        resync: float | None = None,
        on_unreadable: Callable[[Key, DecodeError], None] | None = None,
        backoff: Backoff = SPREAD_BACKOFF,
        watch_seconds: tuple[int, int] = WATCH_SECONDS,
    ) -> None:
        self.resource = resource
        self._resync = resync
        self._metrics = InformerMetrics.of(resource.qualified_name)
        self._cache: Cache[T] = Cache(
            resource.kind,
            self._metrics,
            transform=transform,
            indexers=indexers,
            guard=MutationGuard(resource.kind) if mutation.is_enabled() else None,
            on_unreadable=on_unreadable,
        )
        self._is_running = False
        self._reflector = Reflector(
            client,
            resource,
            EventReader(resource, decoder or decoder_of(resource.model)),
            self._cache,
            self._metrics,
            scope=Scope(namespace, label_selector, field_selector),
            page_size=page_size,
            backoff=backoff,
            watch_seconds=watch_seconds,
        )

    @property
    def lister(self) -> Lister[T]:
        """The objects. Before `has_synced` some are missing."""
        return self._cache.store

    @property
    def unreadable(self) -> Mapping[Key, DecodeError]:
        """Objects whose present state on the server can't be read, and why. Older states may be in the lister."""
        return self._cache.unreadable

    @property
    def resource_version(self) -> str:
        """What the cache is complete up to; empty before the first list and while a new one is needed."""
        return self._reflector.resource_version

    @property
    def has_synced(self) -> bool:
        """Whether the whole first list is in the lister and was delivered to every handler."""
        return self._cache.synced.is_set()

    async def wait_synced(self) -> None:
        """Wait until `has_synced`."""
        await self._cache.synced.wait()

    def add_handler(self, handler: Handler[T]) -> Registration[T]:
        """Call the handler for what is there already, now, and from now on for each change."""
        self._cache.handlers.add(handler, self.lister)
        return Registration(self, handler)

    def remove_handler(self, handler: Handler[T]) -> None:
        """Stop calling a handler."""
        self._cache.handlers.remove(handler)

    def add_indexers(self, indexers: Mapping[str, Indexer[T]]) -> None:
        """Declare further indexes. Raises ValueError when a name is taken by another function."""
        self._cache.store.add_indexers(indexers)

    async def run(self) -> None:
        """
        Follow the server until cancelled. The objects stay readable afterwards.

        Raises RuntimeError when it runs already, and CacheMutated in the test mode; nothing else ends it.
        """
        if self._is_running:
            raise RuntimeError(f"the informer of {self.resource.qualified_name} runs already")
        self._is_running = True
        self._metrics.objects.inc(len(self.lister))
        resync = asyncio.ensure_future(self._resync_forever())
        follow = asyncio.ensure_future(self._reflector.run())
        try:
            done, _ = await asyncio.wait((resync, follow), return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in (resync, follow):
                task.cancel()
            await asyncio.gather(resync, follow, return_exceptions=True)
            self._is_running = False
            self._metrics.objects.dec(len(self.lister))

    def check_cache(self, suspect: str) -> None:
        """In the test mode of `runtime.mutation`: raise CacheMutated if an object was changed in place."""
        self._cache.check(suspect)

    async def _resync_forever(self) -> None:
        while self._resync is not None:
            await asyncio.sleep(self._resync)
            await self._cache.resync()
