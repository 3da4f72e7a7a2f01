"""
What the schemas say about the models, read from the sources without the generator's own reading of them.

The oracle of the tests in this folder: which JSON values a property can have, which of them are zero, and whether
an explicit zero may be dropped because it cannot be told from absence.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import yaml
from hypothesis import strategies as st

from codegen.project import Project, Schema
from codegen.source import load
from runtime.model import Model
from tests.unit.codegen.projects import ROOT

POINTERS = frozenset(yaml.safe_load((ROOT / "api/k8s/pointers.yaml").read_bytes()))
TIMES = ("meta.v1.Time", "meta.v1.MicroTime")
MIXED = ("meta.v1.Quantity", "meta.v1.IntOrString")
TEXTS = (*TIMES, "meta.v1.Duration")
UNREAD = {("meta.v1.ObjectMeta", "managedFields"), ("meta.v1.ObjectMeta", "selfLink")}
NO_MODEL = {"meta.v1.ManagedFieldsEntry", "meta.v1.FieldsV1"}


@cache
def project() -> Project:
    return load(ROOT)


@cache
def model(component: str) -> type[Model]:
    """The generated class of a component."""
    module, _, name = component.rpartition(".")
    found: type[Model] = getattr(import_module(f"generated.{module}"), name)
    return found


def components() -> list[str]:
    """Every component that is an object with properties."""
    names = {*project().components, *project().core} - NO_MODEL
    return sorted(name for name in names if "properties" in project().schema(name))


def properties(component: str) -> dict[str, Schema]:
    kinds = {kind.component for kind in (*project().kinds, *project().external)}
    typed = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}} if component in kinds else {}
    found = {**typed, **project().schema(component)["properties"]}
    return {wire: node for wire, node in found.items() if (component, wire) not in UNREAD}


def fields() -> Iterator[tuple[str, str]]:
    """(component, property) of every field of every model."""
    for component in components():
        for wire in properties(component):
            yield component, wire


def resolved(node: Schema) -> Schema:
    """The node with named scalars, lists and maps put in place of their names."""
    target = node.get("$ref", "")
    if not target or target in (*MIXED, *TEXTS) or "properties" in project().schema(target):
        return node
    return {**resolved(project().schema(target)), **{key: value for key, value in node.items() if key != "$ref"}}


def zero(node: Schema) -> Any:
    """The zero value of a type, as JSON."""
    node = resolved(node)
    target = node.get("$ref", "")
    if target in MIXED:
        return 0
    if target in TEXTS:
        return ""
    if target:
        return {}
    kind = node.get("type", "object")
    return {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}[kind]


def is_droppable(component: str, wire: str) -> bool:
    """
    Whether an explicit zero value equals absence, so that the model may drop it.

    True for a property that is no pointer, has no default but zero, may be absent, and is no struct: Go's
    `omitempty` drops the very same.
    """
    node = properties(component)[wire]
    whole = resolved(node)
    if f"{component}.{wire}" in POINTERS or whole.get("nullable") or whole.get("default"):
        return False
    if wire in project().schema(component).get("required", ()):
        return False
    is_text_of_its_own = whole.get("$ref") in (*TIMES, *MIXED) or whole.get("format") == "date-time"
    return (not is_text_of_its_own and "$ref" not in whole) or whole.get("$ref") == "meta.v1.Duration"


@cache
def documents(component: str, depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Random documents of a component; below `depth` levels, only optional parts end."""
    optional = {wire: values(node, depth - 1) for wire, node in properties(component).items()}
    return st.fixed_dictionaries({}, optional=optional)


def values(node: Schema, depth: int) -> st.SearchStrategy[Any]:
    """Random values of a node."""
    node = resolved(node)
    target = node.get("$ref", "")
    if target in MIXED:
        return st.integers(-5, 5) | st.sampled_from(["", "1", "1Gi", "100m", "http"])
    if target in TEXTS or node.get("format") == "date-time":
        return st.sampled_from(["2026-01-01T00:00:00Z", "1h30m"])
    if target:
        return st.deferred(lambda: documents(target, depth)) if depth > 0 else st.just({})
    return _plain(node, depth)


def _plain(node: Schema, depth: int) -> st.SearchStrategy[Any]:
    match node.get("type", "object"):
        case "string":
            return st.text(max_size=3)
        case "integer":
            return st.integers(-(2**31), 2**31 - 1)
        case "number":
            return st.integers(-9, 9) | st.floats(-1e9, 1e9)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(node["items"], depth - 1), max_size=2 if depth > 0 else 0)
        case _:
            inner = node.get("additionalProperties", True)
            each = values(inner, depth - 1) if isinstance(inner, dict) else st.integers() | st.text(max_size=3)
            return st.dictionaries(st.text(max_size=3), each, max_size=2 if depth > 0 else 0)


def normal(component: str, document: dict[str, Any]) -> dict[str, Any]:
    """What a model makes of a document when it is written again: droppable zeros go, required ones come."""
    required = project().schema(component).get("required", ())
    made: dict[str, Any] = {}
    for wire, node in properties(component).items():
        if wire in document:
            value = _normal_value(node, document[wire])
            if not (is_droppable(component, wire) and value == zero(node) and type(value) is type(zero(node))):
                made[wire] = value
        elif wire in required and _has_written_zero(component, wire):
            made[wire] = _normal_value(node, zero(node))
    return made


def _has_written_zero(component: str, wire: str) -> bool:
    """Whether an absent required property gets its zero: not where absence or a default has a meaning."""
    node = resolved(properties(component)[wire])
    pointer = f"{component}.{wire}" in POINTERS or node.get("nullable") or node.get("default")
    return not pointer and node.get("$ref") not in TIMES and node.get("format") != "date-time"


def _normal_value(node: Schema, value: Any) -> Any:
    node = resolved(node)
    target = node.get("$ref", "")
    if target and "properties" in project().schema(target):
        return normal(target, value)
    if isinstance(value, list):
        return [_normal_value(node["items"], item) for item in value]
    if isinstance(value, dict) and isinstance(node.get("additionalProperties"), dict):
        return {key: _normal_value(node["additionalProperties"], item) for key, item in value.items()}
    return value
