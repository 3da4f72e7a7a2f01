"""
How much of each node is requested (controllers.md 12.2).

Sums are kept for each node and made anew only for those whose pods or capacity changed.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from api import names
from api.resources import pod_requests
from generated.core.v1 import Node, Pod
from generated.listers.core_v1 import PodLister
from runtime import quantity
from runtime.cooperation import cooperate
from runtime.lister import Lister
from runtime.quantity import QuantityError

_log = logging.getLogger(__name__)

LEAP: Final = 0.5
"""A change of a share above this is looked at before the next period."""
_CPU: Final = "cpu"
_MEMORY: Final = "memory"
_OVER: Final = frozenset(("Succeeded", "Failed"))


class Load(msgspec.Struct, frozen=True):
    """Requested shares, 0 to 1."""

    cpu: float
    memory: float


def counts(pod: Pod) -> bool:
    """Whether a pod takes part of its node: it isn't over, and no image of a static pod."""
    return pod.status.phase not in _OVER and names.MIRROR_POD_ANNOTATION not in pod.metadata.annotations


class Usage:
    """The loads of all nodes. `mark` what changed, then `refresh`."""

    def __init__(self, nodes: Lister[Node], pods: PodLister) -> None:
        self._nodes = nodes
        self._pods = pods
        self._loads: dict[str, Load | None] = {}
        self._changed: set[str] = set()

    def mark(self, node: str) -> None:
        """Something on a node changed."""
        self._changed.add(node)

    def of(self, node: str) -> Load | None:
        """The load of a node, None where it isn't known."""
        return self._loads.get(node)

    async def refresh(self) -> bool:
        """Look at what changed; whether a load leapt, or is known for the first time."""
        nodes = {node.metadata.name: node for node in self._nodes}
        for name in self._loads.keys() - nodes.keys():
            del self._loads[name]
        stale = (self._changed & nodes.keys()) | (nodes.keys() - self._loads.keys())
        self._changed.clear()
        has_leapt = False
        for name in stale:
            before, now = self._loads.get(name), self._measure(nodes[name])
            self._loads[name] = now
            has_leapt |= now is not None and (before is None or _leaps(before, now))
            await cooperate()
        return has_leapt

    def _measure(self, node: Node) -> Load | None:
        """None for a node whose numbers can't be read, which is no reason to leave out the others."""
        name = node.metadata.name
        try:
            requested = [pod_requests(pod) for pod in self._pods.by_node(name) if counts(pod)]
            capacity = node.status.capacity
            cpu, memory = quantity.milli(capacity.get(_CPU, 0)), quantity.units(capacity.get(_MEMORY, 0))
        except QuantityError as error:
            _log.warning("node is not measured node=%s error=%s", name, error)
            return None
        return Load(
            cpu=_share(sum(held[_CPU].milli for held in requested if _CPU in held), cpu),
            memory=_share(sum(held[_MEMORY].units for held in requested if _MEMORY in held), memory),
        )


def _share(requested: int, capacity: int) -> float:
    return min(1.0, requested / capacity) if capacity > 0 else 0.0


def _leaps(before: Load, now: Load) -> bool:
    return abs(now.cpu - before.cpu) > LEAP or abs(now.memory - before.memory) > LEAP
