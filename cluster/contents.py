"""What is put into a running control plane: nodes, CustomResourceDefinitions, webhook configurations."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterable
from typing import Any, Final

from cluster.nodes import NodePool, manifests
from cluster.rest import Api

NOT_READY_TAINT: Final = "node.kubernetes.io/not-ready"

_NODES: Final = "/api/v1/nodes"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
WEBHOOKS: Final = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


def create_nodes(api: Api, pools: Iterable[NodePool], kubelet_version: str) -> list[str]:
    """Create the nodes of these pools; returns their names."""
    taken = [node["metadata"]["name"] for node in api.items(_NODES)]
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    nodes = list(manifests(pools, taken, kubelet_version, now))
    api.each(lambda node: api.create(_NODES, node), nodes)
    return [node["metadata"]["name"] for node in nodes]


def are_usable(api: Api, names: Iterable[str]) -> bool:
    """Whether these nodes are Ready, without the taint that each new node starts with."""
    usable = {
        node["metadata"]["name"]
        for node in api.items(_NODES, resourceVersion="0")
        if has_condition(node, "Ready") and not _has_taint(node, NOT_READY_TAINT)
    }
    return usable.issuperset(names)


def delete_nodes(api: Api, names: Iterable[str]) -> None:
    """Delete nodes; the controller manager deletes the pods that ran there."""
    api.each(lambda name: api.delete(f"{_NODES}/{name}"), names)


def delete_leases(api: Api) -> None:
    """Let go of all nodes, so that a new kwok takes them over at once and not when the leases run out."""
    api.delete(_LEASES)


def apply_crd(api: Api, crd: dict[str, Any]) -> None:
    """Apply a CustomResourceDefinition."""
    api.apply(f"{_CRDS}/{crd['metadata']['name']}", crd)


def is_served(api: Api, crd: dict[str, Any]) -> bool:
    """
    Whether objects of this definition can be created and listed. Asked of each version, since the API server answers
    429 for a while after it called a definition established.
    """
    spec = crd["spec"]
    if not has_condition(api.get(f"{_CRDS}/{crd['metadata']['name']}"), "Established"):
        return False
    for version in spec["versions"]:
        if version["served"]:
            api.get(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}", limit="1")
    return True


def apply_webhooks(api: Api, configurations: Iterable[dict[str, Any]], url: str, ca_pem: bytes) -> None:
    """Apply webhook configurations, pointed at a server on this machine."""
    for configuration in configurations:
        plural = WEBHOOKS[configuration["kind"]]
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}/{configuration['metadata']['name']}"
        api.apply(path, pointed_at(configuration, url, ca_pem))


def pointed_at(configuration: dict[str, Any], url: str, ca_pem: bytes) -> dict[str, Any]:
    """
    The same webhook configuration with its services replaced by `url` plus the service's path.

    No Service is reachable here, since nothing runs in the cluster: a webhook server is a process beside it.
    """
    bundle = base64.b64encode(ca_pem).decode()
    webhooks = []
    for webhook in configuration.get("webhooks") or ():
        path = (webhook["clientConfig"].get("service") or {}).get("path") or ""
        webhooks.append({**webhook, "clientConfig": {"url": f"{url.rstrip('/')}{path}", "caBundle": bundle}})
    return {**configuration, "webhooks": webhooks}


def has_condition(obj: dict[str, Any], kind: str) -> bool:
    """Whether an object's status has this condition with status True."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def _has_taint(node: dict[str, Any], key: str) -> bool:
    return any(taint["key"] == key for taint in node["spec"].get("taints") or ())
