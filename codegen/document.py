"""
The one document from which all Python types are made: our components and Kubernetes', freed of everything
that is no type.

Each property knows what its absence means (`Absence`). The models' and the builders' templates read the same `Types`,
which `typereader` fills.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from codegen.project import Schema

PREFIX = "#/components/schemas/"

ALIASES: Mapping[str, Schema] = {
    "meta.v1.Duration": {"type": "string"},
    "meta.v1.IntOrString": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "meta.v1.MicroTime": {"type": "string"},
    "meta.v1.Quantity": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]},
    "meta.v1.Time": {"type": "string"},
}
"""Types that stay text or number as sent; each becomes a type alias."""


class Absence(Enum):
    """What it means that a property is not there, and so which default its field has."""

    ZERO = "equals the zero value"
    NONE = "differs from the zero value"
    WRITTEN = "is refused by the server: the zero value is written"


class Shape(Enum):
    """Which zero value a field has."""

    TEXT = "string"
    WHOLE = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    LIST = "array"
    MAP = "map"
    STRUCT = "object"
    MIXED = "number or string"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Property:
    """One field of a type."""

    wire: str
    attribute: str
    schema: Schema
    """Its type alone: `type`, `items`, `additionalProperties` or `$ref`."""
    shape: Shape
    absence: Absence
    description: str = ""


@dataclass(frozen=True, slots=True)
class Constants:
    """An enumeration: named constants for its values; fields stay plain strings, since servers add values."""

    name: str
    values: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """One class: a component with properties."""

    name: str
    """Dotted (`batch.v1alpha1.JobSpec`)."""
    properties: tuple[Property, ...]
    description: str = ""

    @property
    def module(self) -> str:
        """`batch.v1alpha1`."""
        return self.name.rpartition(".")[0]


@dataclass(slots=True)
class Types:
    """All classes and enumerations by dotted name, in name order."""

    classes: dict[str, Type] = field(default_factory=dict)
    constants: dict[str, Constants] = field(default_factory=dict)

    def openapi(self) -> dict[str, Any]:
        """The document that the model generator reads."""
        schemas: dict[str, Schema] = dict(ALIASES)
        for name, made in self.classes.items():
            properties = {item.wire: item.schema for item in made.properties}
            schemas[name] = {"type": "object", "properties": properties, "required": list(properties)}
        head = {"openapi": "3.0.0", "info": {"title": "types", "version": "1"}, "paths": {}}
        return {**head, "components": {"schemas": dict(sorted(schemas.items()))}}


def by_module(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """(module, its dotted names) in order."""
    modules: dict[str, list[str]] = {}
    for name in sorted(names):
        modules.setdefault(name.rpartition(".")[0], []).append(name)
    yield from sorted(modules.items())
