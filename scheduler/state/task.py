"""One pod as the scheduler knows it, and the shape that it shares with its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from scheduler.state.dimensions import Request
from scheduler.state.status import Status
from scheduler.state.terms import host_ports, label_keys, looks_at_pods

if TYPE_CHECKING:
    from collections.abc import Hashable

    from generated.core.v1 import Pod, PodSpec
    from scheduler.state.node import Node
    from scheduler.state.profile import Profile


class Shape:
    """
    What pods of one template have in common: their spec and the request that follows from it.

    Shapes are shared by identity. `parts` remembers the encoded spec fields that signatures were cut from,
    `templates` the template that each signature gave.
    """

    __slots__ = ("claims", "gates", "label_keys", "looks", "parts", "ports", "request", "spec", "templates")

    def __init__(self, spec: PodSpec, request: Request) -> None:
        self.spec = spec
        self.request = request
        self.gates = tuple(gate.name for gate in spec.scheduling_gates)
        self.looks = looks_at_pods(spec)
        """Whether anything depends on where other pods stand."""
        self.label_keys = frozenset(label_keys(spec)) if self.looks else frozenset[str]()
        """The labels that its terms look at, of other pods and of its own."""
        self.ports = host_ports(spec)
        self.claims = has_claims(spec)
        """Whether it needs volume or resource claims, which are each pod's own."""
        self.parts: dict[str, bytes] = {}
        self.templates: dict[Hashable, Any] = {}

    def part(self, path: str) -> bytes:
        """The encoded value of a spec field such as `affinity.node_affinity`; an absent one is `null`."""
        encoded = self.parts.get(path)
        if encoded is None:
            value: Any = self.spec
            for name in path.split("."):
                value = getattr(value, name, None)
            encoded = self.parts[path] = msgspec.json.encode(value)
        return encoded


class Transaction:
    """Where a discarded plan would have put a task: kept for messages, for one session."""

    __slots__ = ("eviction", "node", "status")

    def __init__(self, status: Status, node: str, *, eviction: bool) -> None:
        self.status = status
        self.node = node
        self.eviction = eviction


class Task:
    """
    One pod. `status` and `node` change only through `Cluster`, which keeps every total in step.

    `ordinal` is the number after the last dash of the pod's name, -1 where it has none; `created` is in unix seconds.
    `has_topology`: its sub-job says how close in the network its pods must be. `nominated` is the node that the pod's
    status names, until that proves to be of no use.
    """

    __slots__ = (
        "created",
        "eviction",
        "has_topology",
        "in_kube",
        "job",
        "key",
        "name",
        "namespace",
        "node",
        "nominated",
        "ordinal",
        "pod",
        "preemptable",
        "priority",
        "profile",
        "request",
        "role",
        "shape",
        "status",
        "transaction",
        "uid",
    )

    def __init__(
        self,
        *,
        uid: str,
        namespace: str,
        name: str,
        job: str,
        shape: Shape,
        role: str = "",
        priority: int = 1,
        status: Status = Status.PENDING,
        created: float = 0.0,
        preemptable: bool = True,
        pod: Pod | None = None,
    ) -> None:
        self.uid = uid
        self.namespace = namespace
        self.name = name
        self.key = f"{namespace}/{name}"
        self.job = job
        self.shape = shape
        self.request = shape.request
        self.role = role
        self.priority = priority
        self.status = status
        self.created = created
        self.preemptable = preemptable
        self.pod = pod
        self.ordinal = ordinal_of(name)
        self.node: Node | None = None
        self.in_kube = False
        self.eviction = False
        self.has_topology = False
        self.nominated = pod.status.nominated_node_name if pod is not None else ""
        self.transaction: Transaction | None = None
        self.profile: Profile | None = None
        """What others' terms see of the pod; `Sight.profile` keeps it up to date."""

    def __repr__(self) -> str:
        return f"<Task {self.key} {self.status.label}{f' on {self.node.name}' if self.node else ''}>"

    @property
    def is_best_effort(self) -> bool:
        """Whether the pod asks for nothing but a place."""
        return self.request.is_best_effort

    @property
    def is_gated(self) -> bool:
        """Whether a scheduling gate keeps the pod back."""
        return bool(self.shape.gates)


def has_claims(spec: PodSpec) -> bool:
    """Whether a pod needs claims of volumes or of resources."""
    volumes = any(volume.persistent_volume_claim is not None or volume.ephemeral is not None for volume in spec.volumes)
    return volumes or bool(spec.resource_claims)


def pod_priority(task: Task) -> int:
    """The priority of the pod itself, 0 where it names none; `Task.priority` may differ."""
    return task.shape.spec.priority or 0


def ordinal_of(name: str) -> int:
    """The number behind the last dash of a pod name of three or more parts, else -1 (scheduler.md 7)."""
    parts = name.rsplit("-", 2)
    if len(parts) < 3 or not parts[2].isdecimal():
        return -1
    return int(parts[2])
