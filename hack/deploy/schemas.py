"""
Whether a new schema accepts all that an old one does.

Objects that are stored already would lose fields, or could not be written any more, where it doesn't. Only what can
make a difference to a stored object is compared: descriptions, titles and examples can't.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_FLOORS = ("minimum", "minLength", "minItems", "minProperties")
_CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")
_FORMATS = {("", "int32"), ("int64", "int32")}
"""Formats, old and new, of which the new one takes less. The server ignores those that it doesn't know."""


def narrowings(old: Schema, new: Schema, path: str = "") -> Iterator[str]:
    """One text a place where `new` takes less than `old`, each beginning with the place's path."""
    if old.get("type") != new.get("type"):
        yield f"{path or '.'}: type {old.get('type', 'any')} becomes {new.get('type', 'any')}"
        return
    here = (*_values(old, new), *_limits(old, new), *_structure(old, new))
    yield from (f"{path or '.'}: {text}" for text in here)
    yield from _below(old, new, path)


def _values(old: Schema, new: Schema) -> Iterator[str]:
    if "enum" in new:
        if "enum" not in old:
            yield f"only {', '.join(map(str, new['enum']))} are allowed from now on"
        elif gone := [value for value in old["enum"] if value not in new["enum"]]:
            yield f"{', '.join(map(str, gone))} is no longer allowed"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"must match {new['pattern']} from now on"
    if (old.get("format", ""), new.get("format", "")) in _FORMATS:
        yield f"format {old.get('format') or 'int64'} becomes {new['format']}"
    if old.get("nullable") and not new.get("nullable"):
        yield "null is no longer allowed"
    if old.get("x-kubernetes-int-or-string") and not new.get("x-kubernetes-int-or-string"):
        yield "may no longer be a number or a text"


def _limits(old: Schema, new: Schema) -> Iterator[str]:
    for keyword in _FLOORS:
        if keyword in new and (keyword not in old or new[keyword] > old[keyword]):
            yield f"{keyword} {old.get(keyword, 'none')} becomes {new[keyword]}"
    for keyword in _CEILINGS:
        if keyword in new and (keyword not in old or new[keyword] < old[keyword]):
            yield f"{keyword} {old.get(keyword, 'none')} becomes {new[keyword]}"


def _structure(old: Schema, new: Schema) -> Iterator[str]:
    known = {rule["rule"] for rule in old.get("x-kubernetes-validations", ())}
    for rule in new.get("x-kubernetes-validations", ()):
        if rule["rule"] not in known:
            yield f"a rule comes in: {rule['rule']}"
    had, has = (schema.get("x-kubernetes-list-type", "atomic") for schema in (old, new))
    if has in {"map", "set"} and had != has:
        yield f"list type {had} becomes {has}, which allows no duplicates"
    for name in new.get("required", ()):
        if name not in old.get("required", ()) and "default" not in new.get("properties", {}).get(name, {}):
            yield f"{name} becomes required"


def _below(old: Schema, new: Schema, path: str) -> Iterator[str]:
    keeps_all = new.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in new
    if old.get("x-kubernetes-preserve-unknown-fields") and not keeps_all:
        yield f"{path or '.'}: fields that the schema doesn't name are no longer kept"
    fields = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        place = f"{path}.{name}"
        if name in fields:
            yield from narrowings(schema, fields[name], place)
        elif not keeps_all:
            yield f"{place}: is dropped"
    for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner, outer = old.get(keyword), new.get(keyword)
        if isinstance(inner, dict) and isinstance(outer, dict):
            yield from narrowings(inner, outer, f"{path}{mark}")
        elif inner and not outer and not new.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{path}{mark}: is dropped"
