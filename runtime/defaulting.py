"""
Schema defaults applied locally, by the API server's rule.

Absent and null properties get their default, nulls without one disappear, and nothing happens outside the
objects that are there. Used for objects that tests and tools build; what the server stored has them already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

M = TypeVar("M", bound=msgspec.Struct)


class Node(msgspec.Struct, frozen=True):
    """The defaults at one place of a schema, and the places below it that have some."""

    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Default by property."""
    properties: Mapping[str, Node] = msgspec.field(default_factory=dict)
    items: Node | None = None
    additional: Node | None = None
    """For the values of a map."""


def apply(value: Any, node: Node | None) -> Any:
    """Decoded JSON with defaults filled in. Every container is a new one: neither value nor defaults are shared."""
    if isinstance(value, dict):
        return _apply_to_object(value, node or _NOTHING)
    if isinstance(value, list | tuple):
        return [apply(item, node.items if node else None) for item in value]
    return value


_NOTHING = Node()


def _apply_to_object(value: dict[str, Any], node: Node) -> dict[str, Any]:
    present = {key: item for key, item in value.items() if item is not None}
    absent = {key: default for key, default in node.values.items() if key not in present}
    return {key: apply(item, node.properties.get(key, node.additional)) for key, item in {**present, **absent}.items()}


def fill(obj: M, node: Node) -> M:
    """A model's object with defaults filled in."""
    return msgspec.convert(apply(msgspec.to_builtins(obj), node), type(obj))
