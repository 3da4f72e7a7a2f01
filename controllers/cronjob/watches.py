"""What wakes the CronJob controller: CronJobs, and the jobs that they control."""

from __future__ import annotations

from controllers.cronjob.reader import owner_of
from controllers.cronjob.reconcile import CronJobReconciler
from controllers.freshest import Freshest
from generated.batch.v1alpha1 import CronJob, Job
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue


class OnCronJob:
    """CronJobs that come or change; one whose schedule changed waits for the new one's next time."""

    def __init__(self, queue: WorkQueue[Key], reconciler: CronJobReconciler, fresh: Freshest[CronJob]) -> None:
        self._queue = queue
        self._reconciler = reconciler
        self._fresh = fresh

    def on_add(self, obj: CronJob, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._queue.add(key_of(obj), is_urgent=not initial)

    def on_update(self, old: CronJob, new: CronJob) -> None:
        if old.metadata.resource_version == new.metadata.resource_version or self._fresh.is_written(new):
            return
        if (old.spec.schedule, old.spec.time_zone) == (new.spec.schedule, new.spec.time_zone):
            self._queue.add(key_of(new))
        else:
            self._queue.add_after(key_of(new), self._reconciler.first_look(new))

    def on_delete(self, obj: CronJob) -> None:
        self._fresh.forget(key_of(obj))
        self._reconciler.forget(obj)
        self._queue.add(key_of(obj))


class OnJob:
    """Jobs of CronJobs that come, go, change hands or enter another phase."""

    def __init__(self, queue: WorkQueue[Key]) -> None:
        self._queue = queue

    def on_add(self, obj: Job, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial:  # the CronJob itself is looked at when this process starts
            self._wake(obj)

    def on_update(self, old: Job, new: Job) -> None:
        if _aspects(old) == _aspects(new):
            return
        self._wake(new)
        if owner_of(old) != owner_of(new):
            self._wake(old)

    def on_delete(self, obj: Job) -> None:
        self._wake(obj)

    def _wake(self, job: Job) -> None:
        owner = owner_of(job)
        if owner is not None:
            self._queue.add(Key(job.metadata.namespace, owner.name))


def _aspects(job: Job) -> object:
    """All of a job that CronJobs look at."""
    meta, state = job.metadata, job.status.state
    return meta.uid, meta.owner_references, meta.deletion_timestamp, state.phase, state.last_transition_time
