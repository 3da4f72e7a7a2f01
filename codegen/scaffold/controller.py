"""`create controller`: a reconciler with the kinds that wake it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codegen.project import Kind, Project
from codegen.scaffold import clashes, names
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.project import find_kind
from codegen.scaffold.registry import added, members
from codegen.scaffold.render import Named, render

REGISTRY = "controllers/__init__.py"


def create(changes: Changes, project: Project, name: str, watches: Sequence[str]) -> None:
    """Collect the changes. Raises ScaffoldError, and AlreadyThere when the controller exists."""
    module = names.module(name)
    path = f"controllers/{module}.py"
    registered = members(changes.read(REGISTRY, "--root"), "CONTROLLERS", REGISTRY)
    if f"{module}.BLUEPRINT" in registered and changes.exists(path):
        raise AlreadyThere(f"the controller {name}", [path, REGISTRY])
    kinds = _kinds(project, watches)
    values = {
        "name": name,
        "module": module,
        "class_name": names.class_name(name),
        "named": Named(kinds[0]),
        "others": [Named(kind) for kind in kinds[1:]],
    }
    _refuse_clashes(values, kinds)
    add_controller(changes, module, render("controller.py", **values), render("test_controller.py", **values), "--name")
    changes.next_step = f"write the work in {path}, then: pytest tests/unit/controllers/test_{module}.py"


def _refuse_clashes(values: Mapping[str, Any], kinds: Sequence[Kind]) -> None:
    """The name may clash, or a kind's own names."""
    name = {"name": clashes.STRANGE, "module": clashes.STRANGE, "class_name": clashes.STRANGE.capitalize()}
    strange = [clashes.stranger(kind, position) for position, kind in enumerate(kinds)]
    templates = ("controller.py", "test_controller.py")
    clashes.refuse(templates, values, {**values, **name}, "--name")
    clashes.refuse(templates, values, {**values, "named": strange[0], "others": strange[1:]}, "--watches")


def _kinds(project: Project, watches: Sequence[str]) -> list[Kind]:
    if not watches:
        raise ScaffoldError("--watches", "names no kind: say which kinds wake the controller, as in Job,Pod")
    kinds = [find_kind(project, name, "--watches") for name in watches]
    for position, kind in enumerate(kinds):
        if kind in kinds[:position]:
            raise ScaffoldError("--watches", f"names {kind.kind} twice")
        if any(kind.kind == other.kind for other in kinds[:position]):
            raise ScaffoldError("--watches", f"names two kinds called {kind.kind}: add the second watch by hand")
    return kinds


def add_controller(changes: Changes, module: str, body: str, test: str, argument: str) -> None:
    """A controller's module, its test, and its line in the registry."""
    changes.create(f"controllers/{module}.py", body, argument)
    changes.create(f"tests/unit/controllers/test_{module}.py", test, argument)
    text = changes.read(REGISTRY, argument)
    statement = f"from controllers import {module}"
    changes.edit(REGISTRY, added(text, "CONTROLLERS", f"{module}.BLUEPRINT", statement, REGISTRY))
