"""
Webhook interfaces: `generated/webhooks/`, an abstract class for each admission path of a kind, with one typed
method for each operation.
"""

from __future__ import annotations

from typing import Any

from codegen import naming
from codegen.groups import Described, group_versions
from codegen.project import Project, Webhook
from codegen.pytext import literal
from codegen.rendering import render

_BASES = {"mutate": "Defaulting", "validate": "Validating"}
_SUFFIXES = {"mutate": "Defaulter", "validate": "Validator"}
_SUMMARIES = {
    "mutate": "Fills in and changes {plural}.",
    "validate": "Allows or denies {plural}.",
}
_PARAMETERS = {
    "CREATE": ("obj: {model}", "obj"),
    "UPDATE": ("obj: {model}, old: {model}", "obj, present(request, old)"),
    "DELETE": ("old: {model}", "present(request, old)"),
    "CONNECT": ("obj: {model}", "obj"),
}
"""What a method for the operation takes, and what it is called with."""
_WHEN = {
    "CREATE": "A new object.",
    "UPDATE": "The object as it will be, and as it is.",
    "DELETE": "The object that goes.",
    "CONNECT": "The options of a connection to the object.",
}


def files(project: Project) -> dict[str, str]:
    """Text by path of all webhook modules."""
    texts = {"generated/webhooks/base.py": render("webhooks/base.py.j2")}
    for group in group_versions(project):
        hooks = [_hook(kind, action, webhook) for kind in group.kinds for action, webhook in kind.kind.webhooks]
        if hooks:
            values = {"group": group, "hooks": hooks, "used": sorted(_used(hooks))}
            texts[f"generated/webhooks/{group.file}.py"] = render("webhooks/group.py.j2", values)
    return texts


def _used(hooks: list[dict[str, Any]]) -> set[str]:
    """Names of the base module that the hooks refer to."""
    used = {hook["base"] for hook in hooks} | {hook["answer"].partition("[")[0] for hook in hooks}
    checked = any("present(" in method["arguments"] for hook in hooks for method in hook["methods"])
    return used | {"present"} if checked else used


def _hook(described: Described, action: str, webhook: Webhook) -> dict[str, Any]:
    kind = described.kind
    model = f"{kind.version}.{kind.kind}"
    return {
        "class_name": kind.kind + _SUFFIXES[action],
        "base": _BASES[action],
        "answer": f"MutationAnswer[{model}]" if action == "mutate" else "ValidationAnswer",
        "summary": _SUMMARIES[action].format(plural=naming.plural(kind.kind, kind.plural)),
        "model": model,
        "constant": f"{kind.version}.{described.constant}",
        "path": webhook.path,
        "name": webhook.name,
        "operations": [literal(operation) for operation in webhook.operations],
        "default": webhook.default,
        "methods": [_method(action, operation, model) for operation in webhook.operations],
    }


def _method(action: str, operation: str, model: str) -> dict[str, str]:
    parameters, arguments = _PARAMETERS[operation]
    verb = "default" if action == "mutate" else "validate"
    return {
        "name": f"{verb}_{operation.lower()}",
        "operation": operation,
        "parameters": parameters.format(model=model),
        "arguments": arguments,
        "summary": _WHEN[operation],
    }
