"""PodGroups of pods that come without one: their name, and what annotations ask of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from api import names
from api.owners import controller_of
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import NetworkTopologyMode, NetworkTopologySpec

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT32_MAX: Final = 2**31 - 1
_INT64: Final = 2**63
_LEAST_MEMBERS: Final = 1


def name_for(pod: Pod) -> str:
    """The group that a pod without group annotation belongs to: one for all pods of its controller."""
    owner = controller_of(pod.metadata)
    return names.workload_pod_group_name(owner.uid if owner else pod.metadata.uid)


def min_member(annotations: Mapping[str, str]) -> int:
    """How many pods the workload asks for at least; 1 when it asks for nothing sensible (compat: GROUP-1)."""
    wanted = _integer(annotations.get(names.GROUP_MIN_MEMBER_ANNOTATION, ""))
    return wanted if wanted is not None and 0 <= wanted <= _INT32_MAX else _LEAST_MEMBERS


def network_topology(annotations: Mapping[str, str]) -> NetworkTopologySpec | None:
    """The topology that a pod's annotations ask for, None when they don't. An unknown mode is hard (compat: GROUP-2)."""
    mode = annotations.get(names.NETWORK_TOPOLOGY_MODE_ANNOTATION)
    tier = annotations.get(names.NETWORK_TOPOLOGY_HIGHEST_TIER_ANNOTATION)
    if mode is None and tier is None:
        return None
    return NetworkTopologySpec(mode=_mode(mode), highest_tier_allowed=_integer(tier or ""))


def _mode(text: str | None) -> str:
    lowered = (text or "").lower()
    return lowered if lowered in NetworkTopologyMode.VALUES else NetworkTopologyMode.HARD


def _integer(text: str) -> int | None:
    """An int64 in decimal digits, None for anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None
