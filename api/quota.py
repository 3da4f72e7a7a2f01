"""
How much a pod counts against quotas and group minimums, under the names that ResourceQuota uses.

PodGroups carry these amounts as `minResources`, so that a quota on `requests.cpu`, on `limits.memory` or on plain
`cpu` can be compared before any pod exists.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from api.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGE_PAGES_PREFIX,
    MEMORY,
    PODS,
    Amounts,
    is_extended,
    pod_limits,
    pod_requests,
    template_limits,
    template_requests,
)
from generated.core.v1 import Pod, PodSpec
from runtime import timestamps
from runtime.quantity import Quantity

COUNT_PODS: Final = "count/pods"
_ONE: Final = Quantity.from_units(1)
_COMPUTE: Final = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))
_FINISHED: Final = frozenset(("Succeeded", "Failed"))


def template_usage(spec: PodSpec) -> Amounts:
    """What one pod of a template will count; what a container only limits counts as requested. Raises QuantityError."""
    return _usage(template_requests(spec, default_from_limits=True), template_limits(spec))


def pod_usage(pod: Pod, now: datetime) -> Amounts:
    """
    What an existing pod counts: only as an object once it has ended or outlived its deletion.

    Raises QuantityError.
    """
    if not _is_counted(pod, now):
        return {COUNT_PODS: _ONE}
    return _usage(pod_requests(pod), pod_limits(pod))


def _usage(requests: Amounts, limits: Amounts) -> Amounts:
    usage = {PODS: _ONE, COUNT_PODS: _ONE}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(HUGE_PAGES_PREFIX) or is_extended(name):
            usage[name] = usage[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in _COMPUTE:
            usage[f"limits.{name}"] = amount
    return usage


def _is_counted(pod: Pod, now: datetime) -> bool:
    if pod.status.phase in _FINISHED:
        return False
    deletion, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds
    if deletion is None or grace is None:
        return True
    return now <= timestamps.parse(deletion) + timedelta(seconds=grace)
