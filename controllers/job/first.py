"""
First statuses that their jobs have here and not yet on the server.

In a rush the word that a new job waits is written some seconds later (`tallies`), or not by itself if something else is
to be written before. Until then all that is decided takes the job as it will be.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from generated.batch.v1alpha1 import Job, JobStatus
from runtime.objects import Key, key_of


class _First(NamedTuple):
    uid: str
    status: JobStatus


class FirstStatuses:
    """Of jobs by key."""

    def __init__(self) -> None:
        self._statuses: dict[Key, _First] = {}

    def __len__(self) -> int:
        return len(self._statuses)

    def note(self, job: Job) -> None:
        """The job as it has begun."""
        self._statuses[key_of(job)] = _First(job.metadata.uid, job.status)

    def holds(self, job: Job) -> bool:
        """Whether the job's first status is still to be written."""
        found = self._statuses.get(key_of(job))
        return found is not None and found.uid == job.metadata.uid

    def of(self, job: Job) -> Job:
        """A job that has no status on the server, with what it has begun with here."""
        found = self._statuses.get(key_of(job))
        return replace(job, status=found.status) if found is not None and found.uid == job.metadata.uid else job

    def forget(self, key: Key) -> None:
        """The server has a status of the job, or the job is gone."""
        self._statuses.pop(key, None)
