"""
From a line of a watch, or an item of a list, to a typed object or a note that it can't be read.

One bad object must never cost the others, so what the model can't hold comes back as a value. The common case is
one pass of the parser over the line: type and object together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, Union

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
NOTES = frozenset({Broken, Deleted, Bookmark})
"""The types of what a line may tell instead of a readable object."""


class _DeletedLine(msgspec.Struct, gc=False, tag_field="type", tag=DELETED):
    """A line of which only the object's identity is read."""

    object: Head


class EventReader(Generic[T]):
    """Reads the objects of one kind with one decoder."""

    def __init__(self, resource: Resource[T], decoder: Decoder[T]) -> None:
        self._resource = resource
        self._decoder = decoder
        kind, self._finish = _parts_of(resource, decoder)
        self._added, modified = _line_of(ADDED, kind), _line_of(MODIFIED, kind)
        lines: Any = Union[self._added, modified, _DeletedLine]  # noqa: UP007  # of types made here
        self._decode_line: Callable[[bytes], Any] = msgspec.json.Decoder(lines).decode

    def read_line(self, line: bytes) -> tuple[str, T | Note]:
        """
        (ADDED, MODIFIED, DELETED or BOOKMARK, what it is about).

        Raises the ApiError that an ERROR event carries (Gone: list again), and DecodeError when the line is no
        event at all.
        """
        try:
            event = self._decode_line(line)
            kind = type(event)
            if kind is _DeletedLine:
                return DELETED, _deleted(event.object)
            return ADDED if kind is self._added else MODIFIED, self._finish(event.object)
        except Exception:  # noqa: BLE001  # no change, or one that can't be read: this way tells what is wrong
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


def _line_of(event: str, kind: Any) -> Any:
    """The type of a line that tells of this event."""
    return msgspec.defstruct(f"{event.title()}Line", [("object", kind)], gc=False, tag_field="type", tag=event)


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
