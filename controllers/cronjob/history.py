"""Which finished jobs of a CronJob are too many (controllers.md 9.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from api.jobs import FINISHED_PHASES
from generated.batch.v1alpha1 import CronJobSpec, Job, JobPhase
from runtime import timestamps

SUCCEEDED: Final = frozenset((JobPhase.COMPLETED,))
FAILED: Final = frozenset((JobPhase.FAILED, JobPhase.TERMINATED))


def is_finished(job: Job) -> bool:
    return job.status.state.phase in FINISHED_PHASES


def excess(jobs: Iterable[Job], spec: CronJobSpec) -> list[Job]:
    """Finished jobs above the limits of the history, oldest first: successful ones, then failed ones."""
    found = list(jobs)
    return [
        *_oldest(found, SUCCEEDED, spec.successful_jobs_history_limit),
        *_oldest(found, FAILED, spec.failed_jobs_history_limit),
    ]


def _oldest(jobs: Iterable[Job], phases: frozenset[str], limit: int | None) -> list[Job]:
    """Jobs in these phases above a limit; without limit none. Those that are going already count no more."""
    if limit is None:
        return []
    kept = [job for job in jobs if job.status.state.phase in phases and job.metadata.deletion_timestamp is None]
    return sorted(kept, key=_age)[: max(0, len(kept) - max(0, limit))]


def _age(job: Job) -> tuple[bool, int, str]:
    """Sorts oldest first; what has no time counts as newest."""
    created = job.metadata.creation_timestamp
    return created is None, timestamps.parse_nanoseconds(created) if created else 0, job.metadata.name
