"""The group of a pod that comes without one: as it is created, and what a changed workload changes in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from api import names
from api.jobs import disruption_budget
from api.owners import controller_of, owner_reference
from api.podgroups import min_member, name_for, network_topology
from api.quota import pod_usage
from api.resources import is_same, raw, scale
from controllers.podgroup.copied import Copied, dropped, note, noted
from generated.apps.v1 import STATEFUL_SETS
from generated.core.v1 import PODS, Pod
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup, PodGroupPhase, PodGroupSpec, PodGroupStatus

_OWN_PREFIX: Final = "volcano.sh/"
_COPIED_ANNOTATIONS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY, names.REVOCABLE_ZONE_KEY)
_COPIED_LABELS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY)
_NOTES: Final = (names.COPIED_FROM_PODS_ANNOTATION,)


def build_group(pod: Pod, inherited: Mapping[str, str], now: datetime) -> PodGroup:
    """The group that the pod should have; `inherited` are the annotations of its owners. Raises QuantityError."""
    least = min_member(inherited)
    owner = controller_of(pod.metadata)
    copied = _copied(pod, inherited)
    return PodGroup(
        metadata=ObjectMeta(
            name=name_for(pod),
            namespace=pod.metadata.namespace,
            annotations=copied.annotations | (note(copied) if _has_revisions(owner) else {}),
            labels=copied.labels,
            owner_references=pod.metadata.owner_references if owner is not None else (owner_reference(PODS, pod),),
        ),
        spec=PodGroupSpec(
            min_member=least,
            min_resources=raw(scale(pod_usage(pod, now), least)),
            priority_class_name=pod.spec.priority_class_name,
            queue=copied.queue or names.DEFAULT_QUEUE,
            network_topology=copied.network_topology,
        ),
        status=PodGroupStatus(phase=PodGroupPhase.PENDING),
    )


def _copied(pod: Pod, inherited: Mapping[str, str]) -> Copied:
    annotations = pod.metadata.annotations
    return Copied(
        annotations={key: value for key, value in inherited.items() if key.startswith(_OWN_PREFIX)}
        | _picked(annotations, _COPIED_ANNOTATIONS)
        | disruption_budget(annotations),
        labels=_picked(pod.metadata.labels, _COPIED_LABELS),
        queue=annotations.get(names.GROUP_QUEUE_NAME_ANNOTATION, ""),
        network_topology=network_topology(annotations),
    )


def _has_revisions(owner: OwnerReference | None) -> bool:
    """Whether pods of several revisions come under one group in turn; a ReplicaSet has one revision only."""
    return owner is not None and owner.kind == STATEFUL_SETS.kind


def unblocking(group: PodGroup) -> PodGroup:
    """The group, going with its owners without holding up their deletion."""
    owners = tuple(replace(owner, block_owner_deletion=None) for owner in group.metadata.owner_references)
    return replace(group, metadata=replace(group.metadata, owner_references=owners))


def group_patch(found: PodGroup, wanted: PodGroup) -> dict[str, Any] | None:
    """
    The merge patch that lets an existing group follow its workload; None when it does.

    What others set stays, and so does what only the server or the scheduler fills in (`controllers.podgroup.copied`).
    """
    spec = _spec_patch(found.spec, wanted.spec, noted(found))
    metadata = _metadata_patch(found, wanted)
    if not spec and not metadata:
        return None
    patch: dict[str, Any] = {"metadata": {"uid": found.metadata.uid, **metadata}}
    return patch | {"spec": spec} if spec else patch


def _spec_patch(found: PodGroupSpec, wanted: PodGroupSpec, before: Copied) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if found.min_member != wanted.min_member:
        spec["minMember"] = wanted.min_member
    if not is_same(found.min_resources, wanted.min_resources):
        spec["minResources"] = dict.fromkeys(found.min_resources or {}) | dict(wanted.min_resources or {})
    if found.priority_class_name != wanted.priority_class_name:
        spec["priorityClassName"] = wanted.priority_class_name or None
    if found.queue != wanted.queue and (wanted.queue != names.DEFAULT_QUEUE or found.queue == before.queue != ""):
        spec["queue"] = wanted.queue  # where the pods name none, it may have been moved since
    topology = found.network_topology
    if topology != wanted.network_topology and (wanted.network_topology or topology == before.network_topology):
        spec["networkTopology"] = _whole(wanted.network_topology)
    return spec


def _whole(topology: NetworkTopologySpec | None) -> dict[str, Any] | None:
    """All of a topology, with null for what it leaves out, as a merge patch needs it."""
    if topology is None:
        return None
    tier = topology.highest_tier_allowed
    return {"mode": topology.mode, "highestTierAllowed": tier, "highestTierName": topology.highest_tier_name or None}


def _metadata_patch(found: PodGroup, wanted: PodGroup) -> dict[str, dict[str, str | None]]:
    before = noted(found)
    copied = {"labels": before.labels, "annotations": before.annotations | _picked(found.metadata.annotations, _NOTES)}
    patch: dict[str, dict[str, str | None]] = {}
    for field, once in copied.items():
        here, there = getattr(found.metadata, field), getattr(wanted.metadata, field)
        if changes := {**_missing(here, there), **dropped(once, here, there)}:
            patch[field] = changes
    return patch


def _missing(found: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if found.get(key) != value}


def _picked(given: Mapping[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given}
