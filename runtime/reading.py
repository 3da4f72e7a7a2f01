"""Single objects out of answers, with errors that name the object and the field that doesn't fit."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from runtime.decoding import decoder_of
from runtime.errors import DecodeError
from runtime.nesting import Cut
from runtime.objects import Key
from runtime.resource import Resource
from runtime.wire import Head

T = TypeVar("T")

_head = msgspec.json.Decoder(Head)

MALFORMED = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a decoder raises over a text: no JSON, not the model's, no UTF-8, or nested deeper than it can follow."""


def read_object(resource: Resource[T], text: bytes | msgspec.Raw) -> T:
    """Decode one object. Raises DecodeError naming it and the field that doesn't fit."""
    try:
        return decoder_of(resource.model).decode(text)
    except MALFORMED as error:
        raise explain(resource, head_of(text), error) from error


def head_of(text: bytes | msgspec.Raw) -> Head:
    """Type and identity of an object; empty when not even that can be read."""
    try:
        try:
            return _head.decode(text)
        except RecursionError:
            return _head.decode(Cut(bytes(text)).text)
    except MALFORMED:
        return Head()


def explain(resource: Resource[Any], head: Head, error: Exception) -> DecodeError:
    """A DecodeError that says `Kind namespace/name: field: what is wrong`."""
    reason = "nested deeper than can be read" if isinstance(error, RecursionError) else str(error)
    problem, _, path = reason.partition(" - at `")
    field = path.removesuffix("`").removeprefix("$").removeprefix(".")
    name = str(Key(head.metadata.namespace, head.metadata.name)) or "(no name)"
    where = f"{resource.kind} {name}: {field}" if field else f"{resource.kind} {name}"
    return DecodeError(f"{where}: {problem}", field=field)
