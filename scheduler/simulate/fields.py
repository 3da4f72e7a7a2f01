"""Fields that a model doesn't have: a misspelt one would silently mean nothing."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from msgspec import inspect

_TYPE_META = ("apiVersion", "kind")


def unknown_fields(document: Any, model: Any) -> Iterator[str]:
    """Each as a text with its path: `spec.minavailable, do you mean minAvailable?`."""
    body = {key: value for key, value in document.items() if key not in _TYPE_META}
    yield from _walk(body, _info(model), "")


@lru_cache(maxsize=64)
def _info(model: Any) -> inspect.Type:
    return inspect.type_info(model)


def _walk(value: Any, found: inspect.Type, path: str) -> Iterator[str]:
    if isinstance(found, inspect.UnionType):
        found = next((each for each in found.types if isinstance(each, inspect.StructType)), found.types[0])
    if isinstance(found, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in found.fields}
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in fields:
                yield from _walk(item, fields[key], here)
            else:
                close = get_close_matches(str(key), fields, n=1) or [
                    name for name in fields if name.lower() == str(key).lower()
                ]
                yield f"{here}{f', do you mean {close[0]}?' if close else ''}"
    elif isinstance(found, inspect.VarTupleType) and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, found.item_type, f"{path}[{number}]")
    elif isinstance(found, inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, found.value_type, f"{path}.{key}")
