"""Everything that a decision about a job looks at, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from api import names
from api.jobs import task_name, total_replicas
from controllers.job.counts import task_of
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup, PodGroupPhase, Queue

MOST_PODS: Final = 150_000
"""Pods of one job: as many as Kubernetes is made for in a whole cluster. A slip of the pen may ask for two billion."""
_NOT_ADMITTED = frozenset(("", PodGroupPhase.PENDING))


def is_let_in(group: PodGroup) -> bool:
    """Whether the scheduler let the group into its queue."""
    return group.status.phase not in _NOT_ADMITTED


def is_oversized(job: Job) -> bool:
    """Whether a job asks for more pods than it may have."""
    return total_replicas(job.spec) > MOST_PODS


class World(msgspec.Struct, frozen=True):
    """A job and what belongs to it."""

    job: Job
    pods: Mapping[str, Pod] = msgspec.field(default_factory=dict)
    """By name, those that this very job controls; pods of an earlier job of its name are not among them."""
    deleted: frozenset[str] = frozenset()
    """UIDs of pods whose deletion was asked for, whether or not that shows yet."""
    taken: frozenset[str] = frozenset()
    """Names that the job needs and that foreign pods hold."""
    group: PodGroup | None = None
    """Its pod group; one that is being deleted doesn't count."""
    queue: Queue | None = None
    priorities: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Values of priority classes."""
    claims: frozenset[str] = frozenset()
    """Those of the claims that the job names which exist."""
    lacks_pods: bool = False
    """Whether it was let in and has not all of its pods."""
    is_frozen: bool = False
    """Whether pods can't be created, since what their plugins need is somebody else's."""

    @property
    def is_admitted(self) -> bool:
        """Whether the scheduler let the pod group in."""
        return self.group is not None and is_let_in(self.group)

    @property
    def is_forwarded(self) -> bool:
        """Whether the queue sends its jobs to other clusters."""
        return self.queue is not None and bool(self.queue.spec.extend_clusters)

    def is_terminating(self, pod: Pod) -> bool:
        return pod.metadata.deletion_timestamp is not None or pod.metadata.uid in self.deleted

    def pods_of(self, task: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if task_of(pod) == task]


class Place(msgspec.Struct, frozen=True):
    """Where a pod of the job belongs: task by number and name, and its ordinal there."""

    task: int
    task_name: str
    ordinal: int
    pod: str
    """The pod's name."""


def places(job: Job) -> dict[str, Place]:
    """Every pod that the job should have, by name, in order of tasks and ordinals; MOST_PODS at most."""
    found: dict[str, Place] = {}
    for number, task in enumerate(job.spec.tasks):
        name = task_name(task, number) if not task.name else task.name
        for ordinal in range(min(task.replicas, MOST_PODS - len(found))):
            pod = names.pod_name(job.metadata.name, name, ordinal)
            found[pod] = Place(number, name, ordinal, pod)
    return found
