"""
Whether the user may write what is to be applied.

Asked before, since a refusal in the middle leaves half an installation; a few kinds stand for all others.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hack.deploy.findings import Check, Finding
from hack.deploy.kubectl import NO_RIGHTS, Kubectl, Object

_RESOURCES = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Deployment": "deployments",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
"""Kinds that are asked for, by what rules of access call them: who may write these may write the others as well."""
_VERBS = ("create", "patch")
"""What server-side apply takes of an object that is to come, and of one that is there."""
_PRINTED = '--output=jsonpath={.status.allowed} {.spec.resourceAttributes}{"\\n"}'


def missing(kubectl: Kubectl, objects: Sequence[Object]) -> Iterator[Finding]:
    """One finding about everything that the user may not write. Raises DeployError."""
    asked = reviews(objects)
    printed = kubectl.run("create", "--filename=-", _PRINTED, objects=asked) if asked else ""
    verbs: dict[str, list[str]] = defaultdict(list)
    for line in printed.splitlines():
        allowed, _, attributes = line.partition(" ")
        if not json.loads(allowed):
            said = json.loads(attributes)
            place = f" in {said['namespace']}" if said.get("namespace") else ""
            verbs[f"{said['resource']}{place}"].append(said["verb"])
    if verbs:
        yield Finding(Check.RIGHTS, f"the user of {kubectl.context} may not {_told(verbs)}: {NO_RIGHTS}")


def reviews(objects: Sequence[Object]) -> list[Object]:
    """The questions, each a verb on a kind in a namespace; a review is answered and not stored."""
    wanted = {
        (found["apiVersion"].rpartition("/")[0], _RESOURCES[found["kind"]], found["metadata"].get("namespace", ""))
        for found in objects
        if found["kind"] in _RESOURCES
    }
    return [
        _review({"verb": verb, "group": group, "resource": resource, "namespace": namespace})
        for verb in _VERBS
        for group, resource, namespace in sorted(wanted)
    ]


def _review(attributes: dict[str, str]) -> Object:
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _told(verbs: dict[str, list[str]]) -> str:
    """`create or patch clusterroles, namespaces; patch deployments in volcano-system`."""
    resources: dict[str, list[str]] = defaultdict(list)
    for resource, refused in sorted(verbs.items()):
        resources[" or ".join(refused)].append(resource)
    return "; ".join(f"{refused} {', '.join(named)}" for refused, named in sorted(resources.items()))
