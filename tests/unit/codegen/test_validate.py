from __future__ import annotations

from typing import Any

import pytest

from codegen.expand import BUILT_INS
from codegen.validate import findings

TEXT = {"type": "string"}
KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    },
}
EITHER = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
QUANTITY = BUILT_INS["meta.v1.Quantity"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TEXT, ""),
        ({"type": "integer"}, 1.0),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, False),
        ({"type": "string", "enum": ["a"]}, "a"),
        ({"type": "string", "maxLength": 3}, "abc"),
        ({"type": "string", "format": "date-time"}, "2024-01-01t00:00:00.5+02:00"),
        ({"type": "integer", "format": "int32"}, 2**31 - 1),
        ({"type": "integer", "format": "int64"}, -(2**63)),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, 0.1),
        ({"type": "object", "additionalProperties": TEXT}, {"a": "b"}),
        ({"type": "object", "additionalProperties": True}, {"a": 1}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": 1}),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "b"]),
        (KEYED, [{"port": 1}, {"port": 1, "protocol": "UDP"}]),
        (EITHER, {"a": ""}),
        ({"type": "string", "not": {"enum": ["a"]}}, "b"),
        ({"type": "string", "allOf": [{"minLength": 1}, {"maxLength": 2}]}, "a"),
        (QUANTITY, "1.5Gi"),
        (QUANTITY, 4),
        ({}, 1),
    ],
)
def test_valid_values_give_nothing(schema: dict[str, Any], value: Any) -> None:
    assert list(findings(schema, value)) == []


@pytest.mark.parametrize(
    ("schema", "value", "path", "words"),
    [
        (TEXT, 1, "", "must be of type string, not 1"),
        ({"type": "integer"}, True, "", "must be of type integer, not True"),
        ({"type": "integer"}, 1.5, "", "must be of type integer"),
        ({"type": "number"}, True, "", "must be of type number"),
        ({"type": "boolean"}, 1, "", "must be of type boolean"),
        ({"type": "object"}, [], "", "must be of type object"),
        ({"type": "array", "items": TEXT}, "a", "", "must be of type array"),
        (QUANTITY, 0.5, "", "must be of type integer or string"),
        (QUANTITY, "1ki", "", "doesn't match"),
        ({"type": "string", "enum": ["a"]}, "b", "", "'b' is none of a"),
        ({"type": "string", "minLength": 1}, "", "", "is shorter than 1"),
        ({"type": "string", "maxLength": 3}, "äöü", "", "is longer than 3 bytes"),
        ({"type": "string", "format": "date-time"}, "2024-01-01", "", "is no RFC 3339 time"),
        ({"type": "integer", "format": "int32"}, 2**31, "", "doesn't fit int32"),
        ({"type": "integer", "minimum": 1}, 0, "", "0 is below 1"),
        ({"type": "integer", "maximum": 1}, 2, "", "2 is above 1"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "", "1 is below 1"),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": True}, 1, "", "1 is above 1"),
        ({"type": "integer", "multipleOf": 3}, 4, "", "4 is no multiple of 3"),
        ({"type": "object", "required": ["a"], "properties": {"a": TEXT}}, {}, "a", "is required"),
        ({"type": "object", "properties": {"a": TEXT}}, {"b": 1}, "b", "is no field of the schema"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": TEXT}}}, {"a": ["", 1]}, "a[1]", "string"),
        (
            {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
            {},
            "",
            "has 0 properties, fewer than 1",
        ),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 0}, {"a": ""}, "", "more than 0"),
        ({"type": "array", "items": TEXT, "minItems": 1}, [], "", "has 0 items, fewer than 1"),
        ({"type": "array", "items": TEXT, "maxItems": 1}, ["", ""], "", "has 2 items, more than 1"),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "a"], "[1]", "stands twice"),
        (KEYED, [{"port": 1}, {"port": 1, "protocol": "TCP"}], "[1]", "stands twice"),
        (EITHER, {}, "", "must fit exactly one of 2 alternatives, fits 0"),
        (EITHER, {"a": "", "b": ""}, "", "must fit exactly one of 2 alternatives, fits 2"),
        ({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "c", "", "must fit at least one of 2"),
        ({"type": "string", "allOf": [{"minLength": 2}]}, "a", "", "is shorter than 2"),
        ({"type": "string", "not": {"enum": ["a"]}}, "a", "", "is excluded by `not`"),
    ],
)
def test_an_invalid_value_is_named(schema: dict[str, Any], value: Any, path: str, words: str) -> None:
    found = list(findings(schema, value))
    assert len(found) == 1
    assert found[0][0] == path
    assert words in found[0][1]


def test_every_mistake_is_named() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": TEXT, "b": TEXT}}
    assert [path for path, _ in findings(schema, {"b": 1, "c": 2}, "spec")] == ["spec.a", "spec.b", "spec.c"]
