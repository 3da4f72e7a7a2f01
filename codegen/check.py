"""
Checking the whole project: every schema node, every reference, every kind.

All mistakes are collected. What needs the expanded form (defaults, columns) is looked at once references
lead somewhere and come to an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from codegen import cel, keywords
from codegen.expand import OBJECT_META, Expander
from codegen.problems import Problem, hint
from codegen.project import Kind, Project, Schema
from codegen.resolve import Resolver
from codegen.schema import JUNCTORS, children, field_at, type_of, walk
from codegen.validate import findings

MOST_LEVELS = 64
"""Schemas inside each other: three times what the deepest kind of Kubernetes has, and far from Python's limit."""


def problems(project: Project, *, is_whole: bool = True) -> list[Problem]:
    """
    Every mistake in the schemas and kinds of a project.

    Unless the project `is_whole`, some file could not be read, and what only seems to be missing is not told.
    """
    resolver = Resolver(project)
    loops = [*_recursions(project, resolver)] or [*_depths(project, resolver)]
    broken = {component: list(_shapes(schema)) for component, schema in project.components.items()}
    found = [*_nodes(project, broken), *loops]
    is_sound = not found
    if not is_whole:
        return found
    missing = list(_unknown_references(project, resolver))
    found += missing
    if any(broken.values()):
        return found  # what looks at several nodes at once, or at values, would stumble
    found += _kinds(project, resolver)
    if is_sound and not missing:
        found += _defaults(project, Expander(project))
    return found


def _place(project: Project, component: str, path: str, keyword: str = "") -> tuple[str, str]:
    """(file, path inside it) of a node or of its keyword."""
    whole = ".".join(part for part in (path, keyword) if part)
    name = component.rsplit(".", 1)[-1]
    return project.file_of(component, whole), f"components.{name}.{whole}" if whole else f"components.{name}"


def _unknown_references(project: Project, resolver: Resolver) -> Iterator[Problem]:
    names = [*project.components, *project.core]
    for component, schema in project.components.items():
        for path, node in walk(schema):
            target = node.get("$ref")
            if isinstance(target, str) and not resolver.knows(target):
                file, place = _place(project, component, path, "$ref")
                yield Problem(file, place, f"there is no component {target!r}{_where_to_find(target, names)}")


def _where_to_find(target: str, names: list[str]) -> str:
    module, _, name = target.rpartition(".")
    advice = hint(target, names)
    if not advice and module.count(".") == 1:
        advice = (
            f"; add {name} to api/{module.replace('.', '/')}.yaml, or a Kubernetes type to ROOTS in codegen/vendor.py"
        )
    return advice or "; name it <group>.<version>.<Name>, or just <Name> in the same file"


def unused(project: Project, published: Iterable[str]) -> Iterator[Problem]:
    """
    Schema files that no kind is made of and nothing refers to: what is left of a kind, or its entry was forgotten.

    Without a word there would be a reference page of it, and nothing else. What stands in for one of the `published`
    components is used by these.
    """
    used = {kind.module for kind in (*project.kinds, *project.external)}
    used |= {name.rsplit(".", 1)[0] for name in published}
    for component, schema in project.components.items():
        module = component.rsplit(".", 1)[0]
        targets = (str(node.get("$ref", "")).rpartition(".")[0] for _, node in walk(schema))
        used |= {target for target in targets if target != module}
    for module in project.modules:
        file = f"api/{module.replace('.', '/')}.yaml"
        if module not in used and file in project.origins.values():
            message = "no kind is of this group and version, and nothing refers to its components"
            yield Problem(file, "", f"{message}: add the entry of its kind to api/project.yaml, or delete the file")


def _recursions(project: Project, resolver: Resolver) -> Iterator[Problem]:
    for cycle in resolver.cycles():
        file, place = _place(project, cycle[0], "")
        yield Problem(file, place, f"refers to itself ({' -> '.join(cycle)}): a CRD has no recursion, name the levels")


def _depths(project: Project, resolver: Resolver) -> Iterator[Problem]:
    message = f"with references followed, more than {MOST_LEVELS} schemas stand inside each other: make it flatter"
    for component in resolver.too_deep(MOST_LEVELS):
        yield Problem(*_place(project, component, ""), message)


def _shapes(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """(path, keyword, message) for each keyword whose value is no such thing."""
    for path, node in walk(schema):
        yield from ((path, keyword, message) for keyword, message in keywords.shape_faults(node))


def _nodes(project: Project, broken: Mapping[str, Sequence[tuple[str, str, str]]]) -> Iterator[Problem]:
    """Mistakes in nodes; those that are `broken` are asked nothing more, nor does anybody see what is broken there."""
    sound = {name: keywords.well_shaped(schema) for name, schema in project.components.items()}
    resolver = Resolver(replace(project, components=sound))
    for component, schema in sound.items():
        told = {path for path, _, _ in broken[component]}
        faults = _node(schema, resolver, "", enclosing=0)
        for path, keyword, message in (*broken[component], *(fault for fault in faults if fault[0] not in told)):
            yield Problem(*_place(project, component, path, keyword), message)


def _node(node: Schema, resolver: Resolver, path: str, *, enclosing: int) -> Iterator[tuple[str, str, str]]:
    """(path, keyword, message) for a node and all below it; `enclosing` counts unbounded collections around it."""
    resolved = resolver(node)
    yield from ((path, keyword, message) for keyword, message in keywords.faults(node, resolved))
    if "x-kubernetes-validations" in node:
        for place, message in cel.faults(node["x-kubernetes-validations"], resolved, resolver, enclosing):
            yield path, f"x-kubernetes-validations{place}", message
    items = resolved.get("items")
    if isinstance(items, dict) and "x-kubernetes-list-type" in node:
        yield from ((path, *fault) for fault in _list(resolved, resolver(items), resolver))
    for key, child in children(node):
        inner = f"{path}.{key}" if path else key
        if key.split("[", 1)[0] in JUNCTORS:
            yield from _junctor(child, inner, int_or_string="x-kubernetes-int-or-string" in node)
        else:
            yield from _node(child, resolver, inner, enclosing=enclosing + _is_unbounded(key, node))


def _list(resolved: Schema, items: Schema, resolver: Resolver) -> Iterator[keywords.Fault]:
    def key_field(name: str) -> Schema | None:
        return field_at(items, name, resolver)

    return keywords.list_faults(resolved, items, key_field)


def _is_unbounded(key: str, node: Schema) -> bool:
    return (key == "items" and "maxItems" not in node) or (
        key == "additionalProperties" and "maxProperties" not in node
    )


def _junctor(node: Schema, path: str, *, int_or_string: bool) -> Iterator[tuple[str, str, str]]:
    if int_or_string and node in ({"type": "integer"}, {"type": "string"}):
        return
    for inner, child in walk(node, path):
        yield from ((inner, keyword, message) for keyword, message in keywords.junctor_faults(child))


def _defaults(project: Project, expander: Expander) -> Iterator[Problem]:
    """Defaults must be valid values, or the server refuses the CRD."""
    for component, schema in project.components.items():
        for path, node in walk(schema):
            if "default" in node and node["default"] is not None:
                for where, message in findings(expander.node(node), node["default"], "default"):
                    file, place = _place(project, component, path, where)
                    yield Problem(file, place, f"the default is no valid value: {message}")


def _kinds(project: Project, resolver: Resolver) -> Iterator[Problem]:
    for kind in (*project.kinds, *project.external):
        if not kind.kind:
            continue
        for path, message in _kind(project, kind, resolver):
            yield Problem(kind.file, f"{'external' if kind.external else 'kinds'}.[{kind.kind}]{path}", message)


def _kind(project: Project, kind: Kind, resolver: Resolver) -> Iterator[tuple[str, str]]:
    if kind.component not in project.components and kind.component not in project.core:
        yield "", _absent(kind)
        return
    root = resolver(project.schema(kind.component))
    if not kind.external:
        yield from _root(kind, root)
    for position, column in enumerate(kind.columns):
        yield from ((f".columns[{position}]", message) for message in _column(column.path, column.type, root, resolver))
    for name, paths in kind.indexes.items():
        yield from ((f".indexes.{name}", message) for message in _missing(paths, root, resolver))


def _absent(kind: Kind) -> str:
    if kind.external:
        return f"the vendored document has no {kind.component}: run `make vendor-schemas`"
    return f"has no schema: add component {kind.kind} to api/{kind.group_short}/{kind.version}.yaml"


def _root(kind: Kind, root: Schema) -> Iterator[tuple[str, str]]:
    place = f": in component {kind.component}"
    properties = root.get("properties")
    if type_of(root) != "object" or not isinstance(properties, dict):
        yield place, "a kind is an object with properties"
        return
    if properties.get("metadata", {}).get("$ref") != OBJECT_META:
        yield place, f"needs `metadata: {{$ref: {OBJECT_META}}}`, and nothing else may restrict it"
    for name in ("apiVersion", "kind"):
        if name in properties:
            yield place, f"every object has {name} already: remove it"
    if kind.status and "status" not in properties:
        yield place, "has a status subresource but no status: add the property, or write `status: false` in the entry"


_COLUMN_TYPES = {"date": "string"}


def _column(path: str, kind: str, root: Schema, resolver: Resolver) -> Iterator[str]:
    if path.startswith(".metadata.") or not path:
        return
    found = field_at(root, path, resolver)
    if found is None:
        yield f"there is no field {path}"
    elif kind not in ("string", "") and type_of(found) not in ("", _COLUMN_TYPES.get(kind, kind)):
        yield f"is a {kind} column over {path}, which is a {type_of(found)}"


def _missing(paths: Iterable[str], root: Schema, resolver: Resolver) -> Iterator[str]:
    for path in paths:
        if not path.startswith("metadata.") and field_at(root, path, resolver) is None:
            yield f"there is no field {path}"
