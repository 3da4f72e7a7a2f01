from __future__ import annotations

from typing import Any

import pytest

from codegen.keywords import faults, list_faults, shape_faults, well_shaped
from codegen.project import Schema
from tests.unit.codegen.projects import mistakes, with_spec, write

TEXT: Schema = {"type": "string"}


def all_faults(node: Schema, items: Schema | None = None) -> list[str]:
    """What is wrong with the node's shape; where nothing is, what its own rules and those of its list say."""
    sound, fields = well_shaped(items or {}), (items or {}).get("properties", {})
    found = [*shape_faults(node)] or [*faults(node, node), *list_faults(node, sound, fields.get)]
    return [f"{key}: {text}" for key, text in found]


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


@pytest.mark.parametrize("name", ["", 'a"b', "a\nb", "a'", "1st", "a.b", "größe", "a b", "$ref", "-a", "a{{b}}", "#"])
def test_a_field_has_a_name_that_can_be_an_attribute(name: str) -> None:
    [fault] = all_faults({"type": "object", "properties": {name: TEXT}})
    assert fault.startswith(f"properties: {name!r} is no field name: use letters, digits, `_` and `-`, and a letter")


@pytest.mark.parametrize("name", ["a", "podIP", "a_b", "a-b", "_a", "A1"])
def test_usual_names_of_fields_are_taken(name: str) -> None:
    assert all_faults({"type": "object", "properties": {name: TEXT}}) == []


@pytest.mark.parametrize(
    ("company", "fits"),
    [
        ({}, False),
        ({"properties": {}}, False),
        ({"properties": {"a": TEXT}}, True),
        ({"x-kubernetes-preserve-unknown-fields": True}, True),
    ],
)
def test_an_embedded_object_has_fields(company: Schema, *, fits: bool) -> None:
    found = all_faults({"type": "object", "x-kubernetes-embedded-resource": True, **company})
    words = (
        "x-kubernetes-embedded-resource: needs properties, or `x-kubernetes-preserve-unknown-fields: true` beside it"
    )
    assert found == ([] if fits else [words])


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
