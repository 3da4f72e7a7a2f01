"""Nodes, HyperNodes and configurations for the tests of the HyperNode controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from controllers.hypernode.reconcile import HyperNodeReconciler
from controllers.hypernode.requests import Work
from generated.core.v1 import ConfigMap, Node, Secret
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from generated.topology.v1alpha1 import HYPER_NODES, ExactMatch, HyperNode, MemberSelector, MemberSpec
from runtime.lister import Lister
from runtime.objects import Key
from runtime.pages import Page
from tests.unit.controllers.fakes import Events

PLACE = Key("volcano-system", "volcano-controller-configmap")
SOURCE_LABEL = "volcano.sh/network-topology-source"


def node(name: str, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def hypernode(
    name: str, tier: int, *members: str, source: str = "", count: int = 0, tier_name: str = "", **labels: str
) -> HyperNode:
    marks = {**labels, **({SOURCE_LABEL: source} if source else {})}
    kind = "Node" if tier == 1 else "HyperNode"
    selectors = tuple(
        MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members
    )
    built = HyperNode(metadata=ObjectMeta(name=name, uid=f"uid-{name}", labels=marks))
    spec = msgspec.structs.replace(built.spec, tier=tier, tier_name=tier_name, members=selectors)
    return msgspec.structs.replace(built, spec=spec, status=msgspec.structs.replace(built.status, node_count=count))


def shape(hypernodes: Iterable[HyperNode]) -> dict[str, tuple[int, list[str]]]:
    """Tier and members by name."""
    return {
        each.metadata.name: (
            each.spec.tier,
            [member.selector.exact_match.name for member in each.spec.members if member.selector.exact_match],
        )
        for each in hypernodes
    }


LABELS = {
    "source": "label",
    "enabled": True,
    "config": {
        "networkTopologyTypes": {
            "net": [{"nodeLabel": "row"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
        }
    },
}


def ufm(endpoint: str = "http://nowhere.invalid", **entry: Any) -> dict[str, Any]:
    credentials = {"secretRef": {"name": "s", "namespace": "ns"}}
    return {
        "source": "ufm",
        "enabled": True,
        "interval": "10m",
        "credentials": credentials,
        "config": {"endpoint": endpoint},
        **entry,
    }


def config(*entries: Any) -> ConfigMap:
    text = yaml.safe_dump({"networkTopologyDiscovery": list(entries)})
    return raw_config({"volcano-controller.conf": text})


def raw_config(data: dict[str, str]) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=PLACE.name, namespace=PLACE.namespace), data=data)


class World:
    """The controller, what the cache and the server have, and what is written."""

    def __init__(self, *objects: Any, stored: Iterable[HyperNode] | None = None) -> None:
        self.fakes = Fakes(*objects)
        self.events = Events()
        self.asked: list[Work] = []
        self.configs: Lister[ConfigMap] = self.fakes.core_v1.config_maps.lister
        self.hypernodes: Lister[HyperNode] = self.fakes.topology_v1alpha1.hyper_nodes.lister
        self.stored = list(self.hypernodes if stored is None else stored)
        self.lists = 0
        self.secret: Secret | None = None
        self.fakes.clients.topology_v1alpha1.hyper_nodes.list = self._list  # type: ignore[method-assign]
        self.reconciler = HyperNodeReconciler(
            self.fakes.clients,
            PLACE,
            configs=self.configs,
            hypernodes=self.hypernodes,
            nodes=self.fakes.core_v1.nodes.lister,
            events=self.events,
            ask=self.asked.append,
        )

    async def _list(self, **_: Any) -> Page[HyperNode]:
        self.lists += 1
        return Page(items=tuple(self.stored), resource_version="9")

    def configure(self, found: ConfigMap) -> None:
        self.configs.put(found)  # type: ignore[attr-defined]  # a filled lister is a store

    @property
    def written(self) -> list[str]:
        return [
            f"{write.verb} {write.name}" for write in self.fakes.writes if write.resource == HYPER_NODES.qualified_name
        ]
