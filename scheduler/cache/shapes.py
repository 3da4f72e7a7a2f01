"""
Which pods share a shape: those whose specs are equal but for what each pod has of its own.

Pods of one template come with identical spec parts (the informer shares equal parts), so the usual case is one
look-up by identity, and a comparison that finds the same objects on both sides; specs that only look alike meet again by
their encoding.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from api.resources import nonzero_requests, scheduling_numbers
from generated.core.v1 import Pod, PodSpec
from scheduler.state.dimensions import Request
from scheduler.state.task import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from generated.core.v1 import ContainerStatus

K = TypeVar("K")
V = TypeVar("V")

_encode = msgspec.json.encode
_OWN = {"node_name": "", "hostname": "", "subdomain": ""}
"""Spec fields that differ between pods of one template."""
_KEPT = 25_000
"""So many shapes that were asked for lately are known, and up to twice as many, so that what came and went takes no memory."""
_DIGEST = 16
"""Bytes; no two texts have one digest of that length, not even those that somebody chose."""

_Hint = tuple[int | str | None, ...]


class Recent(dict[K, V | None]):
    """
    A map that knows the `kept` entries that were put in or asked for last, and never more than twice as many.

    What isn't known is None. To be read by `[]` alone, which is no call for what was asked for lately.
    """

    def __init__(self, kept: int) -> None:
        super().__init__()
        self._kept = kept
        self._old: dict[K, V | None] = {}

    def __missing__(self, key: K) -> V | None:
        value = self._old.pop(key, None)
        return None if value is None else self.put(key, value)

    def put(self, key: K, value: V) -> V:
        """Take in an entry."""
        if len(self) >= self._kept and key not in self:
            self._old = dict(self)
            self.clear()
        self._old.pop(key, None)
        self[key] = value
        return value


class _Met(NamedTuple):
    """What a spec that was met says, without what is each pod's own, and its shape."""

    content: tuple[Any, ...]
    shape: Shape


class Shapes:
    """The shapes in use."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._by_parts: Recent[_Hint, _Met] = Recent(kept)
        self._by_text: Recent[bytes, Shape] = Recent(kept)
        self._resized: Recent[tuple[Shape, frozenset[tuple[str, float]]], Shape] = Recent(kept)

    def of(self, pod: Pod) -> Shape:
        """The shape of a pod. Raises QuantityError when a request can't be read."""
        spec = pod.spec
        hint, content = _hint(spec), _content(spec)
        met = self._by_parts[hint]
        if met is None or met.content != content:
            met = self._by_parts.put(hint, _Met(content, self._by_content(spec)))
        return self._of_size(pod, met.shape) if _may_have_own_size(pod) else met.shape

    def _by_content(self, spec: PodSpec) -> Shape:
        text = _encode(msgspec.structs.replace(spec, **_OWN))
        digest = blake2b(text, digest_size=_DIGEST).digest()
        return self._by_text[digest] or self._by_text.put(digest, Shape(spec, _request(spec)))

    def _of_size(self, pod: Pod, shape: Shape) -> Shape:
        """The shape of a pod whose status counts as well, since it may have been resized in place."""
        amounts = _floats(scheduling_numbers(pod))
        if amounts == shape.request.amounts:
            return shape
        key = shape, frozenset(amounts.items())
        return self._resized[key] or self._resized.put(key, Shape(shape.spec, Request(amounts, shape.request.nonzero)))


_content: attrgetter[tuple[Any, ...]] = attrgetter(
    *(info.name for info in msgspec.structs.fields(PodSpec) if info.name not in _OWN)
)
"""All that pods of one template have in common. Shared parts are equal at a glance, so comparing costs little."""


def _hint(spec: PodSpec) -> _Hint:
    """
    Where to look for a spec: what mostly differs between templates, shared parts by their identity.

    No more than a hint, since a part that nobody holds leaves its identity to the next one; what is found there has to
    be compared.
    """
    return (
        id(spec.containers),
        id(spec.init_containers),
        id(spec.volumes),
        id(spec.affinity),
        id(spec.node_selector),
        id(spec.tolerations),
        id(spec.topology_spread_constraints),
        id(spec.scheduling_gates),
        id(spec.resource_claims),
        id(spec.resources),
        spec.priority,
        spec.priority_class_name,
        spec.service_account_name,
    )


def _may_have_own_size(pod: Pod) -> bool:
    """
    Whether the sizes in the pod's status read otherwise than those in its spec.

    The kubelet repeats what the spec says for every running container (since Kubernetes 1.33), so that is the usual case.
    """
    status = pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return False
    held = [
        each for each in (*status.container_statuses, *status.init_container_statuses) if each.resources is not None
    ]
    if not held:
        return False
    wanted = {each.name: each.resources.requests for each in (*pod.spec.containers, *pod.spec.init_containers)}
    return not all(_holds(each, wanted.get(each.name)) for each in held)


def _holds(status: ContainerStatus, wanted: Mapping[str, Any] | None) -> bool:
    """Whether a container holds what it wants and nothing else, letter by letter."""
    if wanted is None or status.resources is None or status.resources.requests != wanted:
        return False
    return not status.allocated_resources or status.allocated_resources.items() <= wanted.items()


def _request(spec: PodSpec) -> Request:
    return Request(_floats(scheduling_numbers(Pod(spec=spec))), nonzero_requests(spec))


def _floats(numbers: Mapping[str, int]) -> dict[str, float]:
    return {name: float(amount) for name, amount in numbers.items()}
