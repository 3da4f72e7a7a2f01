"""
Typed listers: `generated/listers/`, one class a kind with a method for each index of `api/project.yaml`, and the
index functions that an informer is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codegen import naming
from codegen.document import PREFIX, Absence, Property, Shape, Types
from codegen.groups import Described, group_versions
from codegen.problems import Problem, SourceError
from codegen.project import Kind, Project, Schema
from codegen.rendering import render


def files(project: Project, types: Types) -> dict[str, str]:
    """Text by path of all lister modules. Raises SourceError for an index on a path that holds no text."""
    texts = {"generated/listers/base.py": render("listers/base.py.j2")}
    for group in group_versions(project):
        kinds = [_kind(kind, types) for kind in group.kinds]
        values = {
            "group": group,
            "kinds": kinds,
            "bases": sorted({kind["base"] for kind in kinds}),
            "indexed": any(kind["indexes"] for kind in kinds),
        }
        texts[f"generated/listers/{group.file}.py"] = render("listers/group.py.j2", values)
    return texts


def _kind(described: Described, types: Types) -> dict[str, Any]:
    kind = described.kind
    return {
        "name": described.name,
        "constant": described.constant,
        "base": "NamespacedLister" if kind.namespaced else "ClusterLister",
        "indexes": [
            {
                "name": name,
                "attribute": naming.snake(name),
                "function": f"_{naming.snake(kind.kind)}_by_{naming.snake(name)}",
                "paths": paths,
                "lines": [line for path in paths for line in index_lines(kind, types, path)],
            }
            for name, paths in sorted(kind.indexes.items())
        ],
    }


@dataclass(frozen=True, slots=True)
class _Step:
    """One name of an index path, and whether `[]` stands behind it."""

    name: str
    is_list: bool

    @classmethod
    def parse(cls, path: str) -> list[_Step]:
        return [cls(part.removesuffix("[]"), part.endswith("[]")) for part in path.removeprefix(".").split(".")]


def index_lines(kind: Kind, types: Types, path: str) -> Iterator[str]:
    """
    The body of the generator function that yields the non-empty texts at a path such as `spec.flows[].name`.

    Raises SourceError when the path leads nowhere or to something that is no text.
    """
    owner, expression, indent = kind.component, "obj", ""
    *steps, last = _Step.parse(path)
    for step in steps:
        item = _property(kind, types, owner, step, path)
        owner = _element(item, step).get("$ref", "").removeprefix(PREFIX)
        value = f"{expression}.{item.attribute}"
        if step.is_list:
            expression = f"each_{item.attribute}"
            yield f"{indent}for {expression} in {value}:"
        elif item.absence is Absence.NONE:
            expression = f"the_{item.attribute}"
            yield f"{indent}if ({expression} := {value}) is not None:"
        else:
            expression = value
            continue
        indent += "    "
    item = _property(kind, types, owner, last, path)
    if _element(item, last).get("type") != "string":
        raise _refusal(kind, path, f"{last.name} holds no text: an index needs text")
    value = f"{expression}.{item.attribute}"
    if last.is_list:
        yield f"{indent}yield from filter(None, {value})"
    else:
        yield f"{indent}if {value}:"
        yield f"{indent}    yield {value}"


def _property(kind: Kind, types: Types, owner: str, step: _Step, path: str) -> Property:
    owned = types.classes.get(owner)
    found = next((item for item in owned.properties if item.wire == step.name), None) if owned else None
    if found is None:
        raise _refusal(kind, path, f"there is no {step.name} here")
    if step.is_list and found.shape is not Shape.LIST:
        raise _refusal(kind, path, f"{step.name} is no list: drop the []")
    return found


def _element(item: Property, step: _Step) -> Schema:
    """The type of what a step leads to."""
    element: Schema = item.schema["items"] if step.is_list else item.schema
    return element


def _refusal(kind: Kind, path: str, why: str) -> SourceError:
    return SourceError([Problem(kind.file, f"{kind.kind}.indexes", f"{path}: {why}")])
