from __future__ import annotations

from typing import Any

import pytest

from codegen.keywords import faults, list_faults
from codegen.project import Schema
from tests.unit.codegen.projects import mistakes, with_spec, write

TEXT: Schema = {"type": "string"}


def all_faults(node: Schema, items: Schema | None = None) -> list[str]:
    """What the node's own rules and those of its list say."""
    fields = (items or {}).get("properties", {})
    return [f"{key}: {text}" for key, text in (*faults(node, node), *list_faults(node, items or {}, fields.get))]


@pytest.mark.parametrize("keys", [5, "name", [5], {"name": 1}, [["name"]]])
def test_map_keys_of_a_wrong_shape_are_told(keys: Any) -> None:
    node = {
        "type": "array",
        "items": {"type": "object", "properties": {"name": TEXT}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
    }
    expected = f"x-kubernetes-list-map-keys: must be a list of field names, each once, not {keys!r}"
    assert all_faults(node, node["items"]) == [expected]


@pytest.mark.parametrize("required", [5, "name", [["name"]]])
def test_items_with_a_wrong_list_of_required_fields_are_no_accident(required: Any) -> None:
    items = {"type": "object", "properties": {"name": TEXT}, "required": required}
    node = {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    assert all_faults(node, items) == [
        "x-kubernetes-list-map-keys: 'name' identifies an item: make it required or give it a default"
    ]
    assert all_faults(items) == [f"required: must be a list of field names, each once, not {required!r}"]


def test_a_field_has_a_name() -> None:
    [fault] = all_faults({"type": "object", "properties": {"": TEXT}})
    assert fault.startswith("properties: must be a mapping of field names, which are never empty, to schemas")


@pytest.mark.parametrize(
    "fields",
    [
        "a: {type: array, items: {type: string}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: 5}",
        "'': {type: string}",
        "a: {type: object, properties: {b: {type: string}}, required: [[b]]}",
        "a: {type: object, properties: {b: {type: string}}, required: 5}",
        "a: {type: array, items: {type: string}, x-kubernetes-list-type: [map]}",
        "a: {type: [string]}",
        "a: {type: string, enum: 5}",
        "a: {type: string, pattern: 5}",
        "a: {type: integer, minimum: a, maximum: 5}",
    ],
)
def test_a_schema_of_a_wrong_shape_is_a_mistake_of_its_file(tmp_path: Any, fields: str) -> None:
    lines = mistakes(write(tmp_path, {"test/v1.yaml": with_spec(fields)}))
    assert any(line.startswith("api/test/v1.yaml: components.WidgetSpec.properties") for line in lines), lines
