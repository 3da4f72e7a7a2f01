"""
Walking schemas: which keywords hold further schemas, and which hold values of the field.

A property may be called `default` or `items`; only code that knows where names end and keywords begin
may look into a schema, so that knowledge stands here once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from codegen.project import Schema

_NAMED = ("properties",)
_SINGLE = ("items", "additionalProperties", "not")
_LISTED = ("allOf", "anyOf", "oneOf")
JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
"""Keywords under which schemas only restrict values: no types, defaults or descriptions there."""

SCALARS = ("boolean", "integer", "number", "string")
TYPES = ("array", "object", *SCALARS)


def map_children(node: Schema, change: Callable[[Schema], Any]) -> Schema:
    """A copy of the node with each schema right below it replaced by `change(schema)`."""
    copy = dict(node)
    for key in _NAMED:
        if isinstance(node.get(key), Mapping):
            copy[key] = {name: _changed(child, change) for name, child in node[key].items()}
    for key in _SINGLE:
        if key in node:
            copy[key] = _changed(node[key], change)
    for key in _LISTED:
        if isinstance(node.get(key), list):
            copy[key] = [_changed(child, change) for child in node[key]]
    return copy


def _changed(child: Any, change: Callable[[Schema], Any]) -> Any:
    return change(child) if isinstance(child, dict) else child


def children(node: Schema) -> Iterator[tuple[str, Schema]]:
    """(path of keys, schema) of each schema right below the node."""
    for key in _NAMED:
        named = node.get(key)
        if isinstance(named, Mapping):
            yield from ((f"{key}.{name}", child) for name, child in named.items() if isinstance(child, dict))
    for key in _SINGLE:
        if isinstance(node.get(key), dict):
            yield key, node[key]
    for key in _LISTED:
        listed = node.get(key)
        if isinstance(listed, list):
            yield from ((f"{key}[{i}]", child) for i, child in enumerate(listed) if isinstance(child, dict))


def walk(node: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """The node and every schema below it, each with its path of keys."""
    yield path, node
    for key, child in children(node):
        yield from walk(child, f"{path}.{key}" if path else key)


def type_of(node: Schema) -> str:
    """The node's JSON type; an object when only its members are given, empty when it has none."""
    given = node.get("type")
    if isinstance(given, str):
        return given
    return "object" if "properties" in node or "additionalProperties" in node else ""


def field_at(node: Schema, path: str, resolve: Callable[[Schema], Schema]) -> Schema | None:
    """
    The schema of the field at a path such as `.spec.tasks[].name`, or None when there is no such field.

    `resolve` gives a node whose references are followed.
    """
    for step in path.removeprefix(".").split("."):
        name, lists = step.rstrip("[]"), step.count("[]")
        found = _member(resolve(node), name)
        if found is None:
            return None
        node = found
        for _ in range(lists):
            items = resolve(node).get("items")
            if not isinstance(items, dict):
                return None
            node = items
    return resolve(node)


def _member(node: Schema, name: str) -> Schema | None:
    named = node.get("properties")
    found = named.get(name) if isinstance(named, Mapping) else node.get("additionalProperties")
    return found if isinstance(found, dict) else None
