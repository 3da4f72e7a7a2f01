"""
The rules for one schema node: known keywords with values of the right shape, in the right company.

They are the API server's rules for structural schemas, applied to our short form, so that a mistake is
told in the words of the source and not in those of an expanded CRD.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from codegen import patterns
from codegen.problems import hint
from codegen.project import Schema
from codegen.schema import JUNCTORS, SCALARS, TYPES, map_children, type_of

Fault = tuple[str, str]
"""(keyword, what is wrong), the keyword empty when the node as a whole is meant."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_line(value: Any) -> bool:
    return _is_text(value) and "\n" not in value


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_true(value: Any) -> bool:
    return value is True


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict)


def _is_schema_or_flag(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values())


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(inner, dict) for inner in value)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_anything(value: Any) -> bool:
    return value is not None


def _is_list_type(value: Any) -> bool:
    return value in ("atomic", "map", "set")


def _is_map_type(value: Any) -> bool:
    return value in ("atomic", "granular")


_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""Names that are attributes in Python once words are joined by underscores, and that paths and CEL can speak of."""
_NUMBERS = ("integer", "number")
_SHAPES: dict[str, tuple[Callable[[Any], bool], str, tuple[str, ...]]] = {
    "$ref": (_is_text, "the name of a component", ()),
    "additionalProperties": (_is_schema_or_flag, "one schema", ("object",)),
    "allOf": (_is_schemas, "a list of schemas", ()),
    "anyOf": (_is_schemas, "a list of schemas", ()),
    "default": (_is_anything, "a value of the field", ()),
    "description": (_is_line, "one line of text", ()),
    "enum": (_is_values, "a list with at least one value", SCALARS),
    "example": (_is_anything, "a value of the field", ()),
    "exclusiveMaximum": (_is_flag, "true or false beside `maximum`", _NUMBERS),
    "exclusiveMinimum": (_is_flag, "true or false beside `minimum`", _NUMBERS),
    "externalDocs": (_is_schema, "a mapping {description, url}", ()),
    "format": (_is_text, "a name such as int32 or date-time", SCALARS),
    "items": (_is_schema, "one schema (a list of schemas is not supported)", ("array",)),
    "maxItems": (_is_count, "a number of 0 or more", ("array",)),
    "maxLength": (_is_count, "a number of 0 or more", ("string",)),
    "maxProperties": (_is_count, "a number of 0 or more", ("object",)),
    "maximum": (_is_number, "a number", _NUMBERS),
    "minItems": (_is_count, "a number of 0 or more", ("array",)),
    "minLength": (_is_count, "a number of 0 or more", ("string",)),
    "minProperties": (_is_count, "a number of 0 or more", ("object",)),
    "minimum": (_is_number, "a number", _NUMBERS),
    "multipleOf": (_is_number, "a number", _NUMBERS),
    "not": (_is_schema, "one schema", ()),
    "nullable": (_is_flag, "true or false", ()),
    "oneOf": (_is_schemas, "a list of schemas", ()),
    "pattern": (_is_text, "a regular expression in RE2 syntax", ("string",)),
    "properties": (_is_named_schemas, "a mapping of field names to schemas", ("object",)),
    "required": (_is_names, "a list of field names, each once", ("object",)),
    "title": (_is_line, "one line of text", ()),
    "type": (lambda value: value in TYPES, f"one of {', '.join(TYPES)}", ()),
    "x-kubernetes-embedded-resource": (_is_flag, "true or false", ("object",)),
    "x-kubernetes-int-or-string": (_is_true, "true", ()),
    "x-kubernetes-list-map-keys": (_is_names, "a list of field names, each once", ("array",)),
    "x-kubernetes-list-type": (_is_list_type, "atomic, map or set", ("array",)),
    "x-kubernetes-map-type": (_is_map_type, "atomic or granular", ("object",)),
    "x-kubernetes-preserve-unknown-fields": (_is_true, "true", ("object",)),
    "x-kubernetes-validations": (_is_values, "a list of {rule, message}", ()),
}
"""Keyword -> (test of its value, the value in words, types that it means anything for; none means all)."""

_ADVICE = {
    "const": "write `enum` with one value",
    "definitions": "name a component and $ref it",
    "deprecated": "say so in the description",
    "maxlength": "write maxLength",
    "patternProperties": "write additionalProperties",
    "readOnly": "fields of the status subresource are read-only already",
    "uniqueItems": "write `x-kubernetes-list-type: set`, which the server can check in linear time",
    "x-kubernetes-patch-merge-key": "custom resources know no strategic merge patch",
    "x-kubernetes-patch-strategy": "custom resources know no strategic merge patch",
}
_BARE_IN_JUNCTORS = ("type", "default", "description", "nullable", "additionalProperties", "$ref")
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
}  # fmt: skip


def faults(node: Schema, resolved: Schema) -> Iterator[Fault]:
    """What is wrong with a well-shaped node that stands outside any junctor; `resolved` has its reference followed."""
    kind = type_of(resolved)
    flexible = resolved.get("x-kubernetes-int-or-string") or resolved.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not flexible and "$ref" not in node:
        yield "", f"has no type: add one of {', '.join(TYPES)}, or a $ref"
    if "properties" in resolved and "additionalProperties" in resolved:
        yield "properties", "a field is either an object with properties or a map with additionalProperties: remove one"
    if kind == "array" and "items" not in resolved:
        yield "items", "is missing: an array needs the schema of its items"
    for keyword in node:
        wanted = _SHAPES[keyword][2] if keyword in _SHAPES else ()
        if wanted and kind and kind not in wanted and not flexible:
            yield keyword, f"means nothing for type {kind}, only for {' or '.join(wanted)}: fix the type or remove it"
    yield from _values(node, kind)
    yield from _fields(node, resolved)


def junctor_faults(node: Schema) -> Iterator[Fault]:
    """What is wrong with a well-shaped node below allOf, anyOf, oneOf or not, which may only restrict values."""
    for keyword in _BARE_IN_JUNCTORS:
        if keyword in node:
            yield keyword, f"must not stand below {', '.join(JUNCTORS)}: write it on the field itself"
    yield from _values(node, type_of(node))


def shape_faults(node: Schema, *, known_only: bool = False) -> Iterator[Fault]:
    """Keywords whose value is no such thing, and unless `known_only` those that no CRD has."""
    for keyword, value in node.items():
        if keyword not in _SHAPES:
            if known_only:
                continue
            yield keyword, f"is no keyword that a CustomResourceDefinition knows{_advice(keyword, value)}"
        elif not _SHAPES[keyword][0](value):
            yield keyword, f"must be {_SHAPES[keyword][1]}, not {value!r}"


def well_shaped(node: Schema) -> Schema:
    """The schema without keywords that have a fault of shape, here and below, so that values are what they should be."""
    broken = {keyword for keyword, _ in shape_faults(node)}
    return map_children({keyword: value for keyword, value in node.items() if keyword not in broken}, well_shaped)


def _advice(keyword: str, value: Any) -> str:
    if keyword in _ADVICE:
        return f": {_ADVICE[keyword]}"
    if value is None:
        return ": a comma inside {...} ends a value, put the whole text in quotes"
    return hint(keyword, _SHAPES)


def _values(node: Schema, kind: str) -> Iterator[Fault]:
    pattern, values = node.get("pattern"), node.get("enum")
    if isinstance(pattern, str):
        broken = patterns.fault(pattern)
        if broken:
            yield "pattern", f"{pattern!r} is no RE2 expression: {broken}"
    if isinstance(values, list):
        yield from _enum(values, kind)
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        if _is_number(node.get(low)) and _is_number(node.get(high)) and node[low] > node[high]:
            yield low, f"{node[low]} is above {high} {node[high]}: no value can satisfy both"


def _enum(values: list[Any], kind: str) -> Iterator[Fault]:
    wanted = _JSON_TYPES.get(kind)
    for value in values:
        if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean")):
            advice = ": put it in quotes" if kind == "string" else ""
            yield "enum", f"value {value!r} is no {kind}{advice}"
    if len({repr(value) for value in values}) < len(values):
        yield "enum", "names a value twice: remove one"


def _fields(node: Schema, resolved: Schema) -> Iterator[Fault]:
    """Names of fields that a node speaks of must be its fields."""
    properties = resolved.get("properties")
    for name in node.get("properties", ()):
        if not _FIELD.fullmatch(name):
            yield (
                "properties",
                f"{name!r} is no field name: use letters, digits, `_` and `-`, and a letter or `_` first",
            )
    if "required" in node and isinstance(node["required"], list):
        for name in node["required"]:
            if isinstance(name, str) and isinstance(properties, dict) and name not in properties:
                yield "required", f"there is no field {name!r} here{hint(name, properties)}"
    embedded = node.get("x-kubernetes-embedded-resource")
    if embedded and not properties and not resolved.get("x-kubernetes-preserve-unknown-fields"):
        message = "needs properties, or `x-kubernetes-preserve-unknown-fields: true` beside it"
        yield "x-kubernetes-embedded-resource", message
    keyed = resolved.get("x-kubernetes-list-type") == "map"
    if keyed and not resolved.get("x-kubernetes-list-map-keys"):
        yield "x-kubernetes-list-map-keys", "is missing: a list of type map needs the fields that identify an item"
    if "x-kubernetes-list-map-keys" in node and not keyed:
        yield "x-kubernetes-list-map-keys", "needs `x-kubernetes-list-type: map` beside it"


def _names(node: Schema, keyword: str) -> list[str]:
    """The names that a keyword lists; none when its shape is wrong, which is told elsewhere."""
    value: Any = node.get(keyword)
    return list(value) if _is_names(value) else []


def list_faults(resolved: Schema, items: Schema, key_field: Callable[[str], Schema | None]) -> Iterator[Fault]:
    """What is wrong with a list's type; `items` and the schema of a key field come with references followed."""
    match resolved.get("x-kubernetes-list-type"):
        case "set":
            kind = type_of(items)
            atomic = "atomic" in (items.get("x-kubernetes-map-type"), items.get("x-kubernetes-list-type"))
            if kind not in SCALARS and not items.get("x-kubernetes-int-or-string") and not atomic:
                yield "x-kubernetes-list-type", "items of a set must be scalars or atomic"
        case "map":
            for key in _names(resolved, "x-kubernetes-list-map-keys"):
                field = key_field(key)
                if field is None:
                    yield "x-kubernetes-list-map-keys", f"items have no field {key!r}"
                elif type_of(field) not in SCALARS and not field.get("x-kubernetes-int-or-string"):
                    yield "x-kubernetes-list-map-keys", f"{key!r} must be a scalar to identify an item"
                elif key not in _names(items, "required") and "default" not in field:
                    yield (
                        "x-kubernetes-list-map-keys",
                        f"{key!r} identifies an item: make it required or give it a default",
                    )
