from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hack.deploy.schemas import narrowings

ROOT = Path(__file__).resolve().parents[4]
BASES = sorted((ROOT / "config" / "crd" / "bases").glob("*.yaml"))
NARROWED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another type": ({"type": "string"}, {"type": "integer"}, ".: type string becomes integer"),
    "a first enum": ({"type": "string"}, {"type": "string", "enum": ["a"]}, ".: only a are allowed from now on"),
    "a smaller enum": (
        {"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, ".: b is no longer allowed",
    ),
    "a pattern": ({"type": "string"}, {"type": "string", "pattern": "^a$"}, ".: must match ^a$ from now on"),
    "another pattern": (
        {"type": "string", "pattern": "b"}, {"type": "string", "pattern": "a"}, ".: must match a from now on",
    ),
    "fewer bits": (
        {"type": "integer", "format": "int64"}, {"type": "integer", "format": "int32"},
        ".: format int64 becomes int32",
    ),
    "no null": ({"type": "string", "nullable": True}, {"type": "string"}, ".: null is no longer allowed"),
    "no number": (
        {"x-kubernetes-int-or-string": True}, {}, ".: may no longer be a number or a text",
    ),
    "a higher floor": (
        {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}, ".: minimum 0 becomes 1",
    ),
    "a first floor": ({"type": "array"}, {"type": "array", "minItems": 1}, ".: minItems none becomes 1"),
    "a lower ceiling": (
        {"type": "string", "maxLength": 63}, {"type": "string", "maxLength": 10}, ".: maxLength 63 becomes 10",
    ),
    "a rule": (
        {"type": "object"}, {"type": "object", "x-kubernetes-validations": [{"rule": "false"}]},
        ".: a rule comes in: false",
    ),
    "no duplicates": (
        {"type": "array"}, {"type": "array", "x-kubernetes-list-type": "set"},
        ".: list type atomic becomes set, which allows no duplicates",
    ),
    "a required field": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ".: a becomes required",
    ),
    "a dropped field": (
        {"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object"}, ".a: is dropped",
    ),
    "fields in a list": (
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"type": "array", "items": {"type": "object"}},
        "[].a: is dropped",
    ),
    "values of a map": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        "{}: type string becomes integer",
    ),
    "a map": ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object"}, "{}: is dropped"),
    "unnamed fields": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"},
        ".: fields that the schema doesn't name are no longer kept",
    ),
}  # fmt: skip
WIDENED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a field more": ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}),
    "a larger enum": ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b", "a"]}),
    "no enum": ({"type": "string", "enum": ["a"]}, {"type": "string"}),
    "no pattern": ({"type": "string", "pattern": "a"}, {"type": "string"}),
    "more bits": ({"type": "integer", "format": "int32"}, {"type": "integer", "format": "int64"}),
    "a lower floor": ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}),
    "no ceiling": ({"type": "integer", "maximum": 1}, {"type": "integer"}),
    "null as well": ({"type": "string"}, {"type": "string", "nullable": True}),
    "no longer required": ({"type": "object", "required": ["a"]}, {"type": "object"}),
    "required with a default": (
        {"type": "object"}, {"type": "object", "required": ["a"], "properties": {"a": {"default": 1}}},
    ),
    "any field instead of one": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    "other words": ({"type": "string", "description": "old"}, {"type": "string", "description": "new"}),
    "duplicates allowed": (
        {"type": "array", "x-kubernetes-list-type": "set"}, {"type": "array", "x-kubernetes-list-type": "atomic"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NARROWED)
def test_a_schema_that_takes_less_is_told_with_its_place(case: str) -> None:
    old, new, text = NARROWED[case]
    assert list(narrowings(old, new)) == [text]


@pytest.mark.parametrize("case", WIDENED)
def test_a_schema_that_takes_more_is_fine(case: str) -> None:
    old, new = WIDENED[case]
    assert list(narrowings(old, new)) == []


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_our_own_schemas_fit_themselves_and_every_field_that_goes_is_noticed(path: Path) -> None:
    schema = yaml.load(path.read_text(), yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(narrowings(schema, schema)) == []
    top = "spec" if "spec" in schema["properties"] else "action"
    smaller = copy.copy(schema) | {
        "properties": {name: field for name, field in schema["properties"].items() if name != top}
    }
    assert list(narrowings(schema, smaller)) == [f".{top}: is dropped"]
    assert list(narrowings(smaller, schema)) == []


leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean"])},
    optional={"minimum": st.integers(0, 3), "nullable": st.booleans()},
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        ),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
    ),
    max_leaves=8,
)


@given(schemas)
def test_no_schema_is_narrower_than_itself(schema: dict[str, Any]) -> None:
    assert list(narrowings(schema, copy.deepcopy(schema))) == []


@given(schemas, schemas, schemas)
def test_what_widens_twice_widens_at_once(one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]) -> None:
    if not list(narrowings(one, two)) and not list(narrowings(two, three)):
        assert list(narrowings(one, three)) == []
