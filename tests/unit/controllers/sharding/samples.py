"""Nodes, pods, shards and documents for the tests of the sharding controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from controllers.options import ShardingOptions
from controllers.sharding.settings import Settings, from_data, from_flags
from generated.core.v1 import ConfigMap, Container, Node, NodeStatus, Pod, PodSpec, PodStatus, ResourceRequirements
from generated.meta.v1 import ObjectMeta

FLAGS = from_flags(ShardingOptions())


def document(*schedulers: Mapping[str, Any], **fields: Any) -> dict[str, str]:
    """The data of a config map."""
    return {"sharding.yaml": yaml.safe_dump({"schedulerConfigs": list(schedulers), **fields})}


def settings(*schedulers: Mapping[str, Any], **fields: Any) -> Settings:
    return from_data(document(*schedulers, **fields), FLAGS)


def config_map(data: Mapping[str, str], version: str = "1") -> ConfigMap:
    meta = ObjectMeta(name="volcano-sharding-configmap", namespace="volcano-system", resource_version=version)
    return ConfigMap(metadata=meta, data=dict(data))


def node(name: str, cpu: Any = "10", memory: Any = "10Gi", **fields: Any) -> Node:
    labels = fields.pop("labels", {})
    annotations = fields.pop("annotations", {})
    status = NodeStatus(capacity={"cpu": cpu, "memory": memory}, conditions=fields.pop("conditions", ()))
    meta = ObjectMeta(name=name, labels=labels, annotations=annotations, **fields.pop("meta", {}))
    return Node(metadata=meta, status=status, **fields)


def pod(name: str, on: str, cpu: str = "1", memory: str = "1Gi", phase: str = "Running", **fields: Any) -> Pod:
    annotations = fields.pop("annotations", {})
    container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpu, "memory": memory}))
    return Pod(
        metadata=ObjectMeta(name=name, namespace="ns", annotations=annotations),
        spec=PodSpec(node_name=on, containers=(container,), **fields),
        status=PodStatus(phase=phase),
    )
