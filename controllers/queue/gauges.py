"""How many pod groups each queue holds, by phase, for dashboards."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from controllers.queue.population import Population
from generated.scheduling.v1beta1 import PodGroupPhase
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


def show(queue: str, population: Population) -> None:
    """Set the gauges of a queue."""
    for phase, metric in GAUGES.items():
        metric.labels(queue).set(population.in_phase(queue, phase))


def drop(queue: str) -> None:
    """Forget the gauges of a queue that is gone."""
    for metric in GAUGES.values():
        with suppress(KeyError):
            metric.remove(queue)
