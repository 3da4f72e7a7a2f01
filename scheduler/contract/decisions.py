"""What a cycle decides, as data. Nothing is written while a cycle runs; the writers of `cache` carry these out later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from scheduler.state.task import Task

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroup


class Bind(msgspec.Struct, frozen=True, gc=False):
    """
    Bind a pod to a node. `group` tells the binds that one commit decided, so that a gang can be held together.

    There may be 100,000 in a cycle; they are no work for the garbage collector.
    """

    task: Task
    node: str
    group: int


class Evict(msgspec.Struct, frozen=True):
    """Evict a pod, because of `reason`, for the good of the job `beneficiary`. `group` as for binds; `pod_group` is the victim's."""

    task: Task
    reason: str
    beneficiary: str
    group: int = 0
    pod_group: PodGroup | None = None


class OpenGate(msgspec.Struct, frozen=True):
    """Remove the queue's scheduling gate from a pod, for which its queue has room."""

    task: Task


Decision = Bind | Evict | OpenGate
