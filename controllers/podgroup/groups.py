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
from generated.core.v1 import PODS, Pod
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupPhase, PodGroupSpec, PodGroupStatus

_OWN_PREFIX: Final = "volcano.sh/"
_COPIED_ANNOTATIONS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY, names.REVOCABLE_ZONE_KEY)
_COPIED_LABELS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY)


def build_group(pod: Pod, inherited: Mapping[str, str], now: datetime) -> PodGroup:
    """The group that the pod should have; `inherited` are the annotations of its owners. Raises QuantityError."""
    annotations = pod.metadata.annotations
    least = min_member(inherited)
    owners = pod.metadata.owner_references
    if controller_of(pod.metadata) is None:
        owners = (owner_reference(PODS, pod),)
    return PodGroup(
        metadata=ObjectMeta(
            name=name_for(pod),
            namespace=pod.metadata.namespace,
            annotations={key: value for key, value in inherited.items() if key.startswith(_OWN_PREFIX)}
            | _picked(annotations, _COPIED_ANNOTATIONS)
            | disruption_budget(annotations),
            labels=_picked(pod.metadata.labels, _COPIED_LABELS),
            owner_references=owners,
        ),
        spec=PodGroupSpec(
            min_member=least,
            min_resources=raw(scale(pod_usage(pod, now), least)),
            priority_class_name=pod.spec.priority_class_name,
            queue=annotations.get(names.GROUP_QUEUE_NAME_ANNOTATION) or names.DEFAULT_QUEUE,
            network_topology=network_topology(annotations),
        ),
        status=PodGroupStatus(phase=PodGroupPhase.PENDING),
    )


def unblocking(group: PodGroup) -> PodGroup:
    """The group, going with its owners without holding up their deletion."""
    owners = tuple(replace(owner, block_owner_deletion=None) for owner in group.metadata.owner_references)
    return replace(group, metadata=replace(group.metadata, owner_references=owners))


def group_patch(found: PodGroup, wanted: PodGroup) -> dict[str, Any] | None:
    """
    The merge patch that lets an existing group follow its workload; None when it does.

    Labels and annotations of others stay, and so does what only the server or the scheduler fills in.
    """
    spec: dict[str, Any] = {}
    if found.spec.min_member != wanted.spec.min_member:
        spec["minMember"] = wanted.spec.min_member
    if not is_same(found.spec.min_resources, wanted.spec.min_resources):
        spec["minResources"] = dict.fromkeys(found.spec.min_resources or {}) | dict(wanted.spec.min_resources or {})
    if found.spec.priority_class_name != wanted.spec.priority_class_name:
        spec["priorityClassName"] = wanted.spec.priority_class_name or None
    if found.spec.queue != wanted.spec.queue != names.DEFAULT_QUEUE:  # one that names none may have been moved
        spec["queue"] = wanted.spec.queue
    metadata = {
        field: missing
        for field in ("labels", "annotations")
        if (missing := _missing(getattr(found.metadata, field), getattr(wanted.metadata, field)))
    }
    if not spec and not metadata:
        return None
    patch: dict[str, Any] = {"metadata": {"uid": found.metadata.uid, **metadata}}
    return patch | {"spec": spec} if spec else patch


def _missing(found: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if found.get(key) != value}


def _picked(given: Mapping[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given}
