"""API objects as the scheduler's own: pods to tasks, nodes to amounts, PodGroups to jobs (scheduler.md 4.5 to 4.8)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from api import names
from api.resources import amounts, numbers
from runtime import timestamps
from runtime.quantity import QuantityError
from scheduler.cache.shapes import Shapes
from scheduler.state.status import Status
from scheduler.state.task import Task

if TYPE_CHECKING:
    from generated.core.v1 import Node, Pod
    from generated.meta.v1 import ObjectMeta

log = logging.getLogger(__name__)

_INT32 = re.compile(r"[+-]?[0-9]{1,10}")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_PHASES = {"Running": Status.RUNNING, "Succeeded": Status.SUCCEEDED, "Failed": Status.FAILED}
DEFAULT_PRIORITY = 1
_OVERSUBSCRIBED = {
    "cpu": names.OVERSUBSCRIPTION_CPU_ANNOTATION,
    "memory": names.OVERSUBSCRIPTION_MEMORY_ANNOTATION,
}
_AMOUNT = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


def task_of(pod: Pod, shapes: Shapes) -> Task:
    """The task of a pod, not yet on its node. Raises QuantityError when a request can't be read."""
    meta = pod.metadata
    group = meta.annotations.get(names.GROUP_NAME_ANNOTATION, "")
    return Task(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        job=f"{meta.namespace}/{group}" if group else "",
        shape=shapes.of(pod),
        role=meta.annotations.get(names.TASK_SPEC_KEY) or meta.labels.get(names.TASK_SPEC_KEY, ""),
        priority=_priority(pod),
        status=status_of(pod),
        created=unix_seconds(meta),
        preemptable=_preemptable(meta),
        pod=pod,
    )


def status_of(pod: Pod) -> Status:
    """Where a pod stands, by its phase, deletion and node."""
    phase = pod.status.phase
    if phase == "Pending":
        if pod.metadata.deletion_timestamp is not None:
            return Status.RELEASING
        return Status.BOUND if pod.spec.node_name else Status.PENDING
    if phase == "Running" and pod.metadata.deletion_timestamp is not None:
        return Status.RELEASING
    return _PHASES.get(phase, Status.UNKNOWN)


def unix_seconds(meta: ObjectMeta) -> float:
    """When an object was created, 0 when it doesn't say or can't be read."""
    try:
        return timestamps.parse(meta.creation_timestamp).timestamp() if meta.creation_timestamp else 0.0
    except ValueError:
        return 0.0


def _priority(pod: Pod) -> int:
    text = pod.metadata.annotations.get(names.TASK_PRIORITY_ANNOTATION, "")
    if _INT32.fullmatch(text) and -(2**31) <= int(text) < 2**31:
        return int(text)
    return DEFAULT_PRIORITY if pod.spec.priority is None else pod.spec.priority


def _preemptable(meta: ObjectMeta) -> bool:
    text = meta.annotations.get(names.PREEMPTABLE_KEY, meta.labels.get(names.PREEMPTABLE_KEY))
    return text is None or text in _TRUE


def allocatable_of(node: Node) -> Mapping[str, float]:
    """
    What a node offers, in the scheduler's numbers: its allocatable and what is offered again (scheduler.md 4.7).

    A resource that can't be read counts as absent, with a word.
    """
    offered: dict[str, float] = {}
    for name, value in node.status.allocatable.items():
        try:
            offered |= {key: float(amount) for key, amount in numbers(amounts({name: value})).items()}
        except QuantityError as error:
            log.warning("node offers an unreadable amount node=%s error=%s", node.metadata.name, error)
    for name, key in _OVERSUBSCRIBED.items():
        if extra := _oversubscribed(node, key):
            offered[name] = offered.get(name, 0.0) + extra
    return offered


def _oversubscribed(node: Node, key: str) -> float:
    """What the agent found to be asked for and idle; 0 where it says nothing, or nothing that can be read."""
    text = node.metadata.annotations.get(key)
    if text is None:
        return 0.0
    if _AMOUNT.fullmatch(text) is None:
        log.warning("node has an unreadable annotation node=%s annotation=%s value=%s", node.metadata.name, key, text)
        return 0.0
    return float(text)
