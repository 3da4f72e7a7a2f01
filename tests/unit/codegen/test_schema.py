from __future__ import annotations

from typing import Any

import pytest

from codegen.schema import children, field_at, map_children, type_of, walk

TEXT = {"type": "string"}
TREE = {
    "type": "object",
    "default": {"properties": {"no": "schema"}},
    "enum": [{"items": 1}],
    "properties": {
        "items": TEXT,
        "list": {"type": "array", "items": {"type": "array", "items": TEXT}},
        "map": {"additionalProperties": {"properties": {"x": TEXT}}},
    },
    "additionalProperties": True,
    "anyOf": [{"required": ["a"]}],
    "not": {"required": ["b"]},
}


def same(node: dict[str, Any]) -> dict[str, Any]:
    return node


def test_every_schema_is_visited_with_its_path() -> None:
    assert [path for path, _ in walk(TREE)] == [
        "",
        "properties.items",
        "properties.list",
        "properties.list.items",
        "properties.list.items.items",
        "properties.map",
        "properties.map.additionalProperties",
        "properties.map.additionalProperties.properties.x",
        "not",
        "anyOf[0]",
    ]


def test_values_that_look_like_schemas_are_not_visited() -> None:
    assert all("no" not in node for _, node in walk(TREE))


def test_children_are_replaced_in_a_copy() -> None:
    marked = map_children(TREE, lambda child: {**child, "seen": True})
    assert all(child["seen"] for _, child in children(marked))
    assert marked["default"] == TREE["default"]
    assert marked["additionalProperties"] is True
    assert "seen" not in str(TREE)


def test_what_is_no_schema_is_left_alone() -> None:
    broken = {"properties": [], "items": 1, "anyOf": "x", "oneOf": [1]}
    assert map_children(broken, same) == broken
    assert list(children(broken)) == []


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ({"type": "integer"}, "integer"),
        ({"properties": {}}, "object"),
        ({"additionalProperties": TEXT}, "object"),
        ({"$ref": "a.v1.B"}, ""),
        ({"type": ["string"]}, ""),
    ],
)
def test_the_type_may_follow_from_the_members(node: dict[str, Any], kind: str) -> None:
    assert type_of(node) == kind


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("items", True),
        (".items", True),
        (".list[][]", True),
        ("list[]", True),
        ("map.anything.x", True),
        ("list", True),
        ("items[]", False),
        ("list[][][]", False),
        ("map.anything.y", False),
        ("nothing", False),
        ("items.deeper", False),
    ],
)
def test_fields_are_found_by_path(path: str, *, found: bool) -> None:
    assert (field_at(TREE, path, same) is not None) is found
