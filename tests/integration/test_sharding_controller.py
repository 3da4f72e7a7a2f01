"""Shards on a real API server: no node in two of them, and a status that is a subresource."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from controllers import sharding
from controllers.blueprint import Blueprint, Context
from controllers.options import Options, ShardingOptions
from generated.clients.clientset import Clientset
from generated.core.v1 import ConfigMap
from generated.meta.v1 import ObjectMeta
from generated.shard.v1alpha1 import NodeShard
from runtime.controller import Controller
from runtime.errors import NotFound
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running


def in_namespace(namespace: str) -> Blueprint:
    """The controller with its config map in the namespace of the test."""

    def build(context: Context) -> Controller[Any]:
        options = Options(sharding=ShardingOptions(namespace=namespace))
        return sharding.BLUEPRINT.build(replace(context, options=options))

    return replace(sharding.BLUEPRINT, build=build)


def limited(name: str, nodes: int) -> dict[str, Any]:
    limit = {"name": "node-limit", "arguments": {"maxNodes": nodes}}
    mine = {"name": "allocation-rate", "arguments": {"maxCPUUtil": 1.0}}
    return {"name": name, "type": "volcano", "policies": [mine, limit]}


def data(*schedulers: dict[str, Any]) -> dict[str, str]:
    return {"sharding.yaml": yaml.safe_dump({"schedulerConfigs": list(schedulers)})}


async def read(clients: Clientset, name: str) -> NodeShard | None:
    try:
        return await clients.shard_v1alpha1.node_shards.get(name)
    except NotFound:
        return None


async def test_nodes_are_shared_out_and_follow_changes(
    kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    nodes = kwok_nodes(3)
    first, second = (f"{name}-{secrets.token_hex(3)}" for name in ("a", "b"))
    async with running(kubeconfig) as clients:
        meta = ObjectMeta(name="volcano-sharding-configmap", namespace=namespace)
        await clients.core_v1.config_maps.create(
            ConfigMap(metadata=meta, data=data(limited(first, 2), limited(second, 0)))
        )
    async with running(kubeconfig, in_namespace(namespace)) as clients:

        async def desired() -> list[set[str]]:
            shards = [await read(clients, name) for name in (first, second)]
            return [set(shard.spec.nodes_desired) & set(nodes) for shard in shards if shard is not None]

        found = await eventually(desired, lambda seen: [len(each) for each in seen] == [2, 1])
        assert not found[0] & found[1]
        shard = await eventually(
            lambda: read(clients, first), lambda seen: seen is not None and bool(seen.status.last_update_time)
        )
        assert shard is not None
        assert set(shard.status.nodes_to_add) == set(shard.spec.nodes_desired)
        cordoned = min(found[0])
        await clients.core_v1.nodes.patch(cordoned, MergePatch({"spec": {"unschedulable": True}}))
        await eventually(desired, lambda seen: seen == [set(nodes) - {cordoned}, set()])
        await clients.shard_v1alpha1.node_shards.delete(second)
        await eventually(lambda: read(clients, second), lambda seen: seen is not None)
        changed = MergePatch({"data": data(limited(first, 1))})
        await clients.core_v1.config_maps.patch("volcano-sharding-configmap", namespace, changed)
        await eventually(lambda: read(clients, second), lambda seen: seen is None)
        refused = MergePatch({"data": data({**limited(first, 1), "minNodes": -1})})
        await clients.core_v1.config_maps.patch("volcano-sharding-configmap", namespace, refused)
        await eventually(desired, lambda seen: [len(each) for each in seen] == [1])
        await clients.core_v1.nodes.patch(cordoned, MergePatch({"spec": {"unschedulable": None}}))
    async with running(kubeconfig) as clients:
        await clients.shard_v1alpha1.node_shards.delete(first)
