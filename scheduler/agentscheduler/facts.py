"""
What the informers saw as the state of the fast path, and as news for the pods that wait.

Own pods without a node are all tasks of one job, so that equal ones are siblings and can be placed as a run; pods on
nodes belong to no job.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from api import names
from scheduler.agentscheduler.queue import PodQueue, Standing
from scheduler.cache.facts import Change, Facts, looks_same
from scheduler.cache.translate import status_of
from scheduler.state.status import Status
from scheduler.state.terms import affinities, looks_at_pods, read_selector

if TYPE_CHECKING:
    from generated.core.v1 import Pod
    from scheduler.shards import Shards
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

POOL = "/agent-scheduler"
"""The job of all pods that wait."""
_UNUSED = ("HyperNode", "PodGroup", "PriorityClass", "Queue")
_STIRRING = frozenset({"Namespace", "PersistentVolumeClaim"})
_FINISHED = frozenset({"Succeeded", "Failed"})
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class AgentFacts(Facts):
    """`clock` gives seconds; the queue's times are by it."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        scheduler_name: str,
        queue: PodQueue,
        clock: Callable[[], float],
        shards: Shards | None = None,
    ) -> None:
        super().__init__(cluster, scheduler_names=(scheduler_name,), default_queue="", shards=shards)
        for kind in _UNUSED:
            del self._appliers[kind]
        self.queue = queue
        self._clock = clock
        self._shards = shards

    def apply(self, change: Change) -> None:
        """Take in one change, and let those pods be tried again that it may help."""
        before = self._shards.nodes if self._shards is not None else None
        super().apply(change)
        kind, old, new = change
        if kind == "Pod":
            self._note_pod(old, new)
        elif kind == "Node":
            if old is None or new is None or not looks_same(old, new):
                self.queue.move(self._clock())
        elif kind in _STIRRING or (self._shards is not None and self._shards.nodes != before):
            self.queue.move(self._clock())

    def _task(self, pod: Pod) -> Task:
        task = super()._task(pod)
        task.job = "" if pod.spec.node_name else POOL
        return task

    def unbound(self, uid: str) -> None:
        """A bind failed: the room is free again for all, and the pod pauses."""
        super().unbound(uid)
        now = self._clock()
        self.queue.move(now)
        self.queue.fail(uid, now)

    # Pods.

    def _note_pod(self, old: Pod | None, new: Pod | None) -> None:
        now = self._clock()
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self.queue.remove(old.metadata.uid)
            if _stands(old):
                self.queue.move(now)
            old = None
        if new is None:
            return
        if new.spec.node_name:
            self.queue.remove(new.metadata.uid)
            self._note_standing(old, new, now)
        elif self._is_ours(new) and status_of(new) is Status.PENDING and not new.spec.scheduling_gates:
            standing = standing_of(new)
            self.queue.add(new.metadata.uid, standing, now, changed=old is None or _is_other(old, new))
        else:
            self.queue.remove(new.metadata.uid)

    def _note_standing(self, old: Pod | None, new: Pod, now: float) -> None:
        """A pod on a node: one that ends makes room, one that comes may be what others want to be near to."""
        if not _stands(new):
            if old is None or _stands(old):
                self.queue.move(now)
        elif old is None or not old.spec.node_name or old.metadata.labels != new.metadata.labels:
            self.queue.move_watching(now, lambda uid: self._is_drawn(uid, new))
        elif old.spec.containers != new.spec.containers:
            self.queue.move(now)

    def _is_drawn(self, uid: str, pod: Pod) -> bool:
        """Whether the terms of a pod that waits may mean another pod."""
        task = self.cluster.tasks.get(uid)
        if task is None or not task.shape.looks:
            return False
        namespace, labels, spec = pod.metadata.namespace, pod.metadata.labels, task.shape.spec
        terms = affinities(spec, task.namespace)
        around = self.cluster.sight.namespaces.get(namespace, {})
        if any(placed.term.matches(namespace, labels, around) for placed in (*terms.required, *terms.forbidden)):
            return True
        selectors = (read_selector(constraint.label_selector) for constraint in spec.topology_spread_constraints)
        return namespace == task.namespace and any(found is not None and found.matches(labels) for found in selectors)


def standing_of(pod: Pod) -> Standing:
    """What a pod that waits is ranked by; an annotation that can't be read counts as 0."""
    text = pod.metadata.annotations.get(names.SCHEDULING_PRIORITY_ANNOTATION, "")
    priority = int(text) if _INTEGER.fullmatch(text) else 0
    return Standing(priority, pod.spec.priority or 0, looks_at_pods(pod.spec))


def _stands(pod: Pod) -> bool:
    """Whether a pod takes room on a node."""
    return bool(pod.spec.node_name) and pod.status.phase not in _FINISHED


def _is_other(old: Pod, new: Pod) -> bool:
    """Whether anything but the status of a pod changed."""
    return old.spec != new.spec or _own(old) != _own(new)


def _own(pod: Pod) -> tuple[Any, ...]:
    return pod.metadata.labels, pod.metadata.annotations
