"""HyperNodes on a real API server: discovered from labels, counted, and left to their owners."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from controllers import hypernode
from generated.clients.clientset import Clientset
from generated.core.v1 import ConfigMap, Secret
from generated.meta.v1 import ObjectMeta
from generated.topology.v1alpha1 import HYPER_NODES, HyperNode
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running
from tests.scripted_server import ScriptedServer, answer

SOURCE = "volcano.sh/network-topology-source"
CONFIG = "volcano-controller-configmap"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, namespace: str) -> None:
    """The configuration of each test is in its own namespace."""
    monkeypatch.setenv("KUBE_POD_NAMESPACE", namespace)


def data(*sources: dict[str, Any]) -> dict[str, str]:
    return {"volcano-controller.conf": yaml.safe_dump({"networkTopologyDiscovery": list(sources)})}


async def configure(clients: Clientset, namespace: str, *sources: dict[str, Any]) -> None:
    meta = ObjectMeta(name=CONFIG, namespace=namespace)
    await clients.core_v1.config_maps.create(ConfigMap(metadata=meta, data=data(*sources)))


async def of_source(clients: Clientset, source: str) -> dict[str, HyperNode]:
    found = await clients.topology_v1alpha1.hyper_nodes.list(label_selector=f"{SOURCE}={source}")
    return {each.metadata.name: each for each in found.items}


def members(found: HyperNode) -> list[str]:
    return [each.selector.exact_match.name for each in found.spec.members if each.selector.exact_match]


async def test_labels_of_nodes_become_hypernodes_with_counts(
    kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    nodes = kwok_nodes(4)
    key = f"rack-{secrets.token_hex(3)}"
    async with running(kubeconfig, hypernode.BLUEPRINT) as clients:
        for place, name in enumerate(nodes[:3]):
            labels = {"metadata": {"labels": {key: "a" if place < 2 else "b"}}}
            await clients.core_v1.nodes.patch(name, MergePatch(labels))
        types = {"net": [{"nodeLabel": key}, {"nodeLabel": "kubernetes.io/hostname"}]}
        await configure(
            clients, namespace, {"source": "label", "enabled": True, "config": {"networkTopologyTypes": types}}
        )

        async def racks() -> dict[str, tuple[list[str], int]]:
            found = (await of_source(clients, "label")).values()
            return {each.metadata.labels[key]: (members(each), each.status.node_count) for each in found}

        first = await eventually(racks, lambda seen: seen == {"a": (nodes[:2], 2), "b": (nodes[2:3], 1)})
        before = await versions(clients)
    async with running(kubeconfig, hypernode.BLUEPRINT) as clients:  # another process takes over
        own = await own_hypernode(clients)
        get = clients.topology_v1alpha1.hyper_nodes.get
        await eventually(lambda: get(own), lambda seen: seen.status.node_count == 1)
        assert await versions(clients) == before
        await clients.core_v1.nodes.patch(nodes[3], MergePatch({"metadata": {"labels": {key: "b"}}}))
        await eventually(racks, lambda seen: seen == {**first, "b": (nodes[2:], 2)})
        assert {name: uid for name, (uid, _) in (await versions(clients)).items()} == {
            name: uid for name, (uid, _) in before.items()
        }
        for name in nodes:
            await clients.core_v1.nodes.patch(name, MergePatch({"metadata": {"labels": {key: None}}}))
        await eventually(racks, lambda seen: not seen)
        await clients.topology_v1alpha1.hyper_nodes.delete(own)


async def versions(clients: Clientset) -> dict[str, tuple[str, str]]:
    """UID and resourceVersion of what labels made, by name."""
    found = (await of_source(clients, "label")).values()
    return {each.metadata.name: (each.metadata.uid, each.metadata.resource_version) for each in found}


async def own_hypernode(clients: Clientset) -> str:
    """A HyperNode that a user makes; its count tells that the controller is at work."""
    name = f"mine-{secrets.token_hex(3)}"
    spec = {"tier": 1, "members": [member("n1")]}
    await clients.client.create(HYPER_NODES, {"metadata": {"name": name}, "spec": spec})
    return name


async def test_a_fabric_is_asked_with_the_words_of_a_secret(kubeconfig: Path, namespace: str) -> None:
    ports = [
        {"description": "Computer IB Port", "peer_node_name": leaf, "system_name": node}
        for leaf, node in (("l1", "n1"), ("l1", "n2"), ("l2", "n3"))
    ]
    async with (
        ScriptedServer(answer(401), answer(200, ports)) as ufm,
        running(kubeconfig, hypernode.BLUEPRINT) as clients,
    ):
        await clients.core_v1.secrets.create(secret(namespace, "old"))
        source = {
            "source": "ufm",
            "enabled": True,
            "credentials": {"secretRef": {"name": "ufm", "namespace": namespace}},
            "config": {"endpoint": ufm.url},
        }
        await configure(clients, namespace, {"source": "roce", "enabled": True}, source)
        await eventually(lambda: _count(ufm), lambda count: count == 1)
        await clients.core_v1.secrets.delete("ufm", namespace)
        await clients.core_v1.secrets.create(secret(namespace, "new"))
        changed = data({**source, "interval": "5m"})
        await clients.core_v1.config_maps.patch(CONFIG, namespace, MergePatch({"data": changed}))

        async def shape() -> dict[str, tuple[list[str], int]]:
            found = await of_source(clients, "ufm")
            return {name: (members(each), each.status.node_count) for name, each in found.items()}

        await eventually(
            shape,
            lambda seen: (
                seen
                == {
                    "leaf-hn-0": (["n1", "n2"], 2),
                    "leaf-hn-1": (["n3"], 1),
                    "spine-hn": (["leaf-hn-0", "leaf-hn-1"], 2),
                }
            ),
        )
        words = [base64.b64decode(each.headers["authorization"][6:]).decode() for each in ufm.received]
        assert words == ["me:old", "me:new"]
        await clients.core_v1.config_maps.delete(CONFIG, namespace)
        name = await own_hypernode(clients)
        await eventually(
            lambda: clients.topology_v1alpha1.hyper_nodes.get(name), lambda seen: seen.status.node_count == 1
        )
        assert set(await shape()) == {"leaf-hn-0", "leaf-hn-1", "spine-hn"}  # stopping deletes nothing
        for each in (name, "leaf-hn-0", "leaf-hn-1", "spine-hn"):
            await clients.topology_v1alpha1.hyper_nodes.delete(each)


async def _count(server: ScriptedServer) -> int:
    return len(server.received)


def member(name: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def secret(namespace: str, password: str) -> Secret:
    words = {"username": "me", "password": password}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in words.items()}
    return Secret(metadata=ObjectMeta(name="ufm", namespace=namespace), data=encoded)
