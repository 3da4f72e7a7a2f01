"""The PodGroup that a job gets: what its controller creates, and what a simulation takes a manifest for."""

from __future__ import annotations

from collections.abc import Mapping

from api import names
from api.jobs import queue_of, task_min_available
from api.minresources import min_resources
from api.owners import owner_reference
from api.resources import raw
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
            network_topology=topology_of(job.spec.network_topology),
            sub_group_policy=tuple(_sub_group(task) for task in job.spec.tasks if task.partition_policy is not None),
        ),
    )


def topology_of(given: NetworkTopologySpec | None) -> NetworkTopologySpec | None:
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


def _without_last_applied(annotations: dict[str, str]) -> dict[str, str]:
    """Kubectl's copy of the job's manifest would make it take the group for the job."""
    return {key: value for key, value in annotations.items() if key != names.LAST_APPLIED_ANNOTATION}
