"""Which taints a pod bears (plugins.md 18.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated.core.v1 import Taint, Toleration

UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"


def tolerates(toleration: Toleration, *, key: str, value: str, effect: str) -> bool:
    """Whether one toleration matches one taint. An empty key with operator Equal compares the value alone."""
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    if toleration.operator in {"", "Equal"}:
        return toleration.value == value
    return toleration.operator == "Exists"


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any toleration matches the taint."""
    return any(tolerates(t, key=taint.key, value=taint.value, effect=taint.effect) for t in tolerations)


def refuses(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Whether a NoSchedule or NoExecute taint is not tolerated."""
    return any(taint.effect in {"NoSchedule", "NoExecute"} and not is_tolerated(taint, tolerations) for taint in taints)


def count_untolerated_preferences(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> int:
    """Number of PreferNoSchedule taints that no toleration for that effect (or any) matches."""
    relevant = [toleration for toleration in tolerations if toleration.effect in {"", "PreferNoSchedule"}]
    return sum(taint.effect == "PreferNoSchedule" and not is_tolerated(taint, relevant) for taint in taints)


def tolerates_unschedulable(tolerations: Iterable[Toleration]) -> bool:
    """Whether the pod goes to cordoned nodes."""
    return any(tolerates(t, key=UNSCHEDULABLE_TAINT, value="", effect="NoSchedule") for t in tolerations)
