"""Services and workloads, as far as they say which pods belong together: the system spreads these (plugins.md 18.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from runtime.selector import InvalidSelector, Requirement, Selector, from_labels, from_requirements

if TYPE_CHECKING:
    from generated.core.v1 import Pod

K = TypeVar("K")
Owner = tuple[str, str]
"""Kind and name of a workload, in the namespace of its pods."""
WORKLOADS = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet"})


def owner_of(pod: Pod | None) -> Owner | None:
    """The workload that controls a pod, of the kinds whose pods the system spreads."""
    if pod is None:
        return None
    for reference in pod.metadata.owner_references:
        if reference.controller and reference.kind in WORKLOADS:
            return reference.kind, reference.name
    return None


class Workloads:
    """Selectors by namespace, those of Services and those of workloads."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        """Labels that any of them ever looked at."""
        self._services: dict[str, dict[str, Selector]] = {}
        self._owners: dict[str, dict[Owner, Selector]] = {}

    @property
    def services(self) -> Mapping[str, Mapping[str, Selector]]:
        """By namespace and name."""
        return self._services

    @property
    def owners(self) -> Mapping[str, Mapping[Owner, Selector]]:
        """By namespace and workload."""
        return self._owners

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str]) -> bool:
        """Take in a Service; without a selector it is as good as gone. Whether that is news."""
        found = from_labels(selector)
        return self._set(self._services, namespace, name, None if isinstance(found, InvalidSelector) else found)

    def set_owner(self, namespace: str, owner: Owner, selector: Selector | None) -> bool:
        """Take in a workload, None when it is gone. Whether that is news."""
        return self._set(self._owners, namespace, owner, selector)

    def _set(self, table: dict[str, dict[K, Selector]], namespace: str, key: K, selector: Selector | None) -> bool:
        known = table.setdefault(namespace, {})
        if selector is None or selector.selects_everything:
            return known.pop(key, None) is not None
        if known.get(key) == selector:
            return False
        known[key] = selector
        self.keys |= {requirement.key for requirement in selector.requirements}
        return True

    def selector_of(self, namespace: str, labels: Mapping[str, str], owner: Owner | None) -> Selector | None:
        """What the Services that select a pod, and its workload, look for together; None where there are none."""
        services = self._services.get(namespace, {})
        requirements: list[Requirement] = []
        for selector in services.values():
            if selector.matches(labels):
                requirements += selector.requirements
        own = self._owners.get(namespace, {}).get(owner) if owner is not None else None
        if own is not None:
            requirements += own.requirements
        merged = from_requirements(dict.fromkeys(requirements))
        return None if not requirements or isinstance(merged, InvalidSelector) else merged
