"""
What an earlier deployment applied and this one doesn't name: a feature that was switched off, an overlay left behind.

An object counts as ours only when it carries our label and our field manager applied it. CRDs and namespaces never go.
"""

from __future__ import annotations

from collections.abc import Sequence

from api import names
from hack.deploy import order
from hack.deploy.applying import Say
from hack.deploy.kubectl import Kubectl, Object

_LABEL = "app.kubernetes.io/part-of=volcano"
_REGISTRATION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_KINDS = (
    ("v1", "ConfigMap"), ("v1", "Service"), ("v1", "ServiceAccount"), ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"), (f"{_RBAC}/v1", "ClusterRole"), (f"{_RBAC}/v1", "ClusterRoleBinding"),
    (f"{_RBAC}/v1", "Role"), (f"{_RBAC}/v1", "RoleBinding"), ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"), (f"{_REGISTRATION}/v1", "MutatingWebhookConfiguration"),
    (f"{_REGISTRATION}/v1", "ValidatingWebhookConfiguration"), (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicy"),
    (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicyBinding"),
    (f"{_REGISTRATION}/v1beta1", "MutatingAdmissionPolicy"),
    (f"{_REGISTRATION}/v1beta1", "MutatingAdmissionPolicyBinding"),
    ("cert-manager.io/v1", "Certificate"), ("cert-manager.io/v1", "Issuer"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"), ("monitoring.coreos.com/v1", "PrometheusRule"),
)  # fmt: skip


def left_over(kubectl: Kubectl, objects: Sequence[Object]) -> list[Object]:
    """Objects of ours that are none of these, in the order in which they may go. Raises DeployError."""
    served = kubectl.served(_KINDS)
    resources = [_resource(*found) for found in _KINDS if found in served]
    wanted = {order.key(found) for found in objects}
    there = kubectl.get(",".join(resources), "--all-namespaces", f"--selector={_LABEL}")
    ours = [found for found in there if _is_ours(found) and order.key(found) not in wanted]
    return order.sort(ours)[::-1]


def prune(kubectl: Kubectl, objects: Sequence[Object], say: Say) -> None:
    """Delete what is left over. Raises DeployError."""
    for found in left_over(kubectl, objects):
        _, kind, namespace, name = order.key(found)
        place = [f"--namespace={namespace}"] if namespace else []
        resource = _resource(found["apiVersion"], kind)
        kubectl.run("delete", "--ignore-not-found", resource, name, *place)
        say(f"{order.label(found)} removed: an earlier deployment left it")


def _resource(group_version: str, kind: str) -> str:
    group, _, version = group_version.rpartition("/")
    return f"{kind}.{version}.{group}" if group else kind


def _is_ours(found: Object) -> bool:
    return any(
        entry["manager"] == names.DEPLOY_FIELD_MANAGER and entry["operation"] == "Apply"
        for entry in found["metadata"].get("managedFields", ())
    )
