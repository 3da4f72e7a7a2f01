"""
Merging a site's `api/extensions/*.yaml` over our schemas.

An extension may add: properties, enum values, whole components, whole kinds, and what was left unsaid
(a description). It may never remove, narrow or retype, since every object that was valid yesterday has
to stay valid: an attempt is a problem that names the file and the field.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field
from typing import Any

from codegen.kinds import GROUP, VERSION, package_fault, read_kinds
from codegen.problems import Problem, choice
from codegen.project import Kind, Schema
from codegen.schema import map_children

_KEYS = ("components", "group", "kinds", "version")


@dataclass(slots=True)
class Sources:
    """Kinds and components while they are being collected."""

    kinds: list[Kind] = field(default_factory=list)
    external: list[Kind] = field(default_factory=list)
    """Kinds of Kubernetes: their groups are taken."""
    groups: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Module -> the whole group that it stands for, and the file that said so first."""
    additions: list[tuple[str, str, str]] = field(default_factory=list)
    """(module, group, file) of each extension file that adds components."""
    components: dict[str, Schema] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def define(self, name: str, schema: Schema, file: str) -> None:
        """Take a new component; `file` wrote it."""
        self.components[name] = schema
        self.origins[name] = file

    def claim(self, document: Schema, module: str, file: str, *, is_core: bool = False) -> Problem | None:
        """Tie the module to the document's whole group; a problem when it belongs to another group already."""
        for kind in (*self.kinds, *self.external):
            self.groups.setdefault(kind.module, (kind.group or "core", kind.file))
        group: str = document["group"]
        if is_core and "." in group and not group.endswith(".k8s.io"):
            self.groups.setdefault(module, (module.split(".", 1)[0], "Kubernetes"))
        owner, where = self.groups.setdefault(module, (group, file))
        if owner == group:
            return None
        message = f"{group!r} is not {owner!r}, which the module {module} is made for ({where})"
        return Problem(file, "group", f"{message}: name that group, or change the version or the group's first label")

    def strangers(self) -> list[Problem]:
        """Extension files that add to a group version which neither schema files nor kinds have."""
        known = {kind.module for kind in (*self.kinds, *self.external)}
        known |= {name.rsplit(".", 1)[0] for name, file in self.origins.items() if "/extensions/" not in file}
        problems = []
        for module, group, file in self.additions:
            if module not in known:
                version = module.split(".", 1)[1]
                message = f"there is no {group}/{version}, and no kind of it comes with an extension"
                problems.append(Problem(file, "group", f"{message}: correct group and version, or add `kinds`"))
        return problems


def module_of(document: dict[str, Any], file: str, problems: list[Problem]) -> str:
    """`batch.v1alpha1` from the document's group and version, or nothing when they are missing."""
    group, version = document.get("group"), document.get("version")
    for key, value in (("group", group), ("version", version)):
        if not isinstance(value, str) or not value:
            problems.append(Problem(file, key, "is missing: name the API group and version of the components"))
            return ""
    for key, value, shape in (("group", group, GROUP), ("version", version, VERSION)):
        if not shape.fullmatch(str(value)):
            problems.append(Problem(file, key, f"{value!r} doesn't match {shape.pattern}"))
            return ""
    if fault := package_fault(str(group)):
        problems.append(Problem(file, "group", fault))
        return ""
    return f"{str(group).split('.', 1)[0]}.{version}"


def components_of(document: dict[str, Any], file: str, problems: list[Problem]) -> dict[str, Schema]:
    """The document's components; anything that is no named schema is a problem."""
    unknown = sorted(document.keys() - set(_KEYS))
    problems += [Problem(file, key, f"unknown key{choice(key, _KEYS)}") for key in unknown]
    components = document.get("components", {})
    if not isinstance(components, dict):
        problems.append(Problem(file, "components", "must be a mapping of component names to schemas"))
        return {}
    found = {}
    for name, schema in components.items():
        if not isinstance(schema, dict):
            problems.append(Problem(file, f"components.{name}", "must be a schema: a mapping such as {type: string}"))
        elif not name.isidentifier() or not name.isascii() or not name[0].isupper() or keyword.iskeyword(name):
            problems.append(Problem(file, f"components.{name}", "must be named in CamelCase: it becomes a class name"))
        else:
            found[name] = schema
    return found


def merge(
    sources: Sources, document: dict[str, Any], file: str, problems: list[Problem], core: dict[str, Schema]
) -> None:
    """Merge one extension file into the sources; `core` holds the types that no extension may touch."""
    if "kinds" in document:
        sources.kinds += read_kinds(document["kinds"], file, "kinds", problems)
    components = components_of(document, file, problems)
    module = module_of(document, file, problems) if components else ""
    if not module:
        return
    is_core = any(name.startswith(f"{module}.") for name in core)
    foreign = sources.claim(document, module, file, is_core=is_core)
    if foreign is not None:
        problems.append(foreign)
        return
    if not is_core:
        sources.additions.append((module, document["group"], file))
    for name, addition in components.items():
        dotted = f"{module}.{name}"
        schema = qualified(addition, module)
        if dotted in sources.components:
            merger = _Merger(file, dotted, problems, sources.origins)
            sources.components[dotted] = merger.node(sources.components[dotted], schema, f"components.{name}", "")
        elif dotted in core:
            message = "is a Kubernetes type, which the API server defines: add a component of your own instead"
            problems.append(Problem(file, f"components.{name}", message))
        else:
            sources.define(dotted, schema, file)


def qualified(node: Schema, module: str) -> Schema:
    """A copy of the schema in which bare component names in `$ref` carry the module that they stand in."""
    copy = map_children(node, lambda child: qualified(child, module))
    target = copy.get("$ref")
    if isinstance(target, str) and "." not in target:
        copy["$ref"] = f"{module}.{target}"
    return copy


_FREE = frozenset({"description", "example", "externalDocs", "title"})
"""Keywords that change no object's validity: an extension may set them."""
_NESTED = ("items", "additionalProperties")


@dataclass(frozen=True, slots=True)
class _Merger:
    """Lays the additions of one file over one component."""

    file: str
    component: str
    problems: list[Problem]
    origins: dict[str, str]

    def node(self, base: Any, addition: Any, where: str, path: str) -> Any:
        """
        The base with what the addition adds.

        `where` is the place in the extension file, `path` the place in the component.
        """
        if not isinstance(base, dict):
            return base  # which is told where it stands
        if not isinstance(addition, dict):
            self._refuse(where, "must be a schema; an extension can't remove a field")
            return base
        merged = dict(base)
        for key, value in addition.items():
            place, inner = f"{where}.{key}", f"{path}.{key}" if path else key
            if key == "properties":
                self._properties(merged, value, place, inner)
            elif key == "enum":
                merged["enum"] = self._enum(base, value, place)
            elif key in _NESTED and isinstance(base.get(key), dict):
                merged[key] = self.node(base[key], value, place, inner)
            elif key in _FREE:
                merged[key] = value
            elif key not in base or base[key] != value:
                self._refuse(place, _changes(base, key, value))
        return merged

    def _properties(self, merged: Schema, additions: Any, where: str, path: str) -> None:
        if "$ref" in merged:
            self._refuse(where, f"the field is a {merged['$ref']}: add the properties to that component")
        elif not isinstance(merged.get("properties"), dict):
            self._refuse(where, "the field has no properties of its own, giving it some would retype it")
        elif not isinstance(additions, dict):
            self._refuse(where, "must be a mapping of field names to schemas")
        else:
            properties = dict(merged["properties"])
            for name, schema in additions.items():
                if name in properties:
                    properties[name] = self.node(properties[name], schema, f"{where}.{name}", f"{path}.{name}")
                elif isinstance(schema, dict):
                    properties[name] = schema
                    self.origins[f"{self.component}:{path}.{name}"] = self.file
                else:
                    self._refuse(f"{where}.{name}", "must be a schema: a mapping such as {type: string}")
            merged["properties"] = properties

    def _enum(self, base: Schema, values: Any, where: str) -> Any:
        known = base.get("enum")
        if not isinstance(known, list):
            self._refuse(where, "the field takes any value today, an enum would narrow it")
            return known
        if not isinstance(values, list):
            self._refuse(where, "must be a list of values to add")
            return known
        return known + [value for value in values if value not in known]

    def _refuse(self, where: str, message: str) -> None:
        self.problems.append(Problem(self.file, where, message))


def _changes(base: Schema, key: str, value: Any) -> str:
    if key == "required":
        return "an object that is valid today may lack the field: a new field has to be optional"
    before = f"from {base[key]!r} to {value!r}" if key in base else f"by adding {value!r}"
    return f"would change {key} {before}: an extension may add properties and enum values, not narrow or retype"
