"""The read side of the CronJob controller: CronJobs with their last written states, and their jobs by owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from api.owners import controller_of, is_of_kind
from controllers.freshest import Freshest
from generated.batch.v1alpha1 import CRON_JOBS, CronJob, Job
from generated.meta.v1 import OwnerReference
from runtime.lister import Indexer, Lister
from runtime.objects import Key

_BY_CRON_JOB: Final = "cronjob"


def owner_of(job: Job) -> OwnerReference | None:
    """The CronJob that controls a job, None when it is no CronJob's."""
    owner = controller_of(job.metadata)
    return owner if owner is not None and is_of_kind(owner, CRON_JOBS) else None


def _by_cron_job(job: Job) -> Iterator[str]:
    if (owner := owner_of(job)) is not None:
        yield owner.uid


JOB_INDEXERS: Final[Mapping[str, Indexer[Job]]] = {_BY_CRON_JOB: _by_cron_job}


class Reader(msgspec.Struct, frozen=True):
    """What the caches know."""

    cron_jobs: Lister[CronJob]
    jobs: Lister[Job]
    fresh: Freshest[CronJob]

    def cron_job(self, key: Key) -> CronJob | None:
        cached = self.cron_jobs.get(key)
        return self.fresh.of(cached) if cached is not None else None

    def job(self, name: str, namespace: str) -> Job | None:
        return self.jobs.get(Key(namespace, name))

    def jobs_of(self, cron_job: CronJob) -> list[Job]:
        """The jobs that this CronJob controls, by name; those of an earlier one of its name are none of them."""
        meta = cron_job.metadata
        found = self.jobs.by_index(_BY_CRON_JOB, meta.uid)
        return sorted((job for job in found if job.metadata.namespace == meta.namespace), key=_name)


def _name(job: Job) -> str:
    return job.metadata.name
