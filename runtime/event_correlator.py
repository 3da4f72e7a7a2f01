"""
Which occurrences become Events, and which only raise a count: decisions without I/O.

In effect what `kubectl describe` users know from Kubernetes' own components: the same event again raises its
count; from the tenth different message of one object and reason within ten minutes on they are one event; an
object that goes on and on is slowed to one event in five minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

from runtime import timestamps
from runtime.wire import Event, EventSource, ObjectMeta, ObjectReference

T = TypeVar("T")

COMBINED = "(combined from similar events): "
SIMILAR_LIMIT = 10
"""Different messages of one object, type and reason that become combined."""
SIMILAR_SECONDS = 600.0
BURST = 25
"""Events of one object that may come at once."""
REFILL_SECONDS = 300.0
"""Until an object that used up its burst may have one more."""
CAPACITY = 2048
"""Objects and events remembered."""
DEFAULT_NAMESPACE = "default"
"""Where events of objects without a namespace are kept."""
MAX_NAME = 253

Key = tuple[str, ...]


class Occurrence(msgspec.Struct):
    """Something that happened to an object, once or several times."""

    ref: ObjectReference
    type: str
    reason: str
    message: str
    first: float
    """Unix time, as is `last`."""
    last: float
    count: int = 1

    @property
    def subject(self) -> Key:
        """The object."""
        ref = self.ref
        return (ref.api_version, ref.kind, ref.namespace, ref.name, ref.uid, ref.field_path)

    @property
    def similar(self) -> Key:
        """What events have in common that differ in their message only."""
        return (*self.subject, self.type, self.reason)

    @property
    def identity(self) -> Key:
        """What makes two occurrences the same event."""
        return (*self.similar, self.message)


class Write(msgspec.Struct, frozen=True):
    """One write to the server: the event as it shall be, and whether it is there already."""

    event: Event
    is_stored: bool
    key: Key


class _Known(msgspec.Struct):
    """An event of before."""

    name: str
    first: float
    count: int
    is_stored: bool = False


class _Similar(msgspec.Struct):
    """The different messages of late."""

    last: float
    messages: set[str] = msgspec.field(default_factory=set)


class _Bucket(msgspec.Struct):
    tokens: float
    filled_at: float


class _Recent(Generic[T]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Key, T] = OrderedDict()

    def get(self, key: Key) -> T | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Key, entry: T) -> T:
        self._entries[key] = entry
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        return entry


class Correlator:
    """The memory of one source of events. Not thread-safe."""

    def __init__(self, source: EventSource, capacity: int = CAPACITY) -> None:
        self._source = source
        self._known: _Recent[_Known] = _Recent(capacity)
        self._similar: _Recent[_Similar] = _Recent(capacity)
        self._buckets: _Recent[_Bucket] = _Recent(capacity)
        self._newest_name = 0

    def take(self, occurrence: Occurrence, now: float) -> Write | None:
        """What to write of an occurrence; None when its object has had too many. `now` in seconds of any clock."""
        key, message = self._combine(occurrence, now)
        known = self._known.get(key)
        if known is None:
            known = self._known.put(key, _Known(self._new_name(occurrence), occurrence.first, 0))
        known.count += occurrence.count
        if not self._admit(occurrence.subject, now):
            return None
        return Write(self._event(occurrence, message, known), known.is_stored, key)

    def stored(self, write: Write) -> None:
        """The server has the event: from now on it is changed instead of made again."""
        known = self._known.get(write.key)
        if known is not None and known.name == write.event.metadata.name:
            known.is_stored = True

    def _combine(self, occurrence: Occurrence, now: float) -> tuple[Key, str]:
        """Under which key and with which message an occurrence is counted."""
        similar = self._similar.get(occurrence.similar)
        if similar is None or now - similar.last > SIMILAR_SECONDS:
            similar = self._similar.put(occurrence.similar, _Similar(now))
        similar.last = now
        if occurrence.message not in similar.messages and len(similar.messages) + 1 >= SIMILAR_LIMIT:
            return occurrence.similar, COMBINED + occurrence.message
        similar.messages.add(occurrence.message)
        return occurrence.identity, occurrence.message

    def _admit(self, subject: Key, now: float) -> bool:
        bucket = self._buckets.get(subject)
        if bucket is None:
            bucket = self._buckets.put(subject, _Bucket(BURST, now))
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.filled_at) / REFILL_SECONDS)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _event(self, occurrence: Occurrence, message: str, known: _Known) -> Event:
        return Event(
            api_version="v1",  # said here, so that nobody needs to put it into the text
            kind="Event",
            metadata=ObjectMeta(name=known.name, namespace=occurrence.ref.namespace or DEFAULT_NAMESPACE),
            involved_object=occurrence.ref,
            type=occurrence.type,
            reason=occurrence.reason,
            message=message,
            source=self._source,
            first_timestamp=_text(int(known.first)),
            last_timestamp=_text(int(occurrence.last)),
            count=known.count,
            reporting_component=self._source.component,
            reporting_instance=self._source.host,
        )

    def _new_name(self, occurrence: Occurrence) -> str:
        """A name that no other event has: the object's, and the moment in nanoseconds, in hexadecimal."""
        self._newest_name = max(self._newest_name + 1, int(occurrence.first * 1e9))
        suffix = f".{self._newest_name:x}"
        name = occurrence.ref.name or occurrence.ref.kind.lower() or "unknown"
        return name[: MAX_NAME - len(suffix)].rstrip(".-") + suffix


@lru_cache(maxsize=16)
def _text(second: int) -> str:
    """A moment as events hold it: of a burst of them all have the same few."""
    return timestamps.format_seconds(datetime.fromtimestamp(second, UTC))
