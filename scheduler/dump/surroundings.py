"""The parts of the state around nodes, jobs and tasks: what bears on where pods go, and what outlives sessions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from generated.topology.v1alpha1 import HyperNode
from runtime.selector import Requirement, Selector
from scheduler.dump.seam import Part, Reading, Writing
from scheduler.evicting.nominations import Nomination
from scheduler.state.claims import VolumeClaim


class NamespaceRecord(msgspec.Struct, frozen=True):
    """The labels of a namespace."""

    name: str
    labels: dict[str, str]


class ClaimRecord(msgspec.Struct, frozen=True):
    """A volume claim by `namespace/name`."""

    key: str
    claim: VolumeClaim


class SelectorRecord(msgspec.Struct, frozen=True):
    """What a Service, whose `kind` is empty, or a workload selects."""

    namespace: str
    kind: str
    name: str
    requirements: list[Requirement]


def _take_namespaces(writing: Writing) -> list[NamespaceRecord]:
    return [NamespaceRecord(name, dict(labels)) for name, labels in writing.cluster.sight.namespaces.items()]


def _put_namespaces(reading: Reading, records: Iterable[NamespaceRecord]) -> None:
    for record in records:
        reading.cluster.sight.set_namespace(record.name, record.labels)


def _take_claims(writing: Writing) -> list[ClaimRecord]:
    return [ClaimRecord(key, claim) for key, claim in writing.cluster.claims.known.items()]


def _put_claims(reading: Reading, records: Iterable[ClaimRecord]) -> None:
    for record in records:
        reading.cluster.claims.set(record.key, record.claim)


def _take_selectors(writing: Writing) -> list[SelectorRecord]:
    workloads = writing.cluster.workloads
    services = [
        SelectorRecord(namespace, "", name, list(selector.requirements))
        for namespace, table in workloads.services.items()
        for name, selector in table.items()
    ]
    return services + [
        SelectorRecord(namespace, kind, name, list(selector.requirements))
        for namespace, table in workloads.owners.items()
        for (kind, name), selector in table.items()
    ]


def _put_selectors(reading: Reading, records: Iterable[SelectorRecord]) -> None:
    workloads = reading.cluster.workloads
    for record in records:
        if record.kind:
            workloads.set_owner(record.namespace, (record.kind, record.name), Selector(record.requirements))
        else:
            labels = {found.key: found.values[0] for found in record.requirements}
            workloads.set_service(record.namespace, record.name, labels)


def _take_hypernodes(writing: Writing) -> list[HyperNode]:
    return list(writing.cluster.hypernodes.objects.values())


def _put_hypernodes(reading: Reading, objects: Iterable[HyperNode]) -> None:
    for obj in objects:
        reading.cluster.hypernodes.set(obj)


def _take_nominations(writing: Writing) -> list[Nomination]:
    return list(writing.memory.nominations.by_task.values())


def _put_nominations(reading: Reading, records: Iterable[Nomination]) -> None:
    reading.nominations = list(records)


SURROUNDINGS: tuple[Part, ...] = (
    Part("namespaces", NamespaceRecord, _take_namespaces, _put_namespaces),
    Part("claims", ClaimRecord, _take_claims, _put_claims),
    Part("selectors", SelectorRecord, _take_selectors, _put_selectors),
    Part("hypernodes", HyperNode, _take_hypernodes, _put_hypernodes),
    Part("nominations", Nomination, _take_nominations, _put_nominations),
)
"""Put back before nodes and tasks come, which are seen through them."""
