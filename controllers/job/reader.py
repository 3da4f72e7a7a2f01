"""The read side of the job controller: what the caches know of a job, with what this process has just written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from api import names
from api.jobs import queue_of
from api.owners import controller_of, is_controlled_by, is_of_kind
from controllers.freshest import Freshest
from controllers.job.first import FirstStatuses
from controllers.job.recent import Recent
from controllers.job.world import World, is_let_in, is_oversized, places
from generated.batch.v1alpha1 import JOBS, Job
from generated.core.v1 import Pod
from generated.listers.batch_v1alpha1 import JobLister
from generated.listers.core_v1 import PersistentVolumeClaimLister, PodLister
from generated.listers.scheduling_v1 import PriorityClassLister
from generated.listers.scheduling_v1beta1 import PodGroupLister, QueueLister
from generated.scheduling.v1beta1 import PodGroup
from runtime import integers
from runtime.lister import Indexer
from runtime.objects import Key


def owner_uid(pod: Pod) -> str:
    """UID of the job that controls a pod, empty for a pod of somebody else, or one that isn't marked as a job's."""
    owner = controller_of(pod.metadata)
    if owner is None or not is_of_kind(owner, JOBS):
        return ""
    annotations = pod.metadata.annotations
    is_marked = names.JOB_NAME_KEY in annotations and names.TASK_SPEC_KEY in annotations
    version = annotations.get(names.JOB_VERSION_ANNOTATION, "")
    return owner.uid if is_marked and version.isdecimal() and integers.read(version, 64) is not None else ""


def _by_job(pod: Pod) -> Iterator[str]:
    if uid := owner_uid(pod):
        yield uid


BY_JOB: Final = "job"
POD_INDEXERS: Final[Mapping[str, Indexer[Pod]]] = {BY_JOB: _by_job}


class Listers(msgspec.Struct, frozen=True):
    """The caches that jobs are decided from. Without priority classes every task counts the same."""

    jobs: JobLister
    pods: PodLister
    groups: PodGroupLister
    queues: QueueLister
    claims: PersistentVolumeClaimLister
    priorities: PriorityClassLister | None = None


class Reader(msgspec.Struct, frozen=True):
    """Builds a job's world."""

    listers: Listers
    recent: Recent
    first: FirstStatuses
    fresh: Freshest[Job] = msgspec.field(default_factory=Freshest)

    def job(self, key: Key) -> Job | None:
        """The job as of its last write, with its first status if that is still to be written."""
        cached = self.listers.jobs.by_key(key)
        if cached is None:
            return None
        job = self.fresh.of(cached)
        if not job.status.state.phase:
            return self.first.of(job)
        self.first.forget(key)  # in whatever way it came by a status
        return job

    def pods(self, job: Job) -> tuple[Mapping[str, Pod], frozenset[str]]:
        """The job's pods by name, and the UIDs that were told to go."""
        cached = {pod.metadata.name: pod for pod in self.listers.pods.lister.by_index(BY_JOB, job.metadata.uid)}
        return self.recent.pods(job.metadata.uid, cached)

    def world(self, job: Job) -> World:
        """All of it."""
        pods, deleted = self.pods(job)
        namespace = job.metadata.namespace
        group = self.recent.group(job.metadata.uid, self.cached_group(job))
        has_places = group is not None and is_let_in(group) and not is_oversized(job)
        wanted = places(job) if has_places else ()
        missing = [name for name in wanted if name not in pods]
        return World(
            job=job,
            pods=pods,
            deleted=deleted,
            taken=frozenset(name for name in missing if self.listers.pods.get(name, namespace) is not None),
            lacks_pods=bool(missing),
            group=group,
            queue=self.listers.queues.get(queue_of(job.spec)),
            priorities=self._priorities(),
            claims=frozenset(
                volume.volume_claim_name
                for volume in job.spec.volumes
                if self.listers.claims.get(volume.volume_claim_name, namespace) is not None
            ),
        )

    def cached_group(self, job: Job) -> PodGroup | None:
        """The job's group, under its present or its legacy name. One that is controlled by another object isn't it."""
        meta = job.metadata
        for name in (names.pod_group_name(meta.name, meta.uid), meta.name):
            group = self.listers.groups.get(name, meta.namespace)
            if group is not None and is_controlled_by(group.metadata, meta.uid):
                return group
        return None

    def _priorities(self) -> dict[str, int]:
        if self.listers.priorities is None:
            return {}
        return {priority.metadata.name: priority.value for priority in self.listers.priorities}
