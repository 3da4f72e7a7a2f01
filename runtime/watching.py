"""Watch streams: the events in their lines, and the error that a server puts into one."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from runtime.errors import ApiError, DecodeError, from_status
from runtime.nesting import Cut
from runtime.reading import MALFORMED, read_object
from runtime.resource import Resource
from runtime.wire import Status, Wire

T = TypeVar("T")


class WatchEvent(Wire, frozen=True, gc=False):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the object's text."""

    type: str
    object: msgspec.Raw


class Change(msgspec.Struct, Generic[T], frozen=True):
    """A typed event: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: T


_event = msgspec.json.Decoder(WatchEvent)
_status = msgspec.json.Decoder(Status)


def read_event(line: bytes) -> WatchEvent:
    """
    Split a line into type and object.

    Raises the ApiError that an ERROR event carries (Gone: list again), DecodeError when the line is no event.
    """
    try:
        event = _split(line)
    except MALFORMED as error:
        raise DecodeError(f"not a watch event: {error}: {line[:200]!r}") from error
    if event.type == "ERROR":
        raise _failure(event.object)
    return event


def read_change(resource: Resource[T], line: bytes) -> Change[T]:
    """A line as a typed event. Raises as `read_event`, and DecodeError naming an object that doesn't fit."""
    event = read_event(line)
    return Change(event.type, read_object(resource, event.object))


def _split(line: bytes) -> WatchEvent:
    """Type and text, however deep the object is nested: that is the concern of whoever decodes it."""
    try:
        return _event.decode(line)
    except RecursionError:
        cut = Cut(line)
        event = _event.decode(cut.text)
        return WatchEvent(type=event.type, object=msgspec.Raw(cut.restored(bytes(event.object))))


def _failure(raw: msgspec.Raw) -> ApiError:
    try:
        return from_status(_status.decode(raw))
    except MALFORMED:
        return from_status(Status(status="Failure", code=500, message=f"the watch ended: {bytes(raw)[:200]!r}"))
