"""Writes the statuses of jobs, those that tell little after the rest."""

from __future__ import annotations

import logging
from datetime import datetime

from msgspec.structs import replace

from api import names
from api.jobs import queue_of
from controllers.job import metrics
from controllers.job import status as statuses
from controllers.job.reader import Reader
from controllers.job.tallies import Tallies, tells_only_counts
from generated.batch.v1alpha1 import JOBS, Job, JobStatus
from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.events import EventRecorder
from runtime.objects import key_of
from runtime.requests import Priority

_log = logging.getLogger(__name__)


class StatusWriter:
    """
    What the server is told of jobs.

    In a rush counts are left to a later look, and so is the first status while the server is busy; `Tallies` and
    `FirstStatuses` wake the job for it. Everything here raises ApiError or ConnectionFailed when a write is refused.
    """

    def __init__(self, clients: Clientset, events: EventRecorder, reader: Reader, tallies: Tallies) -> None:
        self._client = clients.client
        self._events = events
        self._first = reader.first
        self._fresh = reader.fresh
        self._tallies = tallies

    async def begin(self, job: Job, now: datetime) -> Job:
        """A new job with its first status, which a busy server gets from `follow`, this time or later."""
        job = replace(job, status=statuses.initial(job, now))
        self._first.note(job)
        return job if self._first.puts_off(job) else await self._write(job, job.status)

    async def follow(self, job: Job, status: JobStatus) -> Job:
        """Write a status that follows upon the job's, or leave it to a later look; the job with what was written."""
        if self._is_first_owed(job):
            if status.state.phase == job.status.state.phase:
                may_wait = tells_only_counts(job.status, status)
                return job if may_wait and self._first.puts_off(job) else await self._write(job, status)
            job = await self._write(job, job.status)  # watchers see each phase in turn
        is_put_off = self._tallies.puts_off(key_of(job), job.status, status)
        return job if is_put_off else await self.write(job, status)

    async def settle(self, job: Job) -> Job:
        """Write the job's first status if it is still to be written: something else of the job changes, or has failed."""
        return await self._write(job, job.status) if self._is_first_owed(job) else job

    async def write(self, job: Job, status: JobStatus) -> Job:
        """Write the status if it differs; the job with it. A job that is gone needs none."""
        return job if status == job.status else await self._write(job, status)

    def _is_first_owed(self, job: Job) -> bool:
        return job.metadata.deletion_timestamp is None and self._first.holds(job)

    async def _write(self, job: Job, status: JobStatus) -> Job:
        meta = ObjectMeta(
            name=job.metadata.name,
            namespace=job.metadata.namespace,
            uid=job.metadata.uid,
            resource_version=job.metadata.resource_version,
        )
        is_first = self._first.holds(job)
        before, after = "" if is_first else job.status.state.phase, status.state.phase
        if before != after and not is_first:  # those that wait for the end of a rush are no part of it
            self._tallies.note_write()
        # what a phase or a reason says stands in line with the pods of other jobs and not behind them all
        is_little = not is_first and tells_only_counts(job.status, status)
        priority = Priority.STATUS if is_little else Priority.DEFAULT
        body = Job(metadata=meta, status=status)
        try:
            with self._first.writing():
                answer = await self._client.update(JOBS, body, subresource="status", priority=priority)
        except NotFound:
            return job
        except (ApiError, ConnectionFailed) as error:
            if is_first:
                self._first.refuse(job)
                message = f"Failed to initialize job status, err: {error}"
                self._events.warning(JOBS, job, names.JobReason.JOB_STATUS_ERROR, message)
            raise
        if before != after:
            _log.info(
                "job.phase job=%s/%s from=%s to=%s reason=%s",
                meta.namespace, meta.name, before, after, status.state.reason,
            )  # fmt: skip
            metrics.count_finish(after, f"{meta.namespace}/{meta.name}", queue_of(job.spec))
        # spec and template texts as they were read: the answer is decoded without the texts
        written = replace(job, metadata=answer.metadata, status=answer.status)
        self._fresh.note(written)
        self._first.forget(key_of(written))
        return written
