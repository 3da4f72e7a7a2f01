"""
Roles of the processes, from the rules that stand beside the code, and who holds them.

Names are those that installations, audits and policies know from the chart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api import names
from codegen.crds import to_yaml
from codegen.output import first_line
from hack.manifests.components import Components, Declared
from runtime.rbac import Rule, document, join

COMMAND = "python -m hack.manifests"
FOLDER = "config/rbac"
HYPERNODE_FOLDER = f"{FOLDER}/hypernode"
AGENT_SCHEDULER_FOLDER = f"{FOLDER}/agent-scheduler"
"""Rights of processes that only one feature starts."""
_RBAC = "rbac.authorization.k8s.io"


def files(components: Components) -> dict[str, str]:
    """Text by path of the roles of all processes."""
    made = {
        "controllers": (f"{names.DEFAULT_RELEASE}-controllers", components.controllers),
        "scheduler": (f"{names.DEFAULT_RELEASE}-scheduler", components.scheduler),
        "webhooks": (f"{names.DEFAULT_RELEASE}-admission", components.admission),
    }
    texts = {
        f"{FOLDER}/{component}_role.yaml": text(f"the rules declared in {component}/", _process(name, declared))
        for component, (name, declared) in made.items()
    }
    optional = (
        (f"{HYPERNODE_FOLDER}/hypernode_role.yaml", "hypernode-controller", components.hypernode,
         "controllers/hypernode/"),
        (f"{AGENT_SCHEDULER_FOLDER}/agent_scheduler_role.yaml", "agent-scheduler", components.agent_scheduler,
         "scheduler/agentscheduler/"),
    )  # fmt: skip
    for path, name, declared, source in optional:
        if declared.everywhere:
            process = _process(f"{names.DEFAULT_RELEASE}-{name}", declared)
            texts[path] = text(f"the rules declared in {source}", process)
    return texts


def text(source: str, documents: Iterable[dict[str, Any]]) -> str:
    """A generated file with these documents; `source` is what to edit instead."""
    return first_line(".yaml", source, COMMAND) + "---\n".join(map(to_yaml, documents))


def role(kind: str, name: str, rules: Iterable[Rule], namespace: str = "") -> dict[str, Any]:
    """A Role or ClusterRole."""
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name, **place},
        "rules": [document(rule) for rule in join(rules)],
    }


def _process(name: str, declared: Declared) -> list[dict[str, Any]]:
    """The account of a process, and what it may do everywhere and at home."""
    home = names.DEFAULT_NAMESPACE
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": home}},
        role("ClusterRole", name, declared.everywhere),
        _binding("ClusterRole", name),
        role("Role", name, declared.at_home, home),
        _binding("Role", name, home),
    ]


def _binding(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": f"{name}-role", **place},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": names.DEFAULT_NAMESPACE}],
    }
