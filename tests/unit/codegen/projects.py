"""Projects for tests of the generator: the real one, and small ones written to a folder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from codegen.expand import Expander
from codegen.problems import SourceError
from codegen.project import Kind, Project
from codegen.source import load

ROOT = Path(__file__).resolve().parents[3]
CORE = {
    "components": {
        "schemas": {
            "meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}},
            "meta.v1.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "meta.v1.Time": {"type": "string", "format": "date-time"},
            "core.v1.Port": {
                "type": "object",
                "required": ["number"],
                "properties": {
                    "number": {"type": "integer", "format": "int32", "default": 0},
                    "protocol": {"type": "string", "default": "TCP", "enum": ["TCP", "UDP"]},
                },
            },
        }
    }
}
WIDGET = """
    group: test.example.com
    version: v1
    components:
      Widget:
        description: A thing.
        properties:
          metadata: {$ref: meta.v1.ObjectMeta}
          spec: {description: What it is., $ref: WidgetSpec}
          status: {description: How it is., $ref: WidgetStatus}
      WidgetSpec:
        properties:
          size: {description: How big., type: integer, minimum: 1}
          color: {$ref: Color}
      Color: {type: string, enum: [red, green]}
      WidgetStatus:
        properties:
          phase: {type: string}
"""
PROJECT = """
    domain: example.com
    kinds:
      - {group: test.example.com, version: v1, kind: Widget, plural: widgets}
    external: []
"""


@cache
def real() -> Project:
    """The project of this repository, read once."""
    return load(ROOT)


def real_kind(name: str) -> Kind:
    return next(kind for kind in real().kinds if kind.kind == name)


def write(root: Path, files: dict[str, str] | None = None) -> Path:
    """A project with one kind, Widget, plus or instead the given files; paths are relative to `api/`."""
    core = {"k8s/openapi.json": json.dumps(CORE), "k8s/pointers.yaml": "[]"}
    texts = {"project.yaml": PROJECT, "test/v1.yaml": WIDGET, **core, **(files or {})}
    for path, text in texts.items():
        target = root / "api" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text), encoding="utf-8")
    return root


def with_spec(fields: str, components: str = "") -> str:
    """The Widget file with other fields in WidgetSpec and further components, both as YAML lines."""
    lines = dedent(WIDGET).splitlines()
    start = lines.index("  WidgetSpec:")
    end = lines.index("  Color: {type: string, enum: [red, green]}")
    spec = ["  WidgetSpec:", "    properties:", *(f"      {line}" for line in dedent(fields).strip("\n").splitlines())]
    further = [f"  {line}" for line in dedent(components).strip("\n").splitlines()]
    return "\n".join([*lines[:start], *spec, *lines[end:], *further, ""])


def mistakes(root: Path) -> list[str]:
    """The lines that a project with mistakes gives."""
    with pytest.raises(SourceError) as caught:
        load(root)
    return [str(problem) for problem in caught.value.problems]


def schema_of(root: Path, **overrides: Any) -> dict[str, Any]:
    """The expanded schema of Widget's spec."""
    project = load(root)
    expanded: dict[str, Any] = Expander(project, **overrides).kind(project.kinds[0])["properties"]["spec"]
    return expanded
