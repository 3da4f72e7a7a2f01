"""How flows end."""

from __future__ import annotations

from typing import Final

from generated.flow.v1alpha1 import FlowPhase
from runtime.metrics import counter

_LABELS: Final = ("jobflow_namespace",)
ENDED: Final = {
    FlowPhase.SUCCEED: counter("volcano_jobflow_succeed_phase_count", "Flows that succeeded.", _LABELS),
    FlowPhase.FAILED: counter("volcano_jobflow_failed_phase_count", "Flows that failed.", _LABELS),
}


def count(phase: str, namespace: str) -> None:
    """Count a flow of a namespace that came to a phase."""
    if phase in ENDED:
        ENDED[phase].labels(namespace).inc()
