"""
Which pods share a shape: those whose specs are equal but for what each pod has of its own.

Pods of one template come with identical spec parts (the informer shares equal parts), so the usual case is one
look-up by identity; specs that only look alike meet again by their encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from api.resources import nonzero_requests, scheduling_numbers
from scheduler.state.dimensions import Request
from scheduler.state.task import Shape

if TYPE_CHECKING:
    from generated.core.v1 import Pod, PodSpec

_encode = msgspec.json.encode
_OWN = {"node_name": "", "hostname": "", "subdomain": ""}
"""Spec fields that differ between pods of one template."""
_MAX = 50_000
"""With more shapes than this all are forgotten, so that what came and went takes no memory."""

_Parts = tuple[int, ...]


class Shapes:
    """The shapes in use."""

    def __init__(self) -> None:
        self._by_parts: dict[_Parts, Shape] = {}
        self._by_text: dict[bytes, Shape] = {}

    def of(self, pod: Pod) -> Shape:
        """The shape of a pod. Raises QuantityError when a request can't be read."""
        if _has_own_size(pod):
            return Shape(pod.spec, _request(pod))
        parts = _identity(pod.spec)
        shape = self._by_parts.get(parts)
        if shape is None:
            shape = self._by_parts[parts] = self._by_content(pod)
        return shape

    def _by_content(self, pod: Pod) -> Shape:
        text = _encode(msgspec.structs.replace(pod.spec, **_OWN))
        shape = self._by_text.get(text)
        if shape is None:
            if len(self._by_text) >= _MAX:
                self._by_text.clear()
                self._by_parts.clear()
            shape = self._by_text[text] = Shape(pod.spec, _request(pod))
        return shape


def _identity(spec: PodSpec) -> _Parts:
    """The shared parts by identity. The shape keeps a spec that holds them, so no number is given twice."""
    return (
        id(spec.containers),
        id(spec.init_containers),
        id(spec.affinity),
        id(spec.tolerations),
        id(spec.volumes),
        id(spec.topology_spread_constraints),
        id(spec.resource_claims),
        id(spec.scheduling_gates),
        id(spec.resources),
        hash(tuple(sorted(spec.node_selector.items()))),
        hash(tuple(sorted(spec.overhead.items()))),
        hash((spec.host_network, spec.priority, spec.scheduler_name, spec.preemption_policy)),
    )


def _has_own_size(pod: Pod) -> bool:
    """Whether the pod was resized in place, so that its status counts as well."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return any(status.resources is not None for status in statuses)


def _request(pod: Pod) -> Request:
    numbers = {name: float(amount) for name, amount in scheduling_numbers(pod).items()}
    return Request(numbers, nonzero_requests(pod.spec))
