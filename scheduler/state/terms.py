"""
What pods say of other pods: affinity terms, spread constraints, host ports; read from a spec once a shape.

A term is a value: two pods that want the same of others carry equal terms, and are counted together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from runtime.selector import InvalidSelector, Requirement, Selector, from_label_selector, from_requirements

if TYPE_CHECKING:
    from generated.core.v1 import PodAffinityTerm, PodSpec
    from generated.meta.v1 import LabelSelector

Labels = Mapping[str, str]
NOTHING = None
"""The selector of a term that has none, or one that can't be read: it matches no pod."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  # a host port's address, nothing is bound here


class PodTerm(msgspec.Struct, frozen=True):
    """Which pods: those in some namespaces whose labels match."""

    namespaces: frozenset[str]
    namespace_selector: Selector | None
    selector: Selector | None

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Whether a pod is meant."""
        if self.selector is None or not self.selector.matches(labels):
            return False
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches(namespace_labels)


class Placed(msgspec.Struct, frozen=True):
    """A term with the node label within whose values it holds, and how much it is worth where it is a wish."""

    term: PodTerm
    topology_key: str
    weight: int = 0
    """Of a wish; negative for one to keep away."""


class Affinities(msgspec.Struct, frozen=True):
    """The inter-pod terms of a pod."""

    required: tuple[Placed, ...] = ()
    forbidden: tuple[Placed, ...] = ()
    preferred: tuple[Placed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.preferred)


class HostPort(msgspec.Struct, frozen=True):
    """A port of the node that a pod takes."""

    protocol: str
    port: int
    address: str

    def conflicts(self, other: HostPort) -> bool:
        """Whether both can't stand on one node."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return ANY_ADDRESS in (self.address, other.address) or self.address == other.address


def read_selector(selector: LabelSelector | None) -> Selector | None:
    """A label selector; None where it is absent or can't be read."""
    if selector is None:
        return NOTHING
    found = from_label_selector(selector)
    return NOTHING if isinstance(found, InvalidSelector) else found


def narrowed(selector: Selector, labels: Labels, keys: Iterable[str]) -> Selector:
    """A selector that wants the pod's own value of some labels as well, of those that the pod has."""
    own = tuple(Requirement(key, "In", (labels[key],)) for key in keys if key in labels)
    found = from_requirements((*selector.requirements, *own))
    return selector if isinstance(found, InvalidSelector) else found


def affinities(spec: PodSpec, namespace: str) -> Affinities:
    """The inter-pod terms of a pod of that namespace (plugins.md 18.3)."""
    if spec.affinity is None:
        return Affinities()
    near, far = spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity
    wishes = [
        Placed(_term(wish.pod_affinity_term, namespace), wish.pod_affinity_term.topology_key, sign * wish.weight)
        for source, sign in ((near, 1), (far, -1))
        for wish in (source.preferred_during_scheduling_ignored_during_execution if source is not None else ())
    ]
    return Affinities(
        _required(near.required_during_scheduling_ignored_during_execution if near is not None else (), namespace),
        _required(far.required_during_scheduling_ignored_during_execution if far is not None else (), namespace),
        tuple(wishes),
    )


def _required(terms: Iterable[PodAffinityTerm], namespace: str) -> tuple[Placed, ...]:
    return tuple(Placed(_term(term, namespace), term.topology_key) for term in terms)


def _term(term: PodAffinityTerm, namespace: str) -> PodTerm:
    own = not term.namespaces and term.namespace_selector is None
    return PodTerm(
        frozenset((namespace,) if own else term.namespaces),
        read_selector(term.namespace_selector),
        read_selector(term.label_selector),
    )


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The ports of containers, and of init containers that keep running."""
    keep_running = tuple(each for each in spec.init_containers if each.restart_policy == "Always")
    return tuple(
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_ADDRESS)
        for container in (*keep_running, *spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def label_keys(spec: PodSpec) -> set[str]:
    """The pod labels that this pod's terms and constraints look at, of other pods and of itself."""
    found = affinities(spec, "")
    keys: set[str] = set()
    for placed in (*found.required, *found.forbidden, *found.preferred):
        if placed.term.selector is not None:
            keys |= {requirement.key for requirement in placed.term.selector.requirements}
    for constraint in spec.topology_spread_constraints:
        selector = read_selector(constraint.label_selector)
        if selector is not None:
            keys |= {requirement.key for requirement in selector.requirements}
            keys |= set(constraint.match_label_keys)
    return keys


def looks_at_pods(spec: PodSpec) -> bool:
    """Whether anything in a spec depends on where other pods stand."""
    affinity = spec.affinity
    between = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    return between or bool(spec.topology_spread_constraints) or bool(host_ports(spec))
