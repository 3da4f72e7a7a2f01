"""
What is looked after before a run is thought of: jobs that have finished, and references to jobs that are gone.

Nothing is decided on a cache that may lag: before a reference is dropped or a job called an orphan, the server is asked.
"""

from __future__ import annotations

import logging
from typing import Final

from api.names import CronJobReason as Reason
from controllers.cronjob.history import SUCCEEDED, excess, is_finished
from controllers.cronjob.reader import Reader
from controllers.cronjob.round import Round
from generated.batch.v1alpha1 import CRON_JOBS, Job
from generated.clients.clientset import Clientset
from generated.core.v1 import ObjectReference
from runtime.errors import ApiError, Conflict, ConnectionFailed, NotFound
from runtime.events import EventRecorder

_log = logging.getLogger(__name__)

PROPAGATION: Final = "Background"


class Upkeep:
    """The first steps of a look."""

    def __init__(self, clients: Clientset, reader: Reader, events: EventRecorder) -> None:
        self._clients = clients
        self._reader = reader
        self._events = events
        self._deleted: dict[str, set[str]] = {}
        """UIDs of jobs that were deleted, though the cache may still have them, by UID of the CronJob."""
        self._orphans: dict[str, set[str]] = {}
        """UIDs of jobs that were reported as orphans, by UID of the CronJob."""

    def forget(self, uid: str) -> None:
        """The CronJob is gone."""
        self._deleted.pop(uid, None)
        self._orphans.pop(uid, None)

    async def settle_finished(self, look: Round) -> None:
        """Note which jobs have finished, and delete those that are too many."""
        for job in look.finished:
            if look.is_active(job.metadata.uid):
                look.drop(job.metadata.uid)
                text = f"Saw completed job: {job.metadata.name} in active, remove"
                self._events.normal(CRON_JOBS, look.cron_job, Reason.SAW_COMPLETED_JOB, text)
            if job.status.state.phase in SUCCEEDED:
                look.note_success(job)
        deleted = self._still_cached(look)
        for job in excess((job for uid, job in look.jobs.items() if uid not in deleted), look.cron_job.spec):
            await self.delete(look, job)

    async def settle_references(self, look: Round) -> None:
        """Drop references to jobs that are gone. Raises ApiError, ConnectionFailed."""
        for ref in tuple(look.active):
            if ref.uid not in look.jobs:
                await self._check_reference(look, ref)

    async def report_orphans(self, look: Round) -> None:
        """Tell of running jobs that the status doesn't know, once each. Raises ApiError, ConnectionFailed."""
        meta = look.cron_job.metadata
        lost = [job for uid, job in look.jobs.items() if not is_finished(job) and not look.is_active(uid)]
        deleted = self._deleted.get(meta.uid, set())
        lost = [job for job in lost if job.metadata.deletion_timestamp is None and job.metadata.uid not in deleted]
        told = self._orphans.get(meta.uid, set()) & {job.metadata.uid for job in lost}
        news = [job for job in lost if job.metadata.uid not in told]
        if news:
            stored = await self._clients.batch_v1alpha1.cron_jobs.get(meta.name, meta.namespace)
            known = {ref.uid for ref in stored.status.active}
            news = [job for job in news if job.metadata.uid not in known]
        for job in news:
            self._warn_orphan(look, job)
            told.add(job.metadata.uid)
        if told:
            self._orphans[meta.uid] = told
        else:
            self._orphans.pop(meta.uid, None)

    async def delete(self, look: Round, job: Job) -> bool:
        """Delete a job and tell of it; whether it is gone now. One that is gone already is as good."""
        name = job.metadata.name
        try:
            await self._clients.batch_v1alpha1.jobs.delete(
                name, look.namespace, uid=job.metadata.uid, propagation=PROPAGATION
            )
        except (NotFound, Conflict):
            self._note_deleted(look, job)
            return True  # gone, or another one of that name
        except (ApiError, ConnectionFailed) as error:
            text = f'Error deleting job "{name}": {error}'
            self._events.warning(CRON_JOBS, look.cron_job, Reason.FAILED_DELETE, text)
            return False
        self._note_deleted(look, job)
        _log.info("job.deleted job=%s/%s cronjob=%s", look.namespace, name, look.name)
        self._events.normal(CRON_JOBS, look.cron_job, Reason.SUCCESSFUL_DELETE, f'Deleted job "{name}"')
        return True

    def _note_deleted(self, look: Round, job: Job) -> None:
        self._deleted.setdefault(look.cron_job.metadata.uid, set()).add(job.metadata.uid)

    def _still_cached(self, look: Round) -> set[str]:
        """UIDs of jobs that were deleted and that the cache still has; the others are forgotten."""
        uid = look.cron_job.metadata.uid
        deleted = self._deleted.get(uid, set()) & look.jobs.keys()
        if deleted:
            self._deleted[uid] = deleted
        else:
            self._deleted.pop(uid, None)
        return deleted

    async def _check_reference(self, look: Round, ref: ObjectReference) -> None:
        found = self._reader.job(ref.name, look.namespace)
        if found is None or found.metadata.uid != ref.uid:
            try:
                found = await self._clients.batch_v1alpha1.jobs.get(ref.name, look.namespace)
            except NotFound:
                found = None
        if found is None:
            text = f'Active job "{ref.name}" no longer exists (UID: {ref.uid})'
        elif found.metadata.uid != ref.uid:
            text = (
                f'Active job reference "{ref.name}" points to a different UID '
                f"(expected: {ref.uid}, actual: {found.metadata.uid})"
            )
        else:
            return
        look.drop(ref.uid)
        self._events.warning(CRON_JOBS, look.cron_job, Reason.STALE_REFERENCE, text)

    def _warn_orphan(self, look: Round, job: Job) -> None:
        text = (
            f"Detected orphaned job forgotten or not managed by controller: {job.metadata.name} "
            f"(UID: {job.metadata.uid})"
        )
        self._events.warning(CRON_JOBS, look.cron_job, Reason.ORPHANED_JOB, text)
