"""Simulated nodes: how a user describes a pool of them, and the Node objects that come of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from cluster.annotations import GPU, HOSTNAME, MANAGED_NODE, MANAGED_NODE_VALUE, RACK, ZONE
from cluster.errors import UsageError

QUANTITY: Final = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
MOST_NODES: Final = 20_000
"""Simulated nodes of one control plane at most: four times what Kubernetes promises to carry."""
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PREFIX = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_PLAIN: Final = ("cpu", "memory", "pods", "ephemeral-storage")
_CONDITIONS: Final = (
    ("Ready", "True", "KubeletReady"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
)


class Taint(msgspec.Struct, frozen=True):
    """`key[=value]:effect`."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, text: str) -> Taint:
        subject, _, effect = text.rpartition(":")
        key, _, value = subject.partition("=")
        if not key or effect not in _EFFECTS:
            raise UsageError(f"taint {text!r}: write key[=value]:effect with effect one of {', '.join(_EFFECTS)}")
        return cls(key, value, effect)

    def to_json(self) -> dict[str, str]:
        return {"key": self.key, "effect": self.effect, **({"value": self.value} if self.value else {})}


class NodePool(msgspec.Struct, frozen=True):
    """Equal nodes. `resources` are Kubernetes quantities by resource name, the same for capacity and allocatable."""

    count: int
    resources: Mapping[str, str] = msgspec.field(default_factory=dict)
    prefix: str = "node"
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    racks: int = 0
    zones: int = 0

    DEFAULTS = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}  # no field

    @classmethod
    def parse(cls, text: str) -> NodePool:
        """
        A pool from `COUNT[:KEY=VALUE,...]`, such as `4` or `16:cpu=64,memory=512Gi,gpus=8,name=gpu`.

        Keys are cpu, memory, pods, ephemeral-storage, gpus, name (the prefix of the names) and extended resources
        such as `example.com/fpga`. Raises UsageError.
        """
        count, _, rest = text.partition(":")
        if not count.isdecimal():
            raise UsageError(f"--nodes {text!r}: begins with the number of nodes, such as 4 or 4:cpu=32,memory=128Gi")
        if len(count.lstrip("0")) > len(str(MOST_NODES)) or int(count) > MOST_NODES:
            raise UsageError(f"--nodes {text!r}: at most {MOST_NODES} nodes can be simulated")
        resources: dict[str, str] = {}
        prefix = "node"
        for pair in filter(None, rest.split(",")):
            key, equals, value = pair.partition("=")
            if key == "name" and _PREFIX.fullmatch(value):
                prefix = value
            elif equals and _resource(key) and QUANTITY.fullmatch(value):
                resources[_resource(key)] = value
            else:
                known = ", ".join((*_PLAIN, "gpus", "name", "vendor/resource"))
                raise UsageError(f"--nodes {text!r}: {pair!r} is not KEY=QUANTITY with KEY one of {known}")
        return cls(int(count), resources, prefix)

    def capacity(self) -> dict[str, str]:
        """All resources of one node, defaults included."""
        return {**self.DEFAULTS, **self.resources}

    def labels_of(self, index: int, name: str) -> dict[str, str]:
        """Labels of the node with this running number; racks and zones go round, and a rack lies in one zone."""
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", **self.labels}
        rack = index % self.racks if self.racks else index
        if self.racks:
            labels[RACK] = f"rack-{rack}"
        if self.zones:
            labels[ZONE] = f"zone-{rack % self.zones}"
        return labels


def manifests(
    pools: Iterable[NodePool], taken: Iterable[str], kubelet_version: str, now: str
) -> Iterator[dict[str, Any]]:
    """
    Node objects of all pools, ready from the start.

    Numbers go on after the names already `taken`, and run through pools of one prefix. `now` is RFC 3339.
    """
    following = _next_numbers(taken)
    address = sum(following.values())
    for pool in pools:
        for _ in range(pool.count):
            number = following.get(pool.prefix, 0)
            following[pool.prefix] = number + 1
            yield _manifest(pool, number, address, kubelet_version, now)
            address += 1


def _manifest(pool: NodePool, number: int, address: int, kubelet_version: str, now: str) -> dict[str, Any]:
    name = f"{pool.prefix}-{number}"
    capacity = pool.capacity()
    stamp = {"lastHeartbeatTime": now, "lastTransitionTime": now, "message": "simulated"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": pool.labels_of(number, name),
            "annotations": {MANAGED_NODE: MANAGED_NODE_VALUE},
        },
        "spec": {"taints": [taint.to_json() for taint in pool.taints]} if pool.taints else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": _address(address)},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [
                {"type": kind, "status": status, "reason": reason, **stamp} for kind, status, reason in _CONDITIONS
            ],
            "nodeInfo": _node_info(kubelet_version),
        },
    }


def _node_info(kubelet_version: str) -> dict[str, str]:
    empty = dict.fromkeys(("machineID", "systemUUID", "bootID"), "")
    simulated = dict.fromkeys(("kernelVersion", "osImage", "containerRuntimeVersion"), "simulated")
    versions = {"kubeletVersion": kubelet_version, "kubeProxyVersion": ""}
    return {**empty, **simulated, **versions, "operatingSystem": "linux", "architecture": "amd64"}


def _address(number: int) -> str:
    """The address with this number in 10.128.0.0/9, outside the ranges of pods and services."""
    return f"10.{128 + number // 65025 % 128}.{number // 255 % 255}.{number % 255 + 1}"


def _resource(key: str) -> str:
    if key == "gpus":
        return GPU
    return key if key in _PLAIN or "/" in key else ""


def _next_numbers(names: Iterable[str]) -> dict[str, int]:
    """By prefix, one more than the highest number in use."""
    following: dict[str, int] = {}
    for name in names:
        prefix, _, number = name.rpartition("-")
        if prefix and number.isdecimal():
            following[prefix] = max(following.get(prefix, 0), int(number) + 1)
    return following
