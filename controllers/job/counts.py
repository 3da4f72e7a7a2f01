"""How many pods of a job are where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from api import names
from generated.batch.v1alpha1 import TaskState
from generated.core.v1 import Pod

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
UNKNOWN: Final = "Unknown"
_PHASES: Final = frozenset((PENDING, RUNNING, SUCCEEDED, FAILED))


class Counts(msgspec.Struct, frozen=True):
    """Pods by phase, over all tasks and in each; those that are being deleted count only as `terminating`."""

    by_phase: Mapping[str, int] = msgspec.field(default_factory=dict)
    by_task: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)
    terminating: int = 0

    @property
    def pending(self) -> int:
        return self.by_phase.get(PENDING, 0)

    @property
    def running(self) -> int:
        return self.by_phase.get(RUNNING, 0)

    @property
    def succeeded(self) -> int:
        return self.by_phase.get(SUCCEEDED, 0)

    @property
    def failed(self) -> int:
        return self.by_phase.get(FAILED, 0)

    @property
    def unknown(self) -> int:
        return self.by_phase.get(UNKNOWN, 0)

    def in_task(self, task: str, phase: str) -> int:
        return self.by_task.get(task, {}).get(phase, 0)

    def task_states(self) -> dict[str, TaskState]:
        """As a status holds them."""
        return {task: TaskState(phase=dict(phases)) for task, phases in self.by_task.items()}


def count(alive: Iterable[tuple[str, str]], terminating: int) -> Counts:
    """Add up pods given as (task, phase)."""
    by_phase: dict[str, int] = {}
    by_task: dict[str, dict[str, int]] = {}
    for task, phase in alive:
        by_phase[phase] = by_phase.get(phase, 0) + 1
        phases = by_task.setdefault(task, {})
        phases[phase] = phases.get(phase, 0) + 1
    return Counts(by_phase, by_task, terminating)


def phase_of(pod: Pod) -> str:
    """The phase that a pod counts under."""
    return pod.status.phase if pod.status.phase in _PHASES else UNKNOWN


def task_of(pod: Pod) -> str:
    """The task that a pod belongs to."""
    return pod.metadata.annotations.get(names.TASK_SPEC_KEY, "")


def is_out_of_sync(pod: Pod) -> bool:
    """Whether the controller marked the pod for deletion."""
    return names.OUT_OF_SYNC_ANNOTATION in pod.metadata.annotations
