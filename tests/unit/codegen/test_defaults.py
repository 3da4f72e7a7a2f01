from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen.defaults import files
from codegen.source import load
from runtime.defaulting import Node, apply
from tests.unit.codegen.projects import with_spec, write


def root(path: Path, fields: str, components: str = "") -> Node | None:
    """The node of Widget, taken from the generated text."""
    text = files(load(write(path, {"test/v1.yaml": with_spec(fields, components)})))["generated/defaults.py"]
    data = "\n".join(line.replace(": Final", "") for line in text.splitlines() if line.startswith("_N"))
    namespace: dict[str, Any] = {"Node": Node}
    exec(data, namespace)
    named = [line for line in text.splitlines() if line.startswith("    test_v1.Widget:")]
    return namespace[named[0].split(": ")[1].rstrip(",")] if named else None


def test_defaults_are_found_at_every_depth(tmp_path: Path) -> None:
    fields = """
        color: {type: string, default: red}
        many: {type: array, items: {$ref: Part}}
        named: {additionalProperties: {$ref: Part}}
        plain: {type: string}
    """
    node = root(
        tmp_path, fields, "Part: {properties: {size: {type: integer, default: 3}, on: {type: boolean, default: true}}}"
    )
    part = {"size": 3, "on": True}
    assert apply({"spec": {"many": [{}], "named": {"x": {"size": 1}}}}, node) == {
        "spec": {"color": "red", "many": [part], "named": {"x": {"size": 1, "on": True}}}
    }


def test_an_object_as_default_is_kept(tmp_path: Path) -> None:
    node = root(tmp_path, 'part: {properties: {a: {type: string}}, default: {a: "x y"}}')
    assert apply({"spec": {}}, node) == {"spec": {"part": {"a": "x y"}}}


def test_a_kind_without_defaults_has_no_root(tmp_path: Path) -> None:
    assert root(tmp_path, "size: {type: integer}") is None


def test_equal_parts_are_written_once(tmp_path: Path) -> None:
    fields = "a: {$ref: Part}\nb: {$ref: Part}\nc: {type: array, items: {$ref: Part}}"
    text = files(
        load(
            write(tmp_path, {"test/v1.yaml": with_spec(fields, "Part: {properties: {x: {type: string, default: y}}}")})
        )
    )
    assert text["generated/defaults.py"].count('{"x": "y"}') == 1
