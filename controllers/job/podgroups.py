"""What a changed job changes in its PodGroup, which `api.jobgroups` builds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from api.jobgroups import build_group, topology_of
from api.resources import is_same
from generated.scheduling.v1beta1 import NetworkTopologyMode, PodGroup, PodGroupSpec, SubGroupPolicySpec

__all__ = ("build_group", "group_patch")


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
    if topology_of(found.network_topology) != wanted.network_topology:
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
