"""
Events on objects, for `kubectl describe` and for the tools that match their texts.

Whoever has something to tell hands it over and goes on, from any thread. Sending is the lowest of all priorities:
while binds wait, events wait, and so many fit that a burst of binds loses none. Lanes keep the events of one object
in order and let a slow answer for one object hold up only its lane.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from runtime import metrics
from runtime.backoff import Backoff
from runtime.errors import (
    AlreadyExists,
    ApiError,
    DecodeError,
    NotFound,
    ServerError,
)
from runtime.event_correlator import Correlator, Occurrence, Write
from runtime.failures import OUTAGES
from runtime.objects import Object
from runtime.patches import MergePatch, Patch
from runtime.requests import Priority
from runtime.resource import Resource
from runtime.wire import Event, EventSource, ObjectReference

log = logging.getLogger(__name__)

T = TypeVar("T")

EVENTS: Resource[Event] = Resource("", "v1", "Event", "events", Event)
NORMAL = "Normal"
WARNING = "Warning"

LANES = 24
BOUND = 200_000
"""Different events that may wait: two for each pod of 100,000 that are bound at once, about 100 MB."""
MAX_REFUSALS = 12
"""Tries for one event while the server answers with errors; while it can't be reached an event waits on."""

_BACKOFF = Backoff(base=0.5, cap=10.0)

SENT = metrics.counter(
    "volcano_events_total", "Events by outcome: created, counted, filtered, refused, dropped.", ["result"]
)
_CREATED, _COUNTED = SENT.labels("created"), SENT.labels("counted")
WAITING = metrics.gauge("volcano_events_waiting", "Events that wait to be sent.")


class EventClient(Protocol):
    """The part of the API client that events need."""

    async def create(
        self, resource: Resource[T], obj: T, namespace: str | None = None, *, priority: Priority = ...
    ) -> T: ...

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        namespace: str | None,
        patch: Patch,
        *,
        priority: Priority | None = ...,
    ) -> T: ...


class EventRecorder:
    """
    The events of one component. `record` and its short forms may be called from any thread, before `run` as well.

    `run` sends until cancelled; `drain` waits until all is sent.
    """

    def __init__(
        self,
        client: EventClient,
        component: str,
        *,
        host: str = "",
        clock: Callable[[], float] = time.time,
        lanes: int = LANES,
        bound: int = BOUND,
    ) -> None:
        """`component` is the source that users see; `host` is where it runs, by default this host's name."""
        self._clock = clock
        source = EventSource(component=component, host=host or socket.gethostname())
        share = bound * 5 // 4 // lanes  # a quarter more, since objects don't spread evenly
        self._lanes = tuple(_Lane(client, Correlator(source), share) for _ in range(lanes))
        WAITING.set_function(lambda: float(self.waiting))

    def normal(self, resource: Resource[Any], obj: Object, reason: str, message: str) -> None:
        """Tell of something that went as it should."""
        self.record(reference(resource, obj), NORMAL, reason, message)

    def warning(self, resource: Resource[Any], obj: Object, reason: str, message: str) -> None:
        """Tell of something that a user should look at."""
        self.record(reference(resource, obj), WARNING, reason, message)

    def record(self, ref: ObjectReference, kind: str, reason: str, message: str) -> None:
        """Queue an event of type `kind`, `Normal` or `Warning`. Returns at once."""
        now = self._clock()
        if not message.isascii():
            message = message.encode("utf-8", "replace").decode()  # lone surrogates, of names read from a file system
        occurrence = Occurrence(ref, kind, reason, message, now, now)
        self._lanes[hash(occurrence.subject) % len(self._lanes)].add(occurrence)

    async def run(self) -> None:
        """Send what comes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(lane.run())

    async def drain(self, seconds: float) -> bool:
        """Wait until everything so far is sent, while `run` runs; False when the time did not suffice."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for lane in self._lanes:
                    await lane.wait_idle()
                return True
        return False

    @property
    def waiting(self) -> int:
        """How many different events wait."""
        return sum(lane.waiting for lane in self._lanes)


class _Lane:
    """The events of some of the objects, sent one after the other."""

    def __init__(self, client: EventClient, correlator: Correlator, bound: int) -> None:
        self._client = client
        self._correlator = correlator
        self._bound = bound
        self._is_full = False
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, ...], Occurrence] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_sending = False

    @property
    def waiting(self) -> int:
        return len(self._pending) + self._is_sending

    def add(self, occurrence: Occurrence) -> None:
        """Queue, or count with an equal one that waits. From any thread."""
        key = occurrence.identity
        with self._lock:
            waiting = self._pending.get(key)
            if waiting is not None:
                waiting.count += 1
                waiting.last = occurrence.last
                return
            is_first = not self._pending
            if len(self._pending) >= self._bound:
                self._drop(occurrence)
                return
            self._is_full = False
            self._pending[key] = occurrence
        if is_first and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, the process ends
                self._loop.call_soon_threadsafe(self._wake.set)

    def _drop(self, occurrence: Occurrence) -> None:
        SENT.labels("dropped").inc()
        if not self._is_full:
            self._is_full = True
            log.warning("too many events wait, new ones are dropped first=%s", occurrence.identity)

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        while True:
            occurrence = self._pop()
            if occurrence is None:
                self._idle.set()
                await self._wake.wait()
                self._wake.clear()
                continue
            self._idle.clear()
            try:
                await self._send(occurrence)
            except Exception:
                log.exception("event could not be sent object=%s", occurrence.subject)
            finally:
                self._is_sending = False

    async def wait_idle(self) -> None:
        while self.waiting:
            self._idle.clear()
            await self._idle.wait()

    def _pop(self) -> Occurrence | None:
        with self._lock:
            if not self._pending:
                return None
            key = next(iter(self._pending))
            self._is_sending = True
            return self._pending.pop(key)

    async def _send(self, occurrence: Occurrence) -> None:
        write = self._correlator.take(occurrence, asyncio.get_running_loop().time())
        if write is None:
            SENT.labels("filtered").inc()
            return
        refusals = failures = 0
        while refusals < MAX_REFUSALS:
            try:
                await self._write(write)
            except OUTAGES as error:
                failures += 1
                refusals += isinstance(error, ServerError)
                log.debug("event not sent yet object=%s tries=%d: %s", occurrence.subject, failures, error)
                await asyncio.sleep(_BACKOFF.pause(failures))
            except ApiError as error:
                log.debug("event refused object=%s reason=%s: %s", occurrence.subject, occurrence.reason, error)
                break
            else:
                self._correlator.stored(write)
                (_COUNTED if write.is_stored else _CREATED).inc()
                return
        SENT.labels("refused").inc()

    async def _write(self, write: Write) -> None:
        event = write.event
        with suppress(AlreadyExists, DecodeError):  # ours, from a try whose answer was lost; stored, though unreadable
            if write.is_stored:
                with suppress(NotFound):  # expired: made again below
                    await self._client.patch(
                        EVENTS, event.metadata.name, event.metadata.namespace, _count_of(event), priority=Priority.EVENT
                    )
                    return
            await self._client.create(EVENTS, event, event.metadata.namespace, priority=Priority.EVENT)


def reference(resource: Resource[Any], obj: Object, field_path: str = "") -> ObjectReference:
    """How an event names its object, or a part of it."""
    meta = obj.metadata
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        field_path=field_path,
    )


def _count_of(event: Event) -> MergePatch:
    """What changes when an event happens again; a combined one has a new message each time."""
    return MergePatch({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message})
