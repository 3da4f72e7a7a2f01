"""
From a line of a watch, or an item of a list, to a typed object or a note that it can't be read.

One bad object must never cost the others, so what the model can't hold comes back as a value. The common case is
one pass of the parser over the line: type and object together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from runtime.decoding import ObjectDecoder
from runtime.errors import DecodeError
from runtime.interning import InterningDecoder
from runtime.objects import Key
from runtime.reading import explain, head_of
from runtime.resource import Resource
from runtime.watching import read_event
from runtime.wire import Head

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_log = logging.getLogger(__name__)

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"
_STARTS_DELETED = b'{"type":"DELETED",'


class Decoder(Protocol[T_co]):
    """Reads one object: `runtime.decoding.ObjectDecoder` or `runtime.interning.InterningDecoder`."""

    def decode(self, data: bytes | msgspec.Raw, /) -> T_co: ...


class Broken(msgspec.Struct, frozen=True):
    """An object that can't be read: its identity and why."""

    key: Key
    uid: str
    resource_version: str
    error: DecodeError


class Deleted(msgspec.Struct, frozen=True):
    """An object that is gone; of its last state nothing but the identity is read."""

    key: Key
    uid: str
    resource_version: str


class Bookmark(msgspec.Struct, frozen=True):
    """No object: the stream is complete up to this version."""

    resource_version: str


Note = Broken | Deleted | Bookmark
NOTES = (Broken, Deleted, Bookmark)
"""What a line may tell instead of a readable object."""


class _HeadLine(msgspec.Struct, gc=False):
    """A line of which only the object's identity is read."""

    type: str
    object: Head


_head_line = msgspec.json.Decoder(_HeadLine)


class EventReader(Generic[T]):
    """Reads the objects of one kind with one decoder."""

    def __init__(self, resource: Resource[T], decoder: Decoder[T]) -> None:
        self._resource = resource
        self._decoder = decoder
        kind, self._finish = _parts_of(resource, decoder)
        event = msgspec.defstruct("WatchLine", [("type", str), ("object", kind)], gc=False)
        self._line: msgspec.json.Decoder[Any] = msgspec.json.Decoder(event)

    def read_line(self, line: bytes) -> tuple[str, T | Note]:
        """
        (ADDED, MODIFIED, DELETED or BOOKMARK, what it is about).

        Raises the ApiError that an ERROR event carries (Gone: list again), and DecodeError when the line is no
        event at all.
        """
        try:
            if line.startswith(_STARTS_DELETED):
                return DELETED, _deleted(_head_line.decode(line).object)
            event = self._line.decode(line)
            kind = event.type
            if kind in (MODIFIED, ADDED):  # two comparisons are cheaper than a set
                return kind, self._finish(event.object)
        except Exception:  # noqa: BLE001  # read again below, which says what is wrong
            return self._read_again(line)
        return self._read_again(line)

    def read_object(self, raw: msgspec.Raw) -> T | Broken:
        """An item of a list."""
        try:
            return self._decoder.decode(raw)
        except Exception as error:  # noqa: BLE001  # whatever a decoder throws concerns this one object
            return self._broken(raw, error)

    def _read_again(self, line: bytes) -> tuple[str, T | Note]:
        """The careful way, for bookmarks, errors, and objects that the fast way refused."""
        event = read_event(line)
        if event.type in {ADDED, MODIFIED}:
            return event.type, self.read_object(event.object)
        head = head_of(event.object)
        if event.type == DELETED:
            return DELETED, _deleted(head)
        if event.type != BOOKMARK:
            _log.warning("watch.event_ignored resource=%s type=%s", self._resource.qualified_name, event.type)
        return BOOKMARK, Bookmark(head.metadata.resource_version)

    def _broken(self, raw: msgspec.Raw, error: Exception) -> Broken:
        head = head_of(raw)
        meta = head.metadata
        problem = explain(self._resource, head, error)
        return Broken(Key(meta.namespace, meta.name), meta.uid, meta.resource_version, problem)


def _parts_of(resource: Resource[T], decoder: Decoder[T]) -> tuple[Any, Callable[[Any], T]]:
    """(type to decode to inside an event, what turns its values into objects)."""
    if isinstance(decoder, InterningDecoder):
        return decoder.shadow, decoder.finish
    if isinstance(decoder, ObjectDecoder):
        return resource.model, lambda obj: obj
    return msgspec.Raw, decoder.decode


def _deleted(head: Head) -> Deleted:
    meta = head.metadata
    return Deleted(Key(meta.namespace, meta.name), meta.uid, meta.resource_version)
