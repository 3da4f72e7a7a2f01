"""Builders for tests that have to do with the network: HyperNodes, and gangs that limit how far apart they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from generated.core.v1 import Pod
from generated.meta.v1 import LabelSelector, ObjectMeta
from generated.scheduling.v1beta1 import NetworkTopologySpec, SubGroupPolicySpec
from generated.topology.v1alpha1 import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    MemberSelector,
    MemberSpec,
    RegexMatch,
)
from scheduler.state.job import Job
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: network-topology-aware}]
"""


def by_name(name: str) -> MemberSpec:
    """A member of type Node, given by name."""
    return MemberSpec(type="Node", selector=MemberSelector(exact_match=ExactMatch(name=name)))


def by_pattern(pattern: str) -> MemberSpec:
    """Nodes by a pattern of their names."""
    return MemberSpec(type="Node", selector=MemberSelector(regex_match=RegexMatch(pattern=pattern)))


def by_label(**labels: str) -> MemberSpec:
    """Nodes by their labels."""
    return MemberSpec(type="Node", selector=MemberSelector(label_match=LabelSelector(match_labels=labels)))


def child(name: str) -> MemberSpec:
    """A HyperNode below."""
    return MemberSpec(type="HyperNode", selector=MemberSelector(exact_match=ExactMatch(name=name)))


def hypernode(name: str, tier: int, *members: MemberSpec, tier_name: str = "", created: str = "") -> HyperNode:
    """A HyperNode."""
    return HyperNode(
        metadata=ObjectMeta(name=name, creation_timestamp=created or None),
        spec=HyperNodeSpec(tier=tier, tier_name=tier_name, members=members),
    )


def grow(world: World, tree: Mapping[str, tuple[int, Sequence[str]]]) -> None:
    """Add HyperNodes: name to tier and members, which are children where the tree has them and nodes else."""
    for name, (tier, members) in tree.items():
        parts = (child(member) if member in tree else by_name(member) for member in members)
        world.cluster.hypernodes.set(hypernode(name, tier, *parts))


def limit(job: Job, mode: str = "hard", tier: int | None = None, tier_name: str = "") -> None:
    """Give a job a network topology."""
    topology = NetworkTopologySpec(mode=mode, highest_tier_allowed=tier, highest_tier_name=tier_name)
    _change(job, network_topology=topology)


def divide(job: Job, *policies: SubGroupPolicySpec) -> None:
    """Give a job sub-group policies."""
    _change(job, sub_group_policy=policies)


def _change(job: Job, **changes: Any) -> None:
    assert job.pod_group is not None
    job.pod_group = msgspec.structs.replace(job.pod_group, spec=msgspec.structs.replace(job.pod_group.spec, **changes))


def policy(
    name: str,
    *keys: str,
    size: int | None = None,
    least: int | None = None,
    labels: dict[str, str] | None = None,
    topology: NetworkTopologySpec | None = None,
) -> SubGroupPolicySpec:
    """A sub-group policy."""
    return SubGroupPolicySpec(
        name=name,
        match_label_keys=keys,
        sub_group_size=size,
        min_sub_groups=least,
        label_selector=LabelSelector(match_labels=labels) if labels is not None else None,
        network_topology=topology,
    )


def hard(tier: int) -> NetworkTopologySpec:
    """A hard limit."""
    return NetworkTopologySpec(mode="hard", highest_tier_allowed=tier)


def labelled(
    world: World,
    job: str,
    name: str,
    shape: Shape,
    named: Mapping[str, str] = MappingProxyType({}),
    /,
    *,
    node: str = "",
    status: Status | None = None,
    **labels: str,
) -> Task:
    """Add a pod with labels to a job; `named` are those whose keys a test computes."""
    pod = Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", labels={**named, **labels}))
    state = status if status is not None else (Status.RUNNING if node else Status.PENDING)
    task = Task(
        uid=f"uid-{name}", namespace="ns", name=name, job=f"ns/{job}", shape=shape, status=state, pod=pod, role="w"
    )
    world.cluster.add_task(task, node)
    return task
