"""
The schemas of a project, read as types.

Inline objects get names, scalar components dissolve into the fields that use them, and each property learns
what its absence means. What would share a name is refused, with both places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from codegen import naming
from codegen.document import ALIASES, PREFIX, Absence, Constants, Property, Shape, Type, Types
from codegen.problems import Problem, SourceError
from codegen.project import Project, Schema
from codegen.schema import type_of
from codegen.yamlfile import read

POINTERS_FILE = "api/k8s/pointers.yaml"
OBJECT_META = "meta.v1.ObjectMeta"

_FREE_FORM = "meta.v1.RawExtension"
_TIMES = frozenset({"meta.v1.MicroTime", "meta.v1.Time"})
_MIXED = frozenset({"meta.v1.IntOrString", "meta.v1.Quantity"})

_UNREAD_PROPERTIES: Mapping[str, frozenset[str]] = {OBJECT_META: frozenset({"managedFields", "selfLink"})}
"""Left out of models to save memory in caches: nobody reads them, and they make up half of many objects."""
_NO_CLASS = frozenset({"meta.v1.FieldsV1", "meta.v1.ManagedFieldsEntry", _FREE_FORM, *ALIASES})

_TAKEN = frozenset({"Any", "Builder", "Final", "Mapping", "Model", "Resource", "Sequence", "TypeAlias", "UnsetType"})
"""Names that the generated modules import; `Builder` and the containers are for apply builders."""

_TYPE_META: Mapping[str, Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class _Spot:
    """A class to be made, and the place in the sources that asks for it."""

    name: str
    component: str
    path: str = ""

    @property
    def place(self) -> str:
        """As authors know it: `components.JobSpec.properties.foo`."""
        return ".".join(filter(None, ("components", self.component.rpartition(".")[2], self.path)))

    def below(self, wire: str) -> _Spot:
        """The spot of an object or enumeration that is written at a property."""
        return replace(self.inside(f"properties.{wire}"), name=f"{self.name}{naming.pascal(wire)}")

    def inside(self, key: str) -> _Spot:
        """The same class, written below a key."""
        return replace(self, path=f"{self.path}.{key}" if self.path else key)


def types_of(project: Project) -> Types:
    """Every type of the project. Raises SourceError for properties that would share a Python name."""
    return _Reader(project, _pointers(project)).read()


def _pointers(project: Project) -> frozenset[str]:
    """`core.v1.PodSpec.securityContext`-like names of the vendored properties whose absence differs from zero."""
    path = project.root / POINTERS_FILE
    if not project.core and not path.exists():
        return frozenset()
    values = read(path, project.root)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SourceError([Problem(POINTERS_FILE, "", "must be a list of names: run `make vendor-schemas` again")])
    return frozenset(values)


class _Reader:
    def __init__(self, project: Project, pointers: frozenset[str]) -> None:
        self._project = project
        self._pointers = pointers
        self._types = Types()
        self._problems: list[Problem] = []
        self._spots: dict[str, _Spot] = {}
        """Where each name of a generated module comes from."""

    def read(self) -> Types:
        kinds = {kind.component for kind in (*self._project.kinds, *self._project.external)}
        for name in sorted({*self._project.components, *self._project.core} - _NO_CLASS):
            spot = _Spot(name, name)
            schema = self._project.schema(name)
            if name in kinds:
                schema = {**schema, "properties": {**_TYPE_META, **schema.get("properties", {})}}
            if "properties" in schema:
                self._add_class(spot, schema)
            elif "enum" in schema and not self._project.is_core(name):
                self._add_constants(spot, schema)
        if self._problems:
            raise SourceError(self._problems)
        self._types.classes = dict(sorted(self._types.classes.items()))
        self._types.constants = dict(sorted(self._types.constants.items()))
        return self._types

    def _add_class(self, spot: _Spot, schema: Schema) -> None:
        name = spot.name
        self._claim(spot)
        if name.rpartition(".")[2] in _TAKEN:
            what = "field" if spot.path else "component"
            self._refuse(spot, f"the generated module needs this name for something else: rename the {what}")
        required = frozenset(schema.get("required", ()))
        unread = _UNREAD_PROPERTIES.get(name, frozenset())
        properties = tuple(
            self._property(spot, wire, node, required=wire in required)
            for wire, node in sorted(schema["properties"].items())
            if wire not in unread
        )
        self._refuse_shared_names(spot, properties)
        self._types.classes[name] = Type(name, properties, schema.get("description", ""))

    def _claim(self, spot: _Spot) -> None:
        """Take the name of a class: one that is made of two things would keep only the second."""
        first = self._spots.setdefault(spot.name, spot)
        if first != spot:
            name = spot.name.rpartition(".")[2]
            message = f"its class would be called {name}, as that of {self._place(first)}: rename one"
            self._refuse(spot, message)

    def _refuse(self, spot: _Spot, message: str) -> None:
        file = self._project.file_of(spot.component, spot.path)
        self._problems.append(Problem(file, spot.place, message))

    def _place(self, spot: _Spot) -> str:
        return f"{spot.place} ({self._project.file_of(spot.component, spot.path)})"

    def _refuse_shared_names(self, spot: _Spot, properties: Iterable[Property]) -> None:
        taken: dict[str, str] = {}
        for item in properties:
            other = taken.setdefault(item.attribute, item.wire)
            if other != item.wire:
                message = f"{item.wire} and {other} would both be called {item.attribute} in Python: rename one"
                self._refuse(spot, message)

    def _add_constants(self, spot: _Spot, schema: Schema) -> None:
        values = tuple(value for value in schema["enum"] if isinstance(value, str))
        if not values:
            return
        self._claim(spot)
        taken = {"VALUES": "the list of all values"}
        for value in values:
            other = taken.setdefault(naming.constant(value), repr(value))
            if other != repr(value):
                message = f"{value!r} and {other} would both be called {naming.constant(value)} in Python: rename one"
                self._refuse(spot, message)
        self._types.constants[spot.name] = Constants(spot.name, values, schema.get("description", ""))

    def _property(self, spot: _Spot, wire: str, node: Schema, *, required: bool) -> Property:
        owner, nested = spot.name, spot.below(wire)
        whole = self._resolved(node)
        if "enum" in whole and not self._dissolved(node) and not self._project.is_core(owner):
            self._add_constants(nested, whole)
        schema = self._type(node, nested)
        shape = self._shape(schema)
        pointer = f"{owner}.{wire}" in self._pointers or whole.get("nullable", False)
        if pointer or _is_time(node, whole) or shape is Shape.ANY or whole.get("default"):
            absence = Absence.NONE
        elif required:
            absence = Absence.WRITTEN
        else:
            absence = Absence.NONE if shape is Shape.MIXED else Absence.ZERO
        return Property(wire, naming.field(wire), schema, shape, absence, node.get("description", ""))

    def _dissolved(self, node: Schema) -> bool:
        """Whether the node refers to a component that is no class, such as a named enumeration."""
        target = node.get("$ref")
        return target is not None and target not in _NO_CLASS and "properties" not in self._project.schema(target)

    def _resolved(self, node: Schema) -> Schema:
        """The node with the scalar components that it refers to dissolved into it."""
        if not self._dissolved(node):
            return node
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return {**self._resolved(self._project.schema(node["$ref"])), **siblings}

    def _type(self, node: Schema, nested: _Spot) -> Schema:
        """The node's bare type; inline objects become classes called `nested`."""
        node = self._resolved(node)
        if node.get("$ref") == _FREE_FORM:
            return {"type": "object", "additionalProperties": True}
        if "$ref" in node and "properties" not in node:
            return {"$ref": PREFIX + node["$ref"]}
        if "properties" in node:
            self._add_class(nested, self._extended(node))
            return {"$ref": PREFIX + nested.name}
        if "anyOf" in node or "oneOf" in node or node.get("x-kubernetes-int-or-string"):
            return {"$ref": f"{PREFIX}meta.v1.IntOrString"}
        return self._plain(node, nested)

    def _plain(self, node: Schema, nested: _Spot) -> Schema:
        kind = type_of(node)
        if kind == "array":
            return {"type": "array", "items": self._type(node.get("items", {}), nested.inside("items"))}
        if kind == "object":
            values = node.get("additionalProperties", True)
            inner = self._type(values, nested.inside("additionalProperties")) if isinstance(values, dict) else True
            return {"type": "object", "additionalProperties": inner}
        return {"type": kind} if kind else {}

    def _extended(self, node: Schema) -> Schema:
        """An inline object, joined with the component that it extends."""
        target = self._project.schema(node["$ref"]) if "$ref" in node else {}
        return {**target, **node, "properties": {**target.get("properties", {}), **node["properties"]}}

    def _shape(self, schema: Schema) -> Shape:
        target = schema.get("$ref", "").removeprefix(PREFIX)
        if target in _MIXED:
            return Shape.MIXED
        if target in ALIASES:
            schema = ALIASES[target]
        elif target:
            return Shape.STRUCT
        kind = schema.get("type")
        if kind is None:
            return Shape.ANY
        return Shape.MAP if kind == "object" else Shape(kind)


def _is_time(node: Schema, whole: Schema) -> bool:
    return node.get("$ref") in _TIMES or whole.get("format") == "date-time"
