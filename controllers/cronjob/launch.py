"""Starts the job of a run, as far as the concurrency policy lets it (controllers.md 9.3 and 9.5)."""

from __future__ import annotations

import logging
from datetime import datetime, tzinfo
from typing import Final

from api.names import CronJobReason as Reason
from api.owners import controller_of, is_controlled_by
from controllers.cronjob.history import is_finished
from controllers.cronjob.reader import Reader
from controllers.cronjob.round import Round
from controllers.cronjob.runs import job_document
from controllers.cronjob.upkeep import Upkeep
from generated.batch.v1alpha1 import CRON_JOBS, ConcurrencyPolicy, Job, JobPhase
from generated.clients.clientset import Clientset
from generated.core.v1 import ObjectReference
from runtime.controller import ReconcileError
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed, NotFound
from runtime.events import EventRecorder

_log = logging.getLogger(__name__)

_TERMINATING: Final = "NamespaceTerminating"
"""Cause by which the server says that nothing is created in a namespace any more."""


class ReplaceError(ReconcileError):
    """A job that is to be replaced could not be deleted."""


class Launcher:
    """The last steps of a look."""

    def __init__(self, clients: Clientset, reader: Reader, upkeep: Upkeep, events: EventRecorder) -> None:
        self._jobs = clients.batch_v1alpha1.jobs
        self._reader = reader
        self._upkeep = upkeep
        self._events = events

    async def launch(self, look: Round, name: str, due: datetime, zone: tzinfo | None) -> None:
        """
        Start the run that is due; its job is to have this name. `zone` is the one that the CronJob asks for.

        Raises ReplaceError, ApiError, ConnectionFailed.
        """
        policy = look.cron_job.spec.concurrency_policy
        if policy == ConcurrencyPolicy.FORBID and look.active:
            self._tell_forbidden(look)
            return
        if policy == ConcurrencyPolicy.REPLACE and look.active:
            await self._replace(look)
        job = await self._create(look, name, due, zone)
        if job is not None:
            look.note_start(job, due)

    def _tell_forbidden(self, look: Round) -> None:
        text = "Skipping job creation because another job is already running"
        self._events.warning(CRON_JOBS, look.cron_job, Reason.FORBID_CONCURRENT, text)
        for ref in look.active:
            job = look.jobs.get(ref.uid)
            if job is not None and job.status.state.phase == JobPhase.ABORTED:
                text = f"Job {ref.name} is aborted and still counts as active: resume it or delete it"
                self._events.warning(CRON_JOBS, look.cron_job, Reason.FORBID_CONCURRENT, text)

    async def _replace(self, look: Round) -> None:
        text = "Replacing active job for CronJob"
        self._events.warning(CRON_JOBS, look.cron_job, Reason.REPLACE_CONCURRENT, text)
        for ref in tuple(look.active):
            job = await self._read(look, ref)
            if job is not None and job.metadata.uid == ref.uid and not await self._upkeep.delete(look, job):
                raise ReplaceError(f"could not replace job {look.namespace}/{ref.name}")
            look.drop(ref.uid)

    async def _read(self, look: Round, ref: ObjectReference) -> Job | None:
        try:
            return await self._jobs.get(ref.name, look.namespace)
        except NotFound:
            return None
        except (ApiError, ConnectionFailed) as error:
            self._events.warning(CRON_JOBS, look.cron_job, Reason.FAILED_GET, f"Get job: {error}")
            raise

    async def _create(self, look: Round, name: str, due: datetime, zone: tzinfo | None) -> Job | None:
        """The job of the run, made now or by an earlier look that was broken off; None when there is none to note."""
        known = self._reader.job(name, look.namespace)
        if known is not None and is_controlled_by(known.metadata, look.cron_job.metadata.uid):
            return self._adoptable(look, known)
        try:
            job = await self._jobs.create(job_document(look.cron_job, name, due, zone), look.namespace)
        except AlreadyExists:
            return self._adoptable(look, await self._jobs.get(name, look.namespace))
        except (ApiError, ConnectionFailed) as error:
            self._tell_failure(look, error)
            raise
        _log.info("job.created job=%s/%s cronjob=%s due=%s", look.namespace, name, look.name, due.isoformat())
        text = f"Created job {name} for CronJob {look.namespace}/{look.name}"
        self._events.normal(CRON_JOBS, look.cron_job, Reason.SUCCESSFUL_CREATE, text)
        return job

    def _adoptable(self, look: Round, job: Job) -> Job | None:
        """A job that has the name of the run, if it is that run's and still to be noted."""
        if is_controlled_by(job.metadata, look.cron_job.metadata.uid):
            is_going = job.metadata.deletion_timestamp is not None
            return None if is_going or is_finished(job) else job
        owner = controller_of(job.metadata)
        text = (
            f"Job {job.metadata.name} exists but is not owned by this CronJob "
            f"(current owner: {owner.name if owner is not None else 'none'})"
        )
        self._events.warning(CRON_JOBS, look.cron_job, Reason.FOREIGN_JOB, text)
        return None

    def _tell_failure(self, look: Round, error: ApiError | ConnectionFailed) -> None:
        if isinstance(error, ApiError) and _is_namespace_going(error):
            text = f"Namespace {look.namespace} is terminating, skipping job creation"
            self._events.warning(CRON_JOBS, look.cron_job, Reason.NAMESPACE_TERMINATING, text)
        else:
            text = f"Failed to create job: {error}"
            self._events.warning(CRON_JOBS, look.cron_job, Reason.FAILED_CREATE, text)


def _is_namespace_going(error: ApiError) -> bool:
    details = error.status.details
    return details is not None and any(cause.reason == _TERMINATING for cause in details.causes)
