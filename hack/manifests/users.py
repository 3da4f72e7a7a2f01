"""Roles for people, to be bound by whoever runs the cluster: an editor and a viewer of each kind, and who may ask why a job waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from api import names
from codegen.project import Kind, Project
from hack.manifests.roles import FOLDER, role, text
from runtime.rbac import READ, Rule

_EDIT = (*READ, "create", "delete", "patch", "update")
_KNOWN_NAMES = {"batch.v1alpha1.Job": "vcjob"}
"""Kinds whose roles the chart has always called otherwise."""
_FURTHER = {
    "batch.v1alpha1.Job": (
        Rule("bus.volcano.sh", ("commands",), ("create", "get", "list")),
        Rule("batch.volcano.sh", ("jobs/finalizers",), ("update",)),
    ),
    "scheduling.v1beta1.Queue": (Rule("scheduling.volcano.sh", ("queues/finalizers",), ("update",)),),
}
"""
What editors of a kind need beside it: vcctl suspends and resumes jobs by commands. A command blocks the deletion of
whom it is for, which some clusters let only those say who may set finalizers there.
"""
_EXPLAIN = (
    Rule("", ("services/proxy",), ("get",), (f"{names.Service.SCHEDULER}:8080",)),
    Rule("", ("pods",), ("get", "list")),
    Rule("", ("pods/proxy",), ("get",)),
)
"""`vcctl job explain` asks the Service, and of several replicas the pods: only the one that leads has an answer."""


def files(project: Project) -> dict[str, str]:
    """Text by path of the roles for people."""
    kinds = sorted(project.kinds, key=lambda kind: kind.component)
    how_many = Counter(kind.singular for kind in kinds)
    roles = [made for kind in kinds for made in _roles(kind, is_alone=how_many[kind.singular] == 1)]
    roles.append(role("Role", f"{names.DEFAULT_RELEASE}-explain-role", _EXPLAIN, names.DEFAULT_NAMESPACE))
    return {f"{FOLDER}/user_roles.yaml": text("api/project.yaml", roles)}


def _roles(kind: Kind, *, is_alone: bool) -> Iterator[dict[str, Any]]:
    name = _KNOWN_NAMES.get(kind.component, kind.singular if is_alone else f"{kind.group_short}-{kind.singular}")
    status = [Rule(kind.group, (f"{kind.plural}/status",), ("get",))] if kind.status else []
    further = _FURTHER.get(kind.component, ())
    yield role("ClusterRole", f"{name}-editor-role", [Rule(kind.group, (kind.plural,), _EDIT), *status, *further])
    yield role("ClusterRole", f"{name}-viewer-role", [Rule(kind.group, (kind.plural,), READ), *status])
