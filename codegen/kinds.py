"""
Reading the entries of `api/project.yaml`: one entry is one kind.

An entry is checked by itself here (keys, types, spelling) and against its neighbours (no two kinds may
share a name that the API server keeps unique).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codegen import naming
from codegen.problems import Problem, choice
from codegen.project import Column, Kind, Webhook

_KEYS = {
    "group", "version", "kind", "plural", "singular", "shortNames", "scope", "status", "optional", "descriptions",
    "columns", "annotations", "controller", "indexes", "webhooks",
}  # fmt: skip
_COLUMN_KEYS = {"name", "type", "path", "priority"}
_COLUMN_TYPES = {"string", "integer", "number", "boolean", "date"}
_WEBHOOK_KEYS = {
    "path", "name", "operations", "default", "planned", "sideEffects", "failurePolicy", "everyNamespace",
    "matchConditions",
}  # fmt: skip
_SIDE_EFFECTS = ("NoneOnDryRun", "None")
_FAILURE_POLICIES = ("Fail", "Ignore")
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_SCOPES = ("Namespaced", "Cluster")
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_GROUP = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})+")
_EXTERNAL_GROUP = re.compile(rf"({_DNS_LABEL}(\.{_DNS_LABEL})*)?")
GROUP = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*")
"""A group as schema files write it: `core` and `meta` stand for what has no group."""
VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,57}")
"""With `List` behind it still a name that the API server takes, and with `Status` one of 64 characters."""
TAKEN_KINDS = frozenset({
    "Any", "Builder", "ClassVar", "Cluster", "Duration", "Final", "Indexer", "IntOrString", "Iterator", "Mapping",
    "MicroTime", "Model", "Namespaced", "ObjectMeta", "Quantity", "Resource", "Sequence", "Time", "TypeAlias",
    "UnsetType",
})  # fmt: skip
"""Names that generated modules use themselves, alone or as in `ClusterLister`."""
PACKAGES = frozenset({
    "apply", "clients", "core", "defaults", "extensions", "fakes", "k8s", "listers", "meta", "names", "registry",
    "webhooks",
})  # fmt: skip
"""What `api/` and `generated/` hold beside groups, and so no group may be called."""
_SHARED = ("core", "meta")
"""Whole groups that stand for what has no group."""
_SHORT_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_COLUMN_NAME = re.compile(r"\S(.*\S)?")
_INDEX = re.compile(r"[a-z][A-Za-z0-9-]*")
_DESCRIPTIONS = re.compile(r"keep|drop|max [1-9][0-9]*")


@dataclass(slots=True)
class _Entry:
    """One mapping being read: typed access that notes what is wrong and carries on."""

    file: str
    path: str
    values: Mapping[str, Any]
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, key: str, message: str) -> None:
        self.problems.append(Problem(self.file, f"{self.path}.{key}" if key else self.path, message))

    def known(self, keys: Iterable[str]) -> None:
        allowed = sorted(keys)
        for key in self.values.keys() - set(allowed):
            self.wrong(key, f"unknown key{choice(key, allowed)}")

    def text(self, key: str, default: str | None = None, shape: re.Pattern[str] | None = None) -> str:
        value = self.values.get(key, default)
        if value is None:
            self.wrong(key, "is missing: add it")
        elif not isinstance(value, str):
            self.wrong(key, f"must be a string, not {value!r}")
        elif shape and key in self.values and not shape.fullmatch(value):
            self.wrong(key, f"{value!r} doesn't match {shape.pattern}")
        else:
            return value
        return default or ""

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key, choices[0])
        if value not in choices:
            self.wrong(key, f"{value!r} is none of {', '.join(choices)}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.wrong(key, f"must be true or false, not {value!r}")
            return default
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.wrong(key, f"must be a list of strings, not {value!r}")
            return ()
        return tuple(value)

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, f"must be a mapping, not {value!r}")
            return {}
        return value

    def inner(self, key: str, values: Any) -> _Entry | None:
        if isinstance(values, dict):
            return _Entry(self.file, f"{self.path}.{key}", values, self.problems)
        self.wrong(key, f"must be a mapping, not {values!r}")
        return None


def read_kinds(values: Any, file: str, section: str, problems: list[Problem], *, external: bool = False) -> list[Kind]:
    """Read the list under `section` (`kinds` or `external`) of a project or extension file."""
    if not isinstance(values, list):
        problems.append(Problem(file, section, "must be a list of kinds"))
        return []
    kinds = []
    for position, value in enumerate(values):
        name = value.get("kind", position) if isinstance(value, dict) else position
        entry = _Entry(file, section, {}, problems).inner(f"[{name}]", value)
        if entry is not None:
            kinds.append(_kind(entry, external=external))
    return kinds


def _kind(entry: _Entry, *, external: bool) -> Kind:
    entry.known(_KEYS)
    hooks = entry.mapping("webhooks")
    for key in hooks.keys() - {"mutate", "validate"}:
        entry.wrong(f"webhooks.{key}", "unknown key; known: mutate, validate")
    kind = entry.text("kind", shape=KIND)
    if keyword.iskeyword(kind):
        entry.wrong("kind", f"{kind!r} names a Python class, and is a keyword of Python: choose another")
    if kind in TAKEN_KINDS:
        entry.wrong("kind", f"{kind!r} is used by the generated modules themselves: choose another")
    group = entry.text("group", "" if external else None, _EXTERNAL_GROUP if external else _GROUP)
    if fault := package_fault(group):
        entry.wrong("group", fault)
    return Kind(
        group=group,
        version=entry.text("version", shape=VERSION),
        kind=kind,
        plural=entry.text("plural", shape=_LABEL),
        singular=entry.text("singular", kind.lower(), _LABEL),
        short_names=_short_names(entry),
        scope=entry.choice("scope", _SCOPES),
        status=entry.flag("status", default=True),
        optional=entry.flag("optional", default=False),
        descriptions=entry.text("descriptions", "keep", _DESCRIPTIONS),
        columns=tuple(_columns(entry)),
        annotations=_annotations(entry),
        controller=entry.flag("controller", default=False),
        indexes=_indexes(entry),
        mutate=_webhook(entry, "mutate", hooks),
        validate=_webhook(entry, "validate", hooks),
        external=external,
        file=entry.file,
    )


def package_fault(group: str) -> str:
    """What is wrong with the first label of a group as the name of a Python package; empty when nothing is."""
    short = group.split(".", 1)[0]
    if not short or group in _SHARED:
        return ""
    if short in PACKAGES:
        return f"{short!r} is a folder of our own in api/ or generated/: choose another"
    if short.isidentifier() and not keyword.iskeyword(short):
        return ""
    return f"{short!r} names a Python package: use lower-case letters and digits, and no keyword of Python"


def _short_names(entry: _Entry) -> tuple[str, ...]:
    names = entry.texts("shortNames")
    for name in names:
        if not _SHORT_NAME.fullmatch(name):
            entry.wrong("shortNames", f"{name!r} doesn't match {_SHORT_NAME.pattern}")
    return names


def _columns(entry: _Entry) -> Iterable[Column]:
    columns = entry.values.get("columns", [])
    if not isinstance(columns, list):
        entry.wrong("columns", "must be a list of {name, type, path, priority}")
        return
    for position, values in enumerate(columns):
        column = entry.inner(f"columns[{position}]", values)
        if column is None:
            continue
        column.known(_COLUMN_KEYS)
        priority = column.values.get("priority", 0)
        if not isinstance(priority, int) or isinstance(priority, bool) or priority < 0:
            column.wrong("priority", f"must be 0 or more (1 and up show with -o wide only), not {priority!r}")
            priority = 0
        kind = column.text("type")
        if kind and kind not in _COLUMN_TYPES:
            column.wrong("type", f"{kind!r} is none of {', '.join(sorted(_COLUMN_TYPES))}")
        name = column.text("name", shape=_COLUMN_NAME)
        yield Column(name, kind, column.text("path", shape=re.compile(r"\..+")), priority)


def _annotations(entry: _Entry) -> dict[str, str]:
    annotations = entry.mapping("annotations")
    for key, value in annotations.items():
        if not isinstance(value, str):
            entry.wrong(f"annotations.{key}", f"must be a string, not {value!r}: put it in quotes")
    return annotations


def _indexes(entry: _Entry) -> dict[str, tuple[str, ...]]:
    indexes: dict[str, tuple[str, ...]] = {}
    taken: dict[str, str] = {}
    for name, paths in entry.mapping("indexes").items():
        if not _INDEX.fullmatch(name):
            entry.wrong(
                f"indexes.{name}", f"{name!r} doesn't match {_INDEX.pattern}: listers get a method of that name"
            )
        other = taken.setdefault(naming.snake(name), name)
        if other != name:
            entry.wrong(f"indexes.{name}", f"{name} and {other} would be the same method of listers: rename one")
        listed = [paths] if isinstance(paths, str) else paths
        if isinstance(listed, list) and listed and all(isinstance(path, str) for path in listed):
            indexes[name] = tuple(listed)
        else:
            entry.wrong(f"indexes.{name}", f"must be a path such as spec.queue, or a list of paths, not {paths!r}")
    return indexes


def _webhook(entry: _Entry, key: str, hooks: Mapping[str, Any]) -> Webhook | None:
    hook = entry.inner(f"webhooks.{key}", hooks[key]) if key in hooks else None
    if hook is None:
        return None
    hook.known(_WEBHOOK_KEYS)
    operations = hook.texts("operations")
    if not operations:
        hook.wrong("operations", f"name at least one of {', '.join(_OPERATIONS)}")
    for operation in operations:
        if operation not in _OPERATIONS:
            hook.wrong("operations", f"{operation!r} is none of {', '.join(_OPERATIONS)}")
    conditions = hook.mapping("matchConditions")
    for name, expression in conditions.items():
        if not isinstance(expression, str) or not expression:
            hook.wrong(f"matchConditions.{name}", f"must be a CEL expression in quotes, not {expression!r}")
    return Webhook(
        path=hook.text("path", shape=re.compile(r"(/[a-z0-9-]+)+")),
        name=hook.text("name", shape=_GROUP),
        operations=operations,
        default=hook.flag("default", default=True),
        planned=hook.flag("planned", default=False),
        side_effects=hook.choice("sideEffects", _SIDE_EFFECTS),
        failure_policy=hook.choice("failurePolicy", _FAILURE_POLICIES),
        every_namespace=hook.flag("everyNamespace", default=False),
        match_conditions=conditions,
    )


def clashes(kinds: Iterable[Kind]) -> list[Problem]:
    """Names that must be unique and aren't: kinds and their names in a group, paths and names of webhooks, modules."""
    problems = []
    owners: dict[tuple[str, str, str], Kind] = {}
    modules: dict[str, Kind] = {}
    for kind in kinds:
        first = modules.setdefault(kind.module, kind)
        if first.group != kind.group:
            pair = " and ".join(sorted((first.api_version, kind.api_version)))
            message = f"{pair} would share the module {kind.module}: change a version or the first label of a group"
            problems.append(Problem(kind.file, f"[{kind.kind}].group", message))
        for what, scope, name in sorted(_unique_names(kind)):
            other = owners.setdefault((what, scope, name), kind)
            if other is not kind:
                where = f"[{kind.kind}]"
                message = f"{what} {name!r} is already taken by {other.api_version} {other.kind} ({other.file})"
                problems.append(Problem(kind.file, where, f"{message}: choose another, or remove one entry"))
    return problems


def _unique_names(kind: Kind) -> set[tuple[str, str, str]]:
    names = {("kind", kind.group, kind.kind)}
    names |= {("name", kind.group, name) for name in (kind.plural, kind.singular, *kind.short_names) if name}
    for _, hook in kind.webhooks:
        names |= {("webhook path", "", hook.path), ("webhook name", "", hook.name)}
    return names
