"""The PodGroup of a job: as it is created, and what a changed job changes in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from api import names
from api.jobs import queue_of, task_min_available
from api.owners import owner_reference
from api.resources import is_same, raw
from controllers.job.minresources import min_resources
from generated.batch.v1alpha1 import JOBS, Job, TaskSpec
from generated.meta.v1 import LabelSelector, ObjectMeta
from generated.scheduling.v1beta1 import (
    NetworkTopologyMode,
    NetworkTopologySpec,
    PodGroup,
    PodGroupSpec,
    SubGroupPolicySpec,
)


def build_group(job: Job, priorities: Mapping[str, int]) -> PodGroup:
    """The group that the job should have. Raises QuantityError."""
    meta = job.metadata
    return PodGroup(
        metadata=ObjectMeta(
            name=names.pod_group_name(meta.name, meta.uid),
            namespace=meta.namespace,
            labels=meta.labels,
            annotations=_without_last_applied(meta.annotations),
            owner_references=(owner_reference(JOBS, job),),
        ),
        spec=PodGroupSpec(
            min_member=job.spec.min_available,
            min_task_member={task.name: task_min_available(task) for task in job.spec.tasks},
            queue=queue_of(job.spec),
            priority_class_name=job.spec.priority_class_name,
            min_resources=raw(min_resources(job.spec, priorities)),
            network_topology=_topology(job.spec.network_topology),
            sub_group_policy=tuple(_sub_group(task) for task in job.spec.tasks if task.partition_policy is not None),
        ),
    )


def group_patch(found: PodGroup, wanted: PodGroup) -> dict[str, Any] | None:
    """
    The merge patch that lets an existing group follow its job; None when it does.

    The queue stays, as do labels and annotations that others wrote.
    """
    spec = _spec_patch(found.spec, wanted.spec)
    metadata = {
        field: missing
        for field in ("labels", "annotations")
        if (missing := _missing(getattr(found.metadata, field), getattr(wanted.metadata, field)))
    }
    if not spec and not metadata:
        return None
    patch: dict[str, Any] = {"metadata": {"uid": found.metadata.uid, **metadata}}
    return patch | {"spec": spec} if spec else patch


def _spec_patch(found: PodGroupSpec, wanted: PodGroupSpec) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    if found.priority_class_name != wanted.priority_class_name:
        patch["priorityClassName"] = wanted.priority_class_name or None
    if found.min_member != wanted.min_member:
        patch["minMember"] = wanted.min_member
    if not is_same(found.min_resources, wanted.min_resources):
        patch["minResources"] = _replaced(found.min_resources or {}, wanted.min_resources or {})
    if found.min_task_member != wanted.min_task_member:
        patch["minTaskMember"] = _replaced(found.min_task_member, wanted.min_task_member)
    if _topology(found.network_topology) != wanted.network_topology:
        patch["networkTopology"] = _plain(wanted.network_topology)
    if _comparable(found.sub_group_policy) != _comparable(wanted.sub_group_policy):
        patch["subGroupPolicy"] = [_plain(policy) for policy in wanted.sub_group_policy]
    return patch


def _replaced(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A map for a merge patch: what is no longer wanted is removed."""
    return {**dict.fromkeys(found), **wanted}


def _missing(found: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if found.get(key) != value}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _topology(given: NetworkTopologySpec | None) -> NetworkTopologySpec | None:
    """With the mode that the server gives it, and only one of the two limits: the tier's number wins over its name."""
    if given is None:
        return None
    name = given.highest_tier_name if given.highest_tier_allowed is None else ""
    return NetworkTopologySpec(
        mode=given.mode or NetworkTopologyMode.HARD,
        highest_tier_allowed=given.highest_tier_allowed,
        highest_tier_name=name,
    )


def _sub_group(task: TaskSpec) -> SubGroupPolicySpec:
    policy = task.partition_policy
    if policy is None:
        raise ValueError(f"task {task.name} has no partitions")
    topology = policy.network_topology
    return SubGroupPolicySpec(
        name=task.name,
        sub_group_size=policy.partition_size,
        min_sub_groups=policy.min_partitions,
        label_selector=LabelSelector(match_labels={names.TASK_SPEC_KEY: task.name}),
        match_label_keys=(names.PARTITION_ID_LABEL,),
        network_topology=topology,
    )


def _comparable(policies: tuple[SubGroupPolicySpec, ...]) -> list[Any]:
    """By value, whatever default the server has filled in."""
    compared = []
    for policy in policies:
        topology = policy.network_topology
        filled = (
            None
            if topology is None
            else (topology.mode or NetworkTopologyMode.HARD, topology.highest_tier_allowed, topology.highest_tier_name)
        )
        compared.append(
            (
                policy.name,
                policy.sub_group_size,
                policy.min_sub_groups or 0,
                policy.label_selector,
                policy.match_label_keys,
                filled,
            )
        )
    return compared


def _without_last_applied(annotations: dict[str, str]) -> dict[str, str]:
    """Kubectl's copy of the job's manifest would make it take the group for the job."""
    return {key: value for key, value in annotations.items() if key != names.LAST_APPLIED_ANNOTATION}
