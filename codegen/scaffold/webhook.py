"""`create webhook`: an admission path of a kind, or a planned one made real."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.project import Kind, Project, Webhook
from codegen.scaffold import clashes
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.project import find_kind, set_webhook, webhook_of
from codegen.scaffold.registry import added, imported, members
from codegen.scaffold.render import Named, render
from codegen.source import PROJECT_FILE

REGISTRY = "webhooks/__init__.py"
ACTIONS = ("mutate", "validate")
_OPERATIONS = {"mutate": ("CREATE",), "validate": ("CREATE", "UPDATE")}
_SUFFIXES = {"mutate": "Defaults", "validate": "Rules"}
_HOUSE = frozenset({"blueprint", "certificates", "enabled", "options", "permissions", "readers"})
"""Modules of the process itself."""


def create(
    changes: Changes, project: Project, name: str, actions: Sequence[str], *, group: str = "", version: str = ""
) -> None:
    """Collect the changes for `mutate`, `validate` or both. Raises ScaffoldError, and AlreadyThere when all exist."""
    if not actions:
        raise ScaffoldError("--defaulting, --validating", "say at least one of them")
    kind = find_kind(project, name, "--kind", group, version)
    module = _module(project, kind)
    registered = members(changes.read(REGISTRY, "--root"), "WEBHOOKS", REGISTRY)
    missing = [action for action in actions if f"{module}.{kind.kind}{_SUFFIXES[action]}" not in registered]
    path, test = f"webhooks/{module}.py", f"tests/unit/webhooks/test_{module}.py"
    if not missing:
        raise AlreadyThere(f"the webhook of {kind.kind}", [PROJECT_FILE, path, REGISTRY])
    missing = _to_make(changes, kind, module, missing)
    for action in missing:
        set_webhook(changes, kind, action, _entry(project, kind, action))
        values = _values(project, kind, module, action)
        strange = _values(project, kind, clashes.STRANGE, action)
        strange |= {"named": clashes.stranger(kind), "class_name": f"{clashes.STRANGE}{_SUFFIXES[action]}"}
        clashes.refuse((f"{action}.py", f"test_{action}.py"), values, strange, "--kind")
        _write(changes, path, f"{action}.py", values)
        _write(changes, test, f"test_{action}.py", values)
        member = f"{module}.{kind.kind}{_SUFFIXES[action]}"
        text = changes.read(REGISTRY, "--kind")
        changes.edit(REGISTRY, added(text, "WEBHOOKS", member, f"from webhooks import {module}", REGISTRY))
    changes.next_step = f"write the rules in {path}, then: pytest {test}"


def _to_make(changes: Changes, kind: Kind, module: str, actions: Sequence[str]) -> list[str]:
    """
    Those of the actions that nobody wrote by hand under names of their own.

    Raises AlreadyThere when there is none, and ScaffoldError where a package has the others: it is its author's.
    """
    package, file = f"webhooks/{module}", f"webhooks/{module}.py"
    home = package if changes.exists(package) else file
    if not changes.exists(home):
        return list(actions)
    new = [action for action in actions if not _is_served(webhook_of(kind, action))]
    if not new:
        raise AlreadyThere(f"the webhook of {kind.kind}", [home])
    if home == package:
        what = " and ".join(f"{action}s" for action in new)
        raise ScaffoldError(
            "--kind", f"the webhook of {kind.kind} is the package {home}: add what {what} there by hand"
        )
    return new


def _is_served(hook: Webhook | None) -> bool:
    return hook is not None and not hook.planned


def _values(project: Project, kind: Kind, module: str, action: str) -> dict[str, object]:
    known = webhook_of(kind, action)
    operations = known.operations if known is not None else _OPERATIONS[action]
    return {
        "named": Named(kind),
        "module": module,
        "class_name": f"{kind.kind}{_SUFFIXES[action]}",
        "has_spec": "spec" in project.schema(kind.component).get("properties", ()),
        "operations": [operation.lower() for operation in operations],
    }


def _write(changes: Changes, path: str, template: str, values: dict[str, object]) -> None:
    """A new module, or the class and its imports added to the one that is there."""
    text = render(template, **values)
    if not changes.exists(path):
        changes.create(path, text, "--kind")
        return
    held = changes.read(path, "--kind")
    if f"class {values['class_name']}(" in held:
        raise ScaffoldError("--kind", f"{path} has a class {values['class_name']} already: add it to WEBHOOKS by hand")
    imports = [line for line in text.splitlines() if line.startswith(("from ", "import ")) and "__future__" not in line]
    for statement in imports:
        held = imported(held, statement, path)
    _, _, body = text.partition(f"{imports[-1]}\n")
    changes.edit(path, f"{held.rstrip()}\n\n\n{body.lstrip()}")


def _module(project: Project, kind: Kind) -> str:
    """The plural; kinds that share it with an earlier one carry their group in front."""
    first = next(other for other in (*project.kinds, *project.external) if other.plural == kind.plural)
    plain = kind.plural.replace("-", "_")
    return plain if first == kind and plain not in _HOUSE else f"{kind.group_short}_{plain}"


def _entry(project: Project, kind: Kind, action: str) -> str:
    """The entry in the project file. Paths and names are unique; a kind whose are taken carries its group in them."""
    taken = {hook.path for other in (*project.kinds, *project.external) for _, hook in other.webhooks}
    path, name = f"/{kind.plural}/{action}", f"{action}{kind.singular}.{project.domain}"
    if path in taken:
        path = f"/{kind.group_short}-{kind.plural}/{action}"
        name = f"{action}{kind.singular}-{kind.group_short}.{project.domain}"
    return f"{{path: {path}, name: {name}, operations: [{', '.join(_OPERATIONS[action])}]}}"
