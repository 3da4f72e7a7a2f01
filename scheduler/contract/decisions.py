"""What a cycle decides, as data. Nothing is written while a cycle runs; the writers of `cache` carry these out later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.state.task import Task

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroup


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind a pod to a node. `group` tells the binds that one commit decided, so that a gang can be held together."""

    task: Task
    node: str
    group: int


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict a pod, because of `reason`, for the good of the job `beneficiary`. `group` as for binds; `pod_group` is the victim's."""

    task: Task
    reason: str
    beneficiary: str
    group: int = 0
    pod_group: PodGroup | None = None


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Remove the queue's scheduling gate from a pod, for which its queue has room."""

    task: Task


Decision = Bind | Evict | OpenGate
