"""
Follows one kind on the server: list once, then watch for ever, and know when only a new list will do.

Whatever ends a watch, the next one goes on from the version reached, so an API server that restarts is not asked for
full lists by everybody. A new list is read only when the version is of no more use: 410, or a server that has lost
it. All pauses grow and are spread at random; after an outage of minutes the informers come back one by one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import msgspec

from runtime.backoff import Backoff
from runtime.client import Client
from runtime.errors import (
    ApiError,
    ConfigError,
    ConnectionFailed,
    DecodeError,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from runtime.event_reader import ADDED, BOOKMARK, DELETED, MODIFIED, NOTES, Broken, Deleted, EventReader, Note
from runtime.informer_metrics import EVENTS, InformerMetrics
from runtime.listing import PAGE_SIZE, read_all
from runtime.mutation import CacheMutated
from runtime.objects import Object
from runtime.pages import Page
from runtime.resource import Resource

T = TypeVar("T", bound=Object)
T_contra = TypeVar("T_contra", bound=Object, contravariant=True)

_log = logging.getLogger(__name__)

WATCH_SECONDS = (300, 600)
"""For how long the server is asked to keep a watch open; spread, so that not all reconnect together."""
_HASTY = 1.0
"""A watch that ends in less than this many seconds counts as a failure."""
_LASTING = 10.0
"""A watch that took events in and lasted so many seconds ends the back-off: a bookmark before each refusal doesn't."""
_MOST_ASKED = 300
"""Seconds: a server that asks for a longer pause is tried again all the same."""
_GARBLED_TRIES = 3
"""After so many watches that end in what we can't take in, a list is the way past it."""


_KNOWN = (ApiError, ConnectionFailed, ConfigError, DecodeError)
"""What the client is declared to raise; anything else is a fault in this program."""
_UNSERVED = ": the cluster doesn't serve this kind, apply its CRD; it is looked for again until it is there"
_KEEP_VERSION = (TooManyRequests, Unauthorized, Forbidden)
"""Refusals that pass, after which the version reached is as good as before."""

SPREAD_BACKOFF = Backoff(base=0.2, factor=2.0, cap=15.0, jitter=1.0)
"""After a short break everybody is back in half a second, after a long one they come spread over 15 seconds."""


class Sink(Protocol[T_contra]):
    """Where the objects go: `runtime.cache.Cache`."""

    def put(self, obj: T_contra) -> None: ...
    def delete(self, gone: Deleted) -> None: ...
    def leave_out(self, broken: Broken) -> None: ...
    async def replace(self, items: Sequence[T_contra | Broken]) -> None: ...
    def settle(self) -> None:
        """Called after each batch of changes."""


class Scope(msgspec.Struct, frozen=True):
    """Which objects of a kind are followed."""

    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""

    @property
    def is_unselective(self) -> bool:
        """Whether an ADDED event after the first list means a creation."""
        return not self.label_selector and not self.field_selector


EVERYTHING = Scope()


class Reflector(Generic[T]):
    """Lists and watches one kind, into one sink."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        reader: EventReader[T],
        sink: Sink[T],
        metrics: InformerMetrics,
        *,
        scope: Scope = EVERYTHING,
        page_size: int = PAGE_SIZE,
        backoff: Backoff = SPREAD_BACKOFF,
        watch_seconds: tuple[int, int] = WATCH_SECONDS,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._resource = resource
        self._reader = reader
        self._sink = sink
        self._metrics = metrics
        self._scope = scope
        self._page_size = page_size
        self._backoff = backoff
        self._watch_seconds = watch_seconds
        self._rand = rand
        self._failures = 0
        self.resource_version = ""
        """What the sink is complete up to; empty while a list is needed."""

    async def run(self) -> NoReturn:
        """
        Follow the kind until cancelled. No answer of the server, no lack of one, and no fault of ours ends it.

        Raises CacheMutated, the finding of a test mode.
        """
        while True:
            try:
                if not self.resource_version:
                    await self._list()
                await self._watch()
            except CacheMutated:
                raise
            except Exception as error:  # noqa: BLE001  # an informer that ends takes the whole component with it
                self._failed(error)
                await asyncio.sleep(self._pause(error))

    async def _list(self) -> None:
        """Read all pages and hand them over as one state; a list that breaks off changes nothing."""
        everything = await read_all(self._read_page, self._reader.read_object, self._page_size)
        await self._sink.replace(everything.items)
        self.resource_version = everything.resource_version
        self._metrics.lists.inc()
        self._metrics.heard(everything.resource_version)
        _log.info(
            "informer.listed resource=%s objects=%d version=%s waited=%.2f decoded=%.2f",
            self._resource.qualified_name,
            len(everything.items),
            everything.resource_version,
            everything.waited,
            everything.decoded,
        )

    async def _read_page(self, limit: int, token: str) -> Page[msgspec.Raw]:
        """One page, its objects as they came."""
        texts: Resource[msgspec.Raw] = self._resource.with_model(msgspec.Raw)
        return await self._client.list_page(
            texts,
            self._scope.namespace,
            label_selector=self._scope.label_selector,
            field_selector=self._scope.field_selector,
            limit=limit,
            continue_=token,
            decode=lambda text: text,
        )

    async def _watch(self) -> None:
        """Apply events until the server or the connection ends the stream."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        has_progress = False
        shortest, longest = self._watch_seconds
        stream = self._client.watch(
            self._resource,
            self._scope.namespace,
            label_selector=self._scope.label_selector,
            field_selector=self._scope.field_selector,
            resource_version=self.resource_version,
            timeout=int(shortest + (longest - shortest) * self._rand()),
        )
        self._metrics.watches.inc()
        try:
            async with stream as lines:
                async for batch in lines.batches():
                    self._take(batch, loop)
                    has_progress = True
            has_progress = True  # a quiet watch that the server ended in good order
        finally:
            lasted = loop.time() - began
            if has_progress and lasted >= _LASTING:
                self._failures = 0
        if lasted < _HASTY:
            raise ConnectionFailed(f"watch of {self._resource.qualified_name} ended after {lasted:.1f} s")

    def _take(self, batch: Sequence[bytes], loop: asyncio.AbstractEventLoop) -> None:
        """Apply a batch of lines. What an error in its middle leaves behind is a version that fits the sink."""
        began = loop.time()
        read: Callable[[bytes], tuple[str, Any]] = self._reader.read_line
        put = self._sink.put
        version = self.resource_version
        created: T | None = None
        counts = {ADDED: 0, MODIFIED: 0, DELETED: 0, BOOKMARK: 0}
        try:
            for line in batch:
                event, news = read(line)
                counts[event] += 1
                if type(news) in NOTES:  # each event passes here, and isinstance takes three times as long
                    version = self._take_note(news) or version
                    continue
                put(news)
                version = news.metadata.resource_version or version
                if event == ADDED:
                    created = news
        finally:
            self.resource_version = version
            self._sink.settle()
            self._metrics.heard(version)
            for event, count in counts.items():
                if count:
                    EVENTS.labels(self._metrics.resource, event).inc(count)
        self._metrics.handling.observe(loop.time() - began)
        if created is not None and self._scope.is_unselective:
            self._metrics.created(created)

    def _take_note(self, note: Note) -> str:
        """Hand on what is no object; the version that it brings."""
        if isinstance(note, Deleted):
            self._sink.delete(note)
        elif isinstance(note, Broken):
            self._sink.leave_out(note)
        return note.resource_version

    def _failed(self, error: Exception) -> None:
        """Count and log a failure, and decide whether the version reached is still of use."""
        if self._client.transport.is_closed:  # the process ends, and this watch is cancelled next
            _log.debug("informer.stopped resource=%s", self._resource.qualified_name)
            return
        self._failures += 1
        self._metrics.failed(error)
        name = self._resource.qualified_name
        if not isinstance(error, _KNOWN):
            _log.error("informer.failed resource=%s failures=%d", name, self._failures, exc_info=error)
        if self.resource_version and self._needs_list(error):
            _log.info("informer.relist resource=%s version=%s reason=%s", name, self.resource_version, error)
            self.resource_version = ""
        elif isinstance(error, _KNOWN):
            hint = _UNSERVED if isinstance(error, NotFound) else ""
            _log.warning("informer.failed resource=%s failures=%d error=%s%s", name, self._failures, error, hint)

    def _needs_list(self, error: Exception) -> bool:
        """
        Whether to list again: after 410, or any other refusal that waiting won't cure.

        A server whose data went back in time (restored from a backup) says that our version is too large.
        """
        if isinstance(error, ServerError):
            details = error.status.details
            causes = details.causes if details else ()
            return any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
        if isinstance(error, ApiError):
            return not isinstance(error, _KEEP_VERSION)
        return not isinstance(error, ConnectionFailed | ConfigError) and self._failures >= _GARBLED_TRIES

    def _pause(self, error: Exception) -> float:
        """Seconds until the next try."""
        pause = self._backoff.pause(self._failures, self._rand)
        asked = min(error.status.retry_after, _MOST_ASKED) if isinstance(error, ApiError) else 0
        return max(pause, asked * (1 + self._backoff.jitter * self._rand()))
