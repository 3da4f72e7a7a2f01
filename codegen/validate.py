"""
Whether a value satisfies an expanded schema, in the server's sense.

Defaults and samples are checked with this when they are generated, long before a server refuses them.
Rules in CEL are left to the server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from codegen.patterns import matches
from codegen.project import Schema

Finding = tuple[str, str]
"""(path of the value such as `spec.tasks[0].name`, what is wrong with it)."""

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_PYTHON_TYPES: dict[str, Any] = {"array": list, "boolean": bool, "number": int | float, "object": dict, "string": str}
_WIDTHS = {"int32": 31, "int64": 63}


def findings(schema: Schema, value: Any, path: str = "") -> Iterator[Finding]:
    """Everything that is wrong with the value, unknown fields included."""
    if not _has_type(schema, value):
        yield path, f"must be of type {_type_name(schema)}, not {value!r}"
        return
    yield from _limits(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    yield from _junctors(schema, value, path)


def _type_name(schema: Schema) -> str:
    return "integer or string" if schema.get("x-kubernetes-int-or-string") else str(schema.get("type"))


def _has_type(schema: Schema, value: Any) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, str) or _is_integer(value)
    kind = schema.get("type")
    if kind == "integer":
        return _is_integer(value) and -(2**63) <= value < 2**63
    wanted = _PYTHON_TYPES.get(kind or "", object)
    return isinstance(value, wanted) and (kind != "number" or not isinstance(value, bool))


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _limits(schema: Schema, value: Any, path: str) -> Iterator[Finding]:
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"{value!r} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        yield from _text_limits(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_limits(schema, value, path)


def _text_limits(schema: Schema, value: str, path: str) -> Iterator[Finding]:
    if "pattern" in schema and not matches(schema["pattern"], value):
        yield path, f"{value!r} doesn't match {schema['pattern']}"
    if len(value.encode()) > schema.get("maxLength", len(value.encode())):
        yield path, f"{value!r} is longer than {schema['maxLength']} bytes"
    if len(value) < schema.get("minLength", 0):
        yield path, f"{value!r} is shorter than {schema['minLength']}"
    if schema.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
        yield path, f"{value!r} is no RFC 3339 time"


def _number_limits(schema: Schema, value: float, path: str) -> Iterator[Finding]:
    if "minimum" in schema and (value < schema["minimum"] or (_open(schema, "Minimum") and value == schema["minimum"])):
        yield path, f"{value} is below {schema['minimum']}"
    if "maximum" in schema and (value > schema["maximum"] or (_open(schema, "Maximum") and value == schema["maximum"])):
        yield path, f"{value} is above {schema['maximum']}"
    width = _WIDTHS.get(schema.get("format", ""))
    if width and not -(2**width) <= value < 2**width:
        yield path, f"{value} doesn't fit {schema['format']}"
    if "multipleOf" in schema and value % schema["multipleOf"]:
        yield path, f"{value} is no multiple of {schema['multipleOf']}"


def _open(schema: Schema, end: str) -> bool:
    return bool(schema.get(f"exclusive{end}"))


def _object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Finding]:
    for name in schema.get("required", ()):
        if name not in value:
            yield _below(path, name), "is required"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, member in value.items():
        inner = properties.get(name, others)
        if isinstance(inner, dict):
            yield from findings(inner, member, _below(path, name))
        elif inner is not True and not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield _below(path, name), "is no field of the schema"
    yield from _count(schema, len(value), "Properties", path)


def _list(schema: Schema, value: list[Any], path: str) -> Iterator[Finding]:
    items = schema.get("items", {})
    for position, item in enumerate(value):
        yield from findings(items, item, f"{path}[{position}]")
    yield from _count(schema, len(value), "Items", path)
    seen = set()
    for position, item in enumerate(value):
        identity = _identity(schema, item)
        if identity is not None and identity in seen:
            yield f"{path}[{position}]", f"stands twice: {identity}"
        seen.add(identity)


def _identity(schema: Schema, item: Any) -> str | None:
    """What two items of the list may not share."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return json.dumps(item, sort_keys=True)
        case "map" if isinstance(item, dict):
            fields = schema.get("items", {}).get("properties", {})
            keys = schema.get("x-kubernetes-list-map-keys", ())
            return json.dumps({key: item.get(key, fields.get(key, {}).get("default")) for key in keys}, sort_keys=True)
    return None


def _count(schema: Schema, count: int, what: str, path: str) -> Iterator[Finding]:
    if count < schema.get(f"min{what}", 0):
        yield path, f"has {count} {what.lower()}, fewer than {schema[f'min{what}']}"
    if count > schema.get(f"max{what}", count):
        yield path, f"has {count} {what.lower()}, more than {schema[f'max{what}']}"


def _junctors(schema: Schema, value: Any, path: str) -> Iterator[Finding]:
    for part in schema.get("allOf", ()):
        yield from _restriction(part, value, path)
    for key, wanted in (("anyOf", "at least one"), ("oneOf", "exactly one")):
        parts = schema.get(key)
        if parts:
            fitting = sum(not list(_restriction(part, value, path)) for part in parts)
            if fitting == 0 or (key == "oneOf" and fitting > 1):
                yield path, f"must fit {wanted} of {len(parts)} alternatives, fits {fitting}"
    if "not" in schema and not list(_restriction(schema["not"], value, path)):
        yield path, "is excluded by `not`"


def _restriction(part: Schema, value: Any, path: str) -> Iterator[Finding]:
    """A schema below a junctor names only some fields; the others are none of its business."""
    yield from findings({"x-kubernetes-preserve-unknown-fields": True, **part}, value, path)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
