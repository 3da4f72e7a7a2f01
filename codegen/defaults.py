"""
`generated/defaults.py`: the defaults of the CRDs, for objects that never meet an API server.

The data is cut out of the expanded schemas, so it is what the server applies; equal parts (a pod template stands
in four kinds) are written once.
"""

from __future__ import annotations

from typing import Any

from codegen.expand import Expander
from codegen.project import Project, Schema
from codegen.pytext import literal
from codegen.rendering import render


def files(project: Project) -> dict[str, str]:
    """Text by path."""
    table = _Table()
    expander = Expander(project, "drop")
    roots = []
    for kind in sorted(project.kinds, key=lambda kind: (kind.api_version, kind.kind)):
        node = table.add(expander.kind(kind))
        if node:
            roots.append({"module": kind.module, "kind": kind.kind, "node": node})
    modules = sorted({root["module"] for root in roots})
    values = {"nodes": table.nodes, "roots": roots, "modules": modules}
    return {"generated/defaults.py": render("defaults.py.j2", values, "api")}


class _Table:
    """The nodes with a default at or below them, each text once, children first."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    @property
    def nodes(self) -> list[tuple[str, str]]:
        """(name, expression) in order."""
        return [(name, text) for text, name in self._names.items()]

    def add(self, schema: Schema) -> str:
        """Name of the node for a structural schema, empty when nothing below it has a default."""
        properties = schema.get("properties", {})
        parts = {
            "values": _mapping(
                {name: _value(child["default"]) for name, child in properties.items() if "default" in child}
            ),
            "properties": _mapping({name: self.add(child) for name, child in properties.items()}),
            "items": self._add_single(schema.get("items")),
            "additional": self._add_single(schema.get("additionalProperties")),
        }
        text = ", ".join(f"{key}={part}" for key, part in parts.items() if part)
        return self._names.setdefault(f"Node({text})", f"_N{len(self._names)}") if text else ""

    def _add_single(self, schema: Any) -> str:
        return self.add(schema) if isinstance(schema, dict) else ""


def _mapping(items: dict[str, str]) -> str:
    inner = ", ".join(f"{literal(key)}: {text}" for key, text in sorted(items.items()) if text)
    return f"{{{inner}}}" if inner else ""


def _value(value: Any) -> str:
    return literal(value) if isinstance(value, str) else repr(value)
