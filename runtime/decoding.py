"""
Decoding of objects in which Go wrote `null` for an empty list, map or struct.

A model takes `null` only where absent has a meaning of its own; Go's encoder also writes it for a nil slice
(`names: null` in a node's images) and older ones for a zero time in every template. The fast path stays a
plain typed decode; an object that it refuses is read once more with its nulls dropped the way the API server
drops them: properties and map values go, list items stay and are an error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

_anything = msgspec.json.Decoder()


class ObjectDecoder(Generic[T]):
    """A typed JSON decoder for one model, in place of `msgspec.json.Decoder(model)`."""

    __slots__ = ("_decode", "_model")

    def __init__(self, model: type[T]) -> None:
        self._model = model
        self._decode = msgspec.json.Decoder(model).decode

    def decode(self, data: bytes | bytearray | memoryview | msgspec.Raw) -> T:
        """
        The object that the JSON text describes.

        Raises msgspec.DecodeError for text that is no JSON, and msgspec.ValidationError, with the field's path,
        for a value that the model can't hold even with nulls dropped. Raises RecursionError for a text that is
        nested deeper than the interpreter can follow.
        """
        try:
            return self._decode(data)
        except msgspec.ValidationError as refused:
            document = _anything.decode(data)
            pruned, dropped = _without_nulls(document)
            if not dropped:
                raise
            try:
                return msgspec.convert(pruned, self._model)
            except msgspec.ValidationError as error:
                raise error from refused


def decoder_of(model: type[T]) -> ObjectDecoder[T]:
    """The shared decoder of a model. Building one resolves every type below the model, so it is done once."""
    key: Any = model  # mypy takes type[T] for unhashable
    decoder: ObjectDecoder[T] = _kept(key)
    return decoder


@lru_cache(maxsize=256)
def _kept(model: Any) -> ObjectDecoder[Any]:
    return ObjectDecoder(model)


def without_nulls(value: Any) -> Any:
    """Decoded JSON without null properties and map values; lists keep theirs. Nothing is changed in place."""
    return _without_nulls(value)[0]


def _without_nulls(value: Any) -> tuple[Any, bool]:
    """(the value without nulls, whether there were any)."""
    if isinstance(value, dict):
        pruned = {key: _without_nulls(item) for key, item in value.items() if item is not None}
        dropped = len(pruned) < len(value) or any(found for _, found in pruned.values())
        return ({key: item for key, (item, _) in pruned.items()}, True) if dropped else (value, False)
    if isinstance(value, list):
        items = [_without_nulls(item) for item in value]
        return ([item for item, _ in items], True) if any(found for _, found in items) else (value, False)
    return value, False
