"""Where the pods of a task must run together: partitions, network tiers, NUMA nodes (webhooks.md 4.6, 4.7)."""

from __future__ import annotations

from typing import Final

from generated.batch.v1alpha1 import NumaPolicy, TaskSpec
from generated.scheduling.v1beta1 import NetworkTopologySpec
from runtime.quantity import QuantityError, Raw, parse

TIER_TWICE: Final = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def network_problem(topology: NetworkTopologySpec | None) -> str:
    """A tier must be named once; the text ends so that another may follow."""
    if topology is None or topology.highest_tier_allowed is None or not topology.highest_tier_name:
        return ""
    return f"{TIER_TWICE}; "


def partition_problem(task: TaskSpec, job: str) -> str:
    """The first thing that is wrong with a task's partitions, and what is wrong with their network tier."""
    policy = task.partition_policy
    if policy is None:
        return ""
    where = f" in task: {task.name}, job: {job}"
    total, size, least = policy.total_partitions, policy.partition_size, policy.min_partitions
    text = ""
    if total <= 0:
        text = f"'TotalPartitions' must be greater than 0{where}"
    elif size <= 0:
        text = f"'PartitionSize' must be greater than 0{where}"
    elif task.replicas != total * size:
        text = f"'Replicas' are not equal to TotalPartitions*PartitionSize{where}"
    elif task.min_available is not None and least > 0 and least * size != task.min_available:
        text = f"'MinAvailable' is not equal to MinPartitions*PartitionSize{where}"
    return text + network_problem(policy.network_topology)


def numa_problem(task: TaskSpec, index: int) -> str:
    """Whole NUMA nodes are given to whole cpus only: the first container that asks for another amount."""
    if task.topology_policy in {"", NumaPolicy.NONE}:
        return ""
    spec = task.template.spec
    for place, container in enumerate((*spec.containers, *spec.init_containers)):
        asked = container.resources.requests or container.resources.limits
        if not _is_whole(asked.get("cpu", 0)):
            return f"the cpu request isn't an integer in spec.task[{index}] container[{place}]."
    return ""


def _is_whole(cpu: Raw) -> bool:
    try:
        amount = parse(cpu)
    except QuantityError:
        return False
    return amount.is_whole and amount.nano > 0
