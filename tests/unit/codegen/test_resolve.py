from __future__ import annotations

from pathlib import Path

import pytest

from codegen.project import Project
from codegen.resolve import Resolver, references
from codegen.source import load
from tests.unit.codegen.projects import with_spec, write


def project(**components: object) -> Project:
    named = {f"a.v1.{name}": schema for name, schema in components.items()}
    return Project("", (), (), named, {"core.v1.Port": {"type": "object"}}, {})  # type: ignore[arg-type]


def test_a_reference_is_followed_with_its_siblings_on_top() -> None:
    resolve = Resolver(
        project(
            One={"$ref": "a.v1.Two", "description": "One."},
            Two={"description": "Two.", "properties": {"x": {"type": "string"}}},
        )
    )
    found = resolve({"$ref": "a.v1.One", "nullable": True, "properties": {"y": {"type": "string"}}})
    assert found == {
        "description": "One.",
        "nullable": True,
        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
    }


def test_built_in_types_resolve_to_what_a_crd_says() -> None:
    assert Resolver(project())({"$ref": "meta.v1.Time"}) == {"type": "string", "format": "date-time"}


def test_unknown_and_circular_references_end() -> None:
    resolve = Resolver(project(A={"$ref": "a.v1.B"}, B={"$ref": "a.v1.A", "description": "B."}))
    assert resolve({"$ref": "a.v1.Nothing", "default": 1}) == {"default": 1}
    assert resolve({"$ref": "a.v1.A"}) == {"description": "B."}


def test_known_names_are_ours_vendored_or_built_in() -> None:
    resolve = Resolver(project(A={}))
    assert all(resolve.knows(name) for name in ("a.v1.A", "core.v1.Port", "meta.v1.Duration"))
    assert not resolve.knows("a.v1.B")
    assert not resolve.knows(1)


@pytest.mark.parametrize(
    ("components", "cycles"),
    [
        ({"A": {"$ref": "a.v1.B"}, "B": {"type": "string"}}, []),
        ({"A": {"items": {"$ref": "a.v1.A"}}}, [("a.v1.A", "a.v1.A")]),
        (
            {"A": {"$ref": "a.v1.B"}, "B": {"$ref": "a.v1.C"}, "C": {"$ref": "a.v1.B"}},
            [("a.v1.B", "a.v1.C", "a.v1.B")],
        ),
        ({"A": {"$ref": "core.v1.Port"}}, []),
    ],
)
def test_each_cycle_is_found_once(components: dict[str, object], cycles: list[tuple[str, ...]]) -> None:
    assert list(Resolver(project(**components)).cycles()) == cycles


def test_references_are_collected_from_everywhere(tmp_path: Path) -> None:
    spec = with_spec("a: {type: array, items: {$ref: Color}}\nb: {additionalProperties: {$ref: core.v1.Port}}")
    loaded = load(write(tmp_path, {"test/v1.yaml": spec}))
    assert references(loaded.components["test.v1.WidgetSpec"]) == {"test.v1.Color", "core.v1.Port"}
