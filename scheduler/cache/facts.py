"""
Applies what the informers saw to the state, on the scheduling thread.

Events come as (kind, old, new). One that can't be read is reported with the object's name and changes nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from scheduler.cache.hypernodes import apply_hypernode, warn_of_policies
from scheduler.cache.shapes import Shapes
from scheduler.cache.surroundings import Surroundings
from scheduler.cache.translate import allocatable_of, status_of, task_of, unix_seconds
from scheduler.shards import Shards, appliers_of
from scheduler.state.cluster import Cluster
from scheduler.state.job import Job
from scheduler.state.status import ALLOCATED, EVICTABLE, Status

if TYPE_CHECKING:
    from generated.core.v1 import Node, Pod
    from generated.scheduling.v1 import PriorityClass
    from generated.scheduling.v1beta1 import PodGroup, Queue
    from generated.topology.v1alpha1 import HyperNode
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

Change = tuple[str, Any, Any]
"""(kind, old, new): old is None for a new object, new for a deleted one."""


class Facts:
    """Keeps a cluster's state in step with the API server's objects."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        scheduler_names: Collection[str],
        default_queue: str,
        shards: Shards | None = None,
    ) -> None:
        self.cluster = cluster
        self._names = frozenset(scheduler_names)
        self._default_queue = default_queue
        self.follows_phases = False
        """Whether another scheduler gives PodGroups their phases: so it is until this one leads."""
        self._shapes = Shapes()
        self._classes: dict[str, PriorityClass] = {}
        self._appliers: dict[str, Callable[[Any, Any], None]] = {
            "Pod": self._pod,
            "Node": self._node,
            "PodGroup": self._pod_group,
            "Queue": self._queue,
            "PriorityClass": self._priority_class,
            "HyperNode": self._hypernode,
            **Surroundings(cluster).appliers,
            **appliers_of(shards),
        }

    @property
    def kinds(self) -> Collection[str]:
        """The kinds of objects that make the state."""
        return self._appliers.keys()

    def apply(self, change: Change) -> None:
        """Take in one change."""
        kind, old, new = change
        try:
            self._appliers[kind](old, new)
        except Exception:
            subject = (new if new is not None else old).metadata
            log.exception("change could not be applied kind=%s object=%s/%s", kind, subject.namespace, subject.name)

    # Pods.

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not self._is_ours(new):
            gone = new if new is not None else old
            if gone is not None:
                self._forget(gone.metadata.uid)
            return
        known = self.cluster.tasks.get(new.metadata.uid)
        if known is not None:
            if known.status in ALLOCATED and not new.spec.node_name and status_of(new) is Status.PENDING:
                known.pod = new  # our own bind is on its way
                return
            if known.status is Status.RELEASING and status_of(new) in EVICTABLE:
                known.pod = new  # our own eviction is on its way: no pod ceases to be deleted
                return
            if known.status is Status.BINDING and self._shows_bind(known, new):
                self.cluster.confirm(known, new)
                return
            self._forget(known.uid)
        if old is not None and old.metadata.uid != new.metadata.uid:
            self._forget(old.metadata.uid)
        self.cluster.add_task(self._task(new), new.spec.node_name)

    def _shows_bind(self, known: Task, new: Pod) -> bool:
        """Whether the pod is on the node that we gave it, and otherwise what it was."""
        node, old = known.node, known.pod
        return (
            node is not None
            and old is not None
            and node.name == new.spec.node_name
            and status_of(new) is Status.BOUND
            and old.metadata.labels == new.metadata.labels
            and old.metadata.annotations == new.metadata.annotations
            and self._shapes.of(new) is known.shape
        )

    def _task(self, pod: Pod) -> Task:
        """The task of a pod. Raises QuantityError when a request can't be read."""
        return task_of(pod, self._shapes)

    def _is_ours(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) or pod.spec.scheduler_name in self._names

    def _forget(self, uid: str) -> None:
        task = self.cluster.remove_task(uid)
        if task is not None and task.job:
            self.cluster.remove_job(task.job)

    def unbound(self, uid: str) -> None:
        """A bind or an eviction failed: the pod is again as the server says, unless news of it came meanwhile."""
        task = self.cluster.tasks.get(uid)
        if task is not None and task.status in {Status.BINDING, Status.RELEASING} and task.pod is not None:
            self._forget(uid)
            self.cluster.add_task(self._task(task.pod), task.pod.spec.node_name)

    # Nodes.

    def _node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self.cluster.remove_node(old.metadata.name)
            return
        if old is not None and looks_same(old, new):
            return
        self.cluster.set_node(new, allocatable_of(new))

    def _hypernode(self, old: HyperNode | None, new: HyperNode | None) -> None:
        apply_hypernode(self.cluster, old, new)

    # Jobs and queues.

    def _pod_group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        subject = new if new is not None else old
        if subject is None:
            return
        job_id = f"{subject.metadata.namespace}/{subject.metadata.name}"
        if new is None:
            job = self.cluster.jobs.get(job_id)
            if job is not None and job.uid == subject.metadata.uid:
                job.pod_group = None
                self.cluster.set_job_queue(job, "")
                self.cluster.remove_job(job_id)
            return
        warn_of_policies(old, new)
        job = self.cluster.job(job_id)
        if job.uid != new.metadata.uid or self.follows_phases:
            # Afterwards the phase is this scheduler's own word, and what comes back is an echo of it.
            job.phase = new.status.phase
        job.pod_group, job.uid, job.created = new, new.metadata.uid, unix_seconds(new.metadata)
        job.min_available, job.role_minimum = new.spec.min_member, dict(new.spec.min_task_member)
        job.priority = self._priority(job)
        self.cluster.set_job_queue(job, new.spec.queue or self._default_queue)

    def _priority(self, job: Job) -> int:
        name = job.pod_group.spec.priority_class_name if job.pod_group is not None else ""
        named = self._classes.get(name)
        if named is not None:
            return named.value
        return max((found.value for found in self._classes.values() if found.global_default), default=0)

    def _priority_class(self, old: PriorityClass | None, new: PriorityClass | None) -> None:
        if new is not None:
            self._classes[new.metadata.name] = new
        elif old is not None:
            self._classes.pop(old.metadata.name, None)
        for job in self.cluster.jobs.values():
            priority = self._priority(job)
            if priority != job.priority:
                job.priority = priority
                self.cluster.changed_jobs.add(job.id)
                self.cluster.version += 1

    def _queue(self, old: Queue | None, new: Queue | None) -> None:
        subject = new if new is not None else old
        if subject is None:
            return
        queue = self.cluster.queue(subject.metadata.name)
        appeared = (queue.object is None) != (new is None)
        queue.object = new
        if new is not None:
            queue.uid, queue.created = new.metadata.uid, unix_seconds(new.metadata)
            queue.weight = new.spec.weight or 1
        self.cluster.version += 1
        if appeared:
            self.cluster.changed_jobs.update(queue.jobs)


def looks_same(old: Node, new: Node) -> bool:
    """Whether nothing that scheduling reads has changed: heartbeats come by the thousand."""
    return (
        old.status.allocatable == new.status.allocatable
        and old.spec.unschedulable == new.spec.unschedulable
        and old.spec.taints == new.spec.taints
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.status.images == new.status.images
    )
