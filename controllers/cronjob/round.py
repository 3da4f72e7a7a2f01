"""
One look at a CronJob: what was found, and the status as it will be.

The steps of a look change the draft; it is written once at the end, also when a later step failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Self

import msgspec

from controllers.cronjob.history import is_finished
from controllers.cronjob.runs import reference
from generated.batch.v1alpha1 import CronJob, CronJobStatus, Job
from generated.core.v1 import ObjectReference
from runtime import timestamps
from runtime.timestamps import parse_nanoseconds


class Round(msgspec.Struct):
    """The CronJob and its own jobs, as they were when the look began, and the draft of the status."""

    cron_job: CronJob
    jobs: dict[str, Job]
    """By UID."""
    active: list[ObjectReference] = msgspec.field(default_factory=list)
    last_schedule_time: str | None = None
    last_successful_time: str | None = None

    @classmethod
    def of(cls, cron_job: CronJob, jobs: Iterable[Job]) -> Self:
        """The beginning of a look."""
        status = cron_job.status
        return cls(
            cron_job,
            {job.metadata.uid: job for job in jobs},
            list(status.active),
            status.last_schedule_time,
            status.last_successful_time,
        )

    @property
    def status(self) -> CronJobStatus:
        return CronJobStatus(
            active=tuple(self.active),
            last_schedule_time=self.last_schedule_time,
            last_successful_time=self.last_successful_time,
        )

    @property
    def name(self) -> str:
        return self.cron_job.metadata.name

    @property
    def namespace(self) -> str:
        return self.cron_job.metadata.namespace

    @property
    def finished(self) -> list[Job]:
        return [job for job in self.jobs.values() if is_finished(job)]

    def is_active(self, uid: str) -> bool:
        return any(ref.uid == uid for ref in self.active)

    def drop(self, uid: str) -> None:
        """The job is active no longer."""
        self.active = [ref for ref in self.active if ref.uid != uid]

    def note_success(self, job: Job) -> None:
        """A job has completed."""
        ended = job.status.state.last_transition_time
        last = self.last_successful_time
        if ended and (last is None or parse_nanoseconds(ended) > parse_nanoseconds(last)):
            self.last_successful_time = ended

    def was_started_at(self, due: datetime, name: str) -> bool:
        """Whether the run of a due time, whose job has this name, is known already."""
        last = self.last_schedule_time
        if last is not None and timestamps.parse(last) == due:
            return True
        return any(ref.name == name for ref in self.active)

    def note_start(self, job: Job, due: datetime) -> None:
        """The job of a run is there."""
        if not self.is_active(job.metadata.uid):
            self.active.append(reference(job))
            self.last_schedule_time = timestamps.format_seconds(due)
