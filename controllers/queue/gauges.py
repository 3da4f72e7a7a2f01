"""How many pod groups each queue holds, by phase, for dashboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from generated.scheduling.v1beta1 import PodGroup, PodGroupPhase
from runtime.metrics import gauge

GAUGES: Final = {
    phase: gauge(
        f"volcano_queue_pod_group_{phase.lower()}_count", f"Pod groups of the queue in phase {phase}.", ("queue_name",)
    )
    for phase in (
        PodGroupPhase.INQUEUE,
        PodGroupPhase.PENDING,
        PodGroupPhase.RUNNING,
        PodGroupPhase.UNKNOWN,
        PodGroupPhase.COMPLETED,
    )
}


def show(queue: str, groups: Iterable[PodGroup]) -> None:
    """Set the gauges of a queue."""
    counts = Counter(group.status.phase for group in groups)
    for phase, metric in GAUGES.items():
        metric.labels(queue).set(counts[phase])


def drop(queue: str) -> None:
    """Forget the gauges of a queue that is gone."""
    for metric in GAUGES.values():
        with suppress(KeyError):
            metric.remove(queue)
