"""`create plugin`: a scheduler plugin."""

from __future__ import annotations

from codegen.scaffold import clashes, names
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import AlreadyThere, ScaffoldError
from codegen.scaffold.registry import added, members
from codegen.scaffold.render import render

REGISTRY = "scheduler/plugins/__init__.py"


def create(changes: Changes, name: str) -> None:
    """Collect the changes. Raises ScaffoldError, and AlreadyThere when the plugin exists."""
    module, class_name = names.module(name), names.class_name(name)
    path = f"scheduler/plugins/{module}.py"
    text = changes.read(REGISTRY, "--root")
    if class_name in members(text, "BUILT_IN", REGISTRY):
        if changes.exists(path):
            raise AlreadyThere(f"the plugin {name}", [path, REGISTRY])
        raise ScaffoldError("--name", f"{REGISTRY} has a plugin class {class_name} already: choose another name")
    values = {"name": name, "module": module, "class_name": class_name}
    strange = {"name": clashes.STRANGE, "module": clashes.STRANGE, "class_name": clashes.STRANGE.capitalize()}
    clashes.refuse(("plugin.py", "test_plugin.py"), values, strange, "--name")
    changes.create(path, render("plugin.py", **values), "--name")
    test = f"tests/unit/scheduler/plugins/test_{module}.py"
    changes.create(test, render("test_plugin.py", **values), "--name")
    statement = f"from scheduler.plugins.{module} import {class_name}"
    changes.edit(REGISTRY, added(text, "BUILT_IN", class_name, statement, REGISTRY))
    changes.next_step = f"write the plugin in {path}, then: pytest {test}"
