"""
What this process has just created and deleted, until the caches show it.

Without it a reconciler that runs again before the watch has caught up would ask for everything a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup

KEPT_SECONDS: Final = 60.0
"""How long a write is remembered that no watch ever shows: a list may have passed over it."""


_GONE: Final = 1_000
"""So many ends of pods are remembered: more than happen while an answer is on its way."""


class _Made(NamedTuple):
    pod: Pod
    at: float


class Recent:
    """Recent writes by UID of the job. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._made: dict[str, dict[str, _Made]] = {}
        self._deleted: dict[str, dict[str, float]] = {}
        self._stopped: set[str] = set()
        self._groups: dict[str, tuple[PodGroup, float]] = {}
        self._dropped: dict[str, str] = {}
        self._owed: set[str] = set()
        self._gone: dict[str, None] = {}
        """UIDs of pods that went last."""

    def created(self, job: str, pod: Pod) -> None:
        """The server has answered; the watch may have told of the pod's end before."""
        if pod.metadata.uid in self._gone:
            return
        self._made.setdefault(job, {})[pod.metadata.name] = _Made(pod, self._clock())

    def deleted(self, job: str, pod: str) -> None:
        """`pod` is the UID. It is known for a while after the pod is gone: what befell it before may yet be looked at."""
        self._deleted.setdefault(job, {})[pod] = self._clock()

    def was_deleted(self, job: str, pod: str) -> bool:
        """Whether this process asked for the deletion of the pod of this UID."""
        return pod in self._deleted.get(job, {})

    def stopped(self, pod: str) -> None:
        """The pod of this UID has succeeded, but only when it was told to go."""
        self._stopped.add(pod)

    def was_stopped(self, pod: str) -> bool:
        """Whether the pod of this UID, which is going, has succeeded only when it was told to."""
        return pod in self._stopped

    def gone(self, job: str, pod: Pod) -> None:
        """The cache heard that a pod is gone."""
        self._gone[pod.metadata.uid] = None
        if len(self._gone) > _GONE:
            del self._gone[next(iter(self._gone))]
        if self.was_deleted(job, pod.metadata.uid):
            self.deleted(job, pod.metadata.uid)
        self._stopped.discard(pod.metadata.uid)
        made = self._made.get(job, {})
        if (found := made.get(pod.metadata.name)) is not None and found.pod.metadata.uid == pod.metadata.uid:
            del made[pod.metadata.name]

    def pods(self, job: str, cached: Mapping[str, Pod]) -> tuple[Mapping[str, Pod], frozenset[str]]:
        """The pods of a job with those that the cache lacks, and the UIDs whose deletion was asked for."""
        made = self._made.get(job)
        seen = {pod.metadata.uid for pod in cached.values()}
        limit = self._clock() - KEPT_SECONDS
        if made:
            for name in [name for name, made_pod in made.items() if name in cached or made_pod.at < limit]:
                del made[name]
            cached = {**cached, **{name: found.pod for name, found in made.items()}}
        deleted = self._deleted.get(job, {})
        for uid in [uid for uid, at in deleted.items() if at < limit and uid not in seen]:
            del deleted[uid]
        return cached, frozenset(deleted)

    def created_group(self, job: str, group: PodGroup) -> None:
        """The job has this group, unless it is an old one that is still going."""
        if not self.is_leaving(job, group):
            self._groups[job] = group, self._clock()

    def dropping_group(self, job: str, group: str) -> None:
        """The group of this UID is to go, and counts as absent from now on; until `dropped_group` that is owed."""
        self._owed.add(job)
        self._dropped[job] = group
        self._groups.pop(job, None)

    def dropped_group(self, job: str) -> None:
        """The server knows that the group is to go."""
        self._owed.discard(job)

    def owes_drop(self, job: str) -> bool:
        """Whether an attempt to delete the job's group has failed."""
        return job in self._owed

    def group(self, job: str, cached: PodGroup | None) -> PodGroup | None:
        """The pod group of a job: none when it is being deleted or was just told to be."""
        made = self._made_group(job)
        if cached is None:
            return made
        if made is not None and made.metadata.uid == cached.metadata.uid:
            del self._groups[job]
            made = None
        return made if self.is_leaving(job, cached) else cached

    def _made_group(self, job: str) -> PodGroup | None:
        """The group that was created lately: one that never shows went unseen between two lists."""
        made, at = self._groups.get(job, (None, 0.0))
        if made is not None and at < self._clock() - KEPT_SECONDS:
            del self._groups[job]
            return None
        return made

    def is_leaving(self, job: str, group: PodGroup) -> bool:
        """Whether the group is being deleted, or was just told to be."""
        return group.metadata.deletion_timestamp is not None or self._dropped.get(job) == group.metadata.uid

    def group_gone(self, job: str, group: str) -> None:
        """The cache heard that the group of this UID is gone."""
        if self._dropped.get(job) == group:
            del self._dropped[job]
        made = self._made_group(job)
        if made is not None and made.metadata.uid == group:
            del self._groups[job]

    def forget(self, job: str) -> None:
        """The job is gone."""
        for held in (self._made, self._deleted, self._groups, self._dropped):
            held.pop(job, None)
        self._owed.discard(job)
