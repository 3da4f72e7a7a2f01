"""
Whether a CustomResourceDefinition still takes everything that an older one took, and means the same by it.

Fields, enum values, short names and wide columns may be added. Whatever is removed, narrowed, retyped or
defaulted otherwise breaks somebody's stored objects, manifests or scripts, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from codegen.project import Schema

_LOW = ("minimum", "minItems", "minLength", "minProperties")
_HIGH = ("maximum", "maxItems", "maxLength", "maxProperties")
_NONE_MAY_COME = ("pattern", "multipleOf", "not", "allOf", "oneOf", "exclusiveMaximum", "exclusiveMinimum")
"""Keywords that only ever refuse values: they may go, but neither come nor change."""
_FIXED = (
    "type",
    "format",
    "default",
    "anyOf",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
)
"""Keywords that say what a value is or how it merges: any change is a change of meaning."""
_ABSENT = object()


def breaks(old: Schema, new: Schema) -> list[str]:
    """What the new CustomResourceDefinition breaks of the old one, one line each; nothing when it is a superset."""
    return [*_names(old["spec"], new["spec"]), *_versions(old["spec"], new["spec"])]


def schema_breaks(old: Schema, new: Schema, path: str = "") -> Iterator[str]:
    """What one schema refuses or reads otherwise than the older one did."""
    where = path or "the root"
    for keyword in _FIXED:
        if old.get(keyword, _ABSENT) != new.get(keyword, _ABSENT):
            yield f"{where}: {keyword} was {_shown(old, keyword)}, is {_shown(new, keyword)}"
    for keyword in _NONE_MAY_COME:
        if keyword in new and new[keyword] != old.get(keyword, _ABSENT):
            yield f"{where}: {keyword} {new[keyword]!r} refuses what was taken ({_shown(old, keyword)})"
    yield from _limits(old, new, where)
    yield from _choices(old, new, where)
    yield from _members(old, new, path)


def _shown(schema: Schema, keyword: str) -> str:
    return repr(schema[keyword]) if keyword in schema else "absent"


def _limits(old: Schema, new: Schema, where: str) -> Iterator[str]:
    for keyword in _LOW:
        if keyword in new and new[keyword] > old.get(keyword, float("-inf")):
            yield f"{where}: {keyword} was {_shown(old, keyword)}, is {new[keyword]}"
    for keyword in _HIGH:
        if keyword in new and new[keyword] < old.get(keyword, float("inf")):
            yield f"{where}: {keyword} was {_shown(old, keyword)}, is {new[keyword]}"


def _choices(old: Schema, new: Schema, where: str) -> Iterator[str]:
    if "enum" in new:
        if "enum" not in old:
            yield f"{where}: took any value, takes only {', '.join(map(str, new['enum']))}"
        else:
            yield from (f"{where}: no longer takes {value!r}" for value in old["enum"] if value not in new["enum"])
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            yield f"{where}: {name} was optional, is required"
    rules = {rule["rule"] for rule in old.get("x-kubernetes-validations", ())}
    for rule in new.get("x-kubernetes-validations", ()):
        if rule["rule"] not in rules:
            yield f"{where}: the rule {rule['rule']!r} refuses what was taken"


def _members(old: Schema, new: Schema, path: str) -> Iterator[str]:
    mine = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        if name in mine:
            yield from schema_breaks(schema, mine[name], place)
        else:
            yield f"{place}: is gone"
    for keyword, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(old.get(keyword), dict) and isinstance(new.get(keyword), dict):
            yield from schema_breaks(old[keyword], new[keyword], f"{path}{suffix}")
        elif old.get(keyword) != new.get(keyword):
            yield f"{path or 'the root'}: {keyword} was {_shown(old, keyword)}, is {_shown(new, keyword)}"


def _names(old: Schema, new: Schema) -> Iterator[str]:
    if old["scope"] != new["scope"]:
        yield f"scope was {old['scope']}, is {new['scope']}"
    for key, value in old["names"].items():
        now = new["names"].get(key)
        if not isinstance(value, list):
            if value != now:
                yield f"names.{key} was {value}, is {now}"
        else:
            yield from (f"names.{key}: {name} is gone" for name in value if name not in (now or ()))


def _versions(old: Schema, new: Schema) -> Iterator[str]:
    versions = {version["name"]: version for version in new["versions"]}
    for version in old["versions"]:
        now = versions.get(version["name"])
        if now is None or (version["served"] and not now["served"]):
            yield f"version {version['name']} is no longer served"
            continue
        yield from _subresources(version.get("subresources"), now.get("subresources"))
        yield from _columns(version.get("additionalPrinterColumns", ()), now.get("additionalPrinterColumns", ()))
        yield from schema_breaks(version["schema"]["openAPIV3Schema"], now["schema"]["openAPIV3Schema"])


def _subresources(old: Any, new: Any) -> Iterator[str]:
    """A status subresource that comes changes who may write the status as much as one that goes."""
    for name in ("status", "scale"):
        if (name in (old or {})) != (name in (new or {})):
            yield f"subresource {name} {'is gone' if name in (old or {}) else 'is new'}: writers of it break"


def _columns(old: Iterable[Schema], new: Iterable[Schema]) -> Iterator[str]:
    """What `kubectl get` prints by default stays; with `-o wide` columns may follow."""
    before, now = list(old), list(new)
    yield from (f"column {column['name']} is gone or changed" for column in before if column not in now)
    shown = [[column["name"] for column in columns if not column.get("priority")] for columns in (before, now)]
    if before and shown[0] != shown[1]:
        yield f"columns were {', '.join(shown[0])}, are {', '.join(shown[1])}"
