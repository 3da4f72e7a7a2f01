"""
The order in which objects are applied, so that each finds what it needs.

Webhook configurations come last: from then on the API server asks, and what is asked should be on its way. Objects go
the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from hack.deploy.kubectl import Object

_STAGES = (
    {"Namespace", "CustomResourceDefinition"},
    {"PriorityClass", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"},
    {"ConfigMap", "Secret", "Service", "NetworkPolicy", "PodDisruptionBudget"},
    {"Deployment", "DaemonSet", "StatefulSet"},
    {
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    },
)  # fmt: skip
_OTHERS = 2
"""Kinds of other operators, such as certificates that a Deployment mounts."""
_WITHIN = ("Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role")
"""What comes first inside its stage: who names it comes after it."""


def stages(objects: Iterable[Object]) -> list[list[Object]]:
    """The objects in groups: each group may be applied once those before it are there."""
    return [list(group) for _, group in groupby(sort(objects), key=_stage)]


def sort(objects: Iterable[Object]) -> list[Object]:
    """All objects in a safe order, the same for every order in which they are given."""
    return sorted(objects, key=lambda found: (_stage(found), _rank(found["kind"]), key(found)))


def key(found: Object) -> tuple[str, str, str, str]:
    """What tells two objects apart: group, kind, namespace, name."""
    group, _, _ = found["apiVersion"].rpartition("/")
    return group, found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]


def label(found: Object) -> str:
    """An object as people name it: `Deployment volcano-system/volcano-scheduler`."""
    _, kind, namespace, name = key(found)
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _stage(found: Object) -> int:
    return next((number for number, kinds in enumerate(_STAGES) if found["kind"] in kinds), _OTHERS)


def _rank(kind: str) -> int:
    return _WITHIN.index(kind) if kind in _WITHIN else len(_WITHIN)
