from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from codegen.compare import breaks, schema_breaks
from codegen.crds import manifest
from codegen.schema import walk
from tests.unit.codegen.projects import real, real_kind

TEXT = {"type": "string"}


def schema(**field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": field}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (schema(**TEXT), {"type": "object", "properties": {"a": TEXT, "b": TEXT}}),
        (schema(type="string", enum=["x"]), schema(type="string", enum=["x", "y"])),
        (schema(type="string", enum=["x"]), schema(**TEXT)),
        (schema(type="integer", minimum=1, maximum=3), schema(type="integer", minimum=0, maximum=4)),
        (schema(type="integer", minimum=1), schema(type="integer")),
        (schema(type="string", pattern="^a$"), schema(**TEXT)),
        (schema(type="string", description="a"), schema(type="string", description="b")),
        ({**schema(**TEXT), "required": ["a"]}, schema(**TEXT)),
        (schema(type="array", items=TEXT, maxItems=2), schema(type="array", items={**TEXT, "title": "t"}, maxItems=3)),
        ({**schema(**TEXT), "x-kubernetes-validations": [{"rule": "r", "message": "m"}]}, schema(**TEXT)),
    ],
)
def test_additions_and_relief_break_nothing(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert list(schema_breaks(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (schema(**TEXT), {"type": "object", "properties": {}}, "a: is gone"),
        (schema(**TEXT), schema(type="integer"), "a: type was 'string', is 'integer'"),
        (
            schema(type="integer", format="int32"),
            schema(type="integer", format="int64"),
            "a: format was 'int32', is 'int64'",
        ),
        (schema(**TEXT), schema(type="string", default="x"), "a: default was absent, is 'x'"),
        (schema(type="string", default="x"), schema(**TEXT), "a: default was 'x', is absent"),
        (schema(type="boolean", default=False), schema(type="boolean", default=True), "a: default was False, is True"),
        (schema(**TEXT), schema(type="string", pattern="^a"), "a: pattern '^a' refuses what was taken (absent)"),
        (schema(type="integer", minimum=1), schema(type="integer", minimum=2), "a: minimum was 1, is 2"),
        (schema(type="integer"), schema(type="integer", minimum=0), "a: minimum was absent, is 0"),
        (schema(type="integer"), schema(type="integer", maximum=5), "a: maximum was absent, is 5"),
        (schema(type="string", maxLength=5), schema(type="string", maxLength=4), "a: maxLength was 5, is 4"),
        (schema(**TEXT), schema(type="string", enum=["x"]), "a: took any value, takes only x"),
        (schema(type="string", enum=["x", "y"]), schema(type="string", enum=["y"]), "a: no longer takes 'x'"),
        (schema(**TEXT), {**schema(**TEXT), "required": ["a"]}, "the root: a was optional, is required"),
        (
            schema(**TEXT),
            {**schema(**TEXT), "x-kubernetes-validations": [{"rule": "r"}]},
            "the root: the rule 'r' refuses what was taken",
        ),
        (
            schema(type="array", items=TEXT),
            schema(type="array", items={"type": "integer"}),
            "a[]: type was 'string', is",
        ),
        (
            schema(type="object", additionalProperties=TEXT),
            schema(type="object", additionalProperties={"type": "integer"}),
            "a{}: type was 'string', is 'integer'",
        ),
        (
            schema(type="object", additionalProperties=TEXT),
            schema(type="object", properties={}),
            "a: additionalProperties was {'type': 'string'}, is absent",
        ),
        (
            schema(type="array", items=TEXT),
            schema(type="array", items=TEXT, **{"x-kubernetes-list-type": "set"}),
            "a: x-kubernetes-list-type was absent, is 'set'",
        ),
        (
            schema(**TEXT),
            schema(**{"x-kubernetes-int-or-string": True}),
            "a: type was 'string', is absent",
        ),
    ],
)
def test_what_breaks_is_named(old: dict[str, Any], new: dict[str, Any], told: str) -> None:
    assert next(schema_breaks(old, new)).startswith(told)


Change = Callable[[dict[str, Any]], None]


def column_first(spec: dict[str, Any]) -> None:
    spec["versions"][0]["additionalPrinterColumns"].insert(0, {"name": "X", "type": "string", "jsonPath": ".spec"})


def wide_column(spec: dict[str, Any]) -> None:
    column = {"name": "X", "type": "string", "jsonPath": ".spec", "priority": 1}
    spec["versions"][0]["additionalPrinterColumns"].insert(0, column)


def no_column(spec: dict[str, Any]) -> None:
    del spec["versions"][0]["additionalPrinterColumns"][0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda spec: spec.update(scope="Cluster"), "scope was Namespaced, is Cluster"),
        (lambda spec: spec["names"].update(plural="works"), "names.plural was jobs, is works"),
        (lambda spec: spec["names"].update(shortNames=["vj"]), "names.shortNames: vcjob is gone"),
        (lambda spec: spec["versions"][0].update(name="v2"), "version v1alpha1 is no longer served"),
        (lambda spec: spec["versions"][0].update(served=False), "version v1alpha1 is no longer served"),
        (lambda spec: spec["versions"][0].update(subresources={}), "subresource status is gone: writers of it break"),
        (no_column, "column STATUS is gone or changed"),
        (column_first, "columns were STATUS, minAvailable, RUNNINGS, AGE, are X, STATUS, minAvailable, RUNNINGS, AGE"),
    ],
)
def test_names_versions_and_columns_are_kept(change: Change, told: str) -> None:
    old = manifest(real(), real_kind("Job"))
    new = copy.deepcopy(old)
    change(new["spec"])
    assert told in breaks(old, new)


@pytest.mark.parametrize(
    "change",
    [
        wide_column,
        lambda spec: spec["names"]["shortNames"].append("work"),
        lambda spec: spec["versions"].append({**spec["versions"][0], "name": "v1beta1", "storage": False}),
    ],
)
def test_names_versions_and_wide_columns_may_be_added(change: Change) -> None:
    old = manifest(real(), real_kind("Job"))
    new = copy.deepcopy(old)
    change(new["spec"])
    assert breaks(old, new) == []


def test_a_status_subresource_that_comes_is_a_break_too() -> None:
    old = manifest(real(), real_kind("PodGroup"))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["subresources"] = {"status": {}}
    assert breaks(old, new) == ["subresource status is new: writers of it break"]


def test_no_field_of_a_pod_group_can_go_unnoticed() -> None:
    """Each node in turn is taken out: the comparison tells of every one."""
    whole = manifest(real(), real_kind("PodGroup"))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    removed = 0
    for path, node in walk(whole):
        for name in node.get("properties", {}):
            smaller = copy.deepcopy(whole)
            target = next(inner for inner_path, inner in walk(smaller) if inner_path == path)
            del target["properties"][name]
            assert len(list(schema_breaks(whole, smaller))) == 1
            removed += 1
    assert removed == 40
