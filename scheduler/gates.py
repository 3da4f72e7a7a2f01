"""
Admission by scheduling gates (scheduler.md 11.7): pods that their queue lets in one by one, as room for them appears.

Such a pod has the queue's gate and no other, and asks for this in an annotation. When its queue has room the gate is
decided to be opened; a writer removes it, and the pod is scheduled once the API server says that it is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from api import names

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

FEATURE = "SchedulingGatesQueueAdmission"
_ASKED = "true"


def is_behind_queue(task: Task) -> bool:
    """Whether the queue's gate, and no other, keeps a pod back."""
    return task.shape.gates == (names.QUEUE_ALLOCATION_GATE,)


def asks_for_admission(task: Task) -> bool:
    """Whether a pod is to be let in by its queue, now or when it still had the gate."""
    return task.pod is not None and task.pod.metadata.annotations.get(names.QUEUE_ALLOCATION_GATE) == _ASKED


class Gates:
    """
    The gates being opened. Belongs to a cluster and outlives sessions and configurations.

    `granted` holds the uids of pods whose gate is decided to go but still there: a queue keeps their room, and nothing
    is decided twice. After a restart it is empty, and the same is decided again, which does no harm.
    """

    def __init__(self, cluster: Cluster, *, is_on: bool = False, granted: Iterable[str] = ()) -> None:
        self.is_on = is_on
        self.granted = set(granted)
        self._cluster = cluster

    def settle(self) -> None:
        """Forget pods that are gone, or have lost their gate. Before a session."""
        tasks = self._cluster.tasks
        self.granted = {uid for uid in self.granted if uid in tasks and is_behind_queue(tasks[uid])}

    def refused(self, uid: str) -> None:
        """The gate of a pod could not be removed: its job is looked at again."""
        self.granted.discard(uid)
        task = self._cluster.tasks.get(uid)
        if task is not None:
            self._cluster.version += 1
            self._cluster.changed_jobs.add(task.job)

    def may_open(self, task: Task) -> bool:
        """Whether the gate of a pod behind it can be decided to go, apart from room; says why not where that is amiss."""
        if not asks_for_admission(task):
            log.warning(
                "pod stays behind the queue's gate: set the annotation %s=%s to have it let in, or remove the gate pod=%s",
                names.QUEUE_ALLOCATION_GATE, _ASKED, task.key,
            )  # fmt: skip
            return False
        return self.is_on
