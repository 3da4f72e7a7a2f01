"""
The job of one run: its name, and its document.

The name follows from the due time, so that a run which was created but not noted, as the process ended in between,
is found again instead of being created twice.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from api import names
from api.owners import owner_reference
from controllers.cronjob.texts import job_spec
from controllers.cronjob.timetable import Timetable
from generated.batch.v1alpha1 import CRON_JOBS, JOBS, CronJob, Job
from generated.core.v1 import ObjectReference
from runtime import timestamps


def run_name(cron_job: CronJob, table: Timetable, due: datetime) -> str:
    """The name of the job that is due at a time."""
    seconds = int(due.timestamp())
    return names.cron_job_run_name(cron_job.metadata.name, seconds, to_the_second=table.is_below_a_minute)


def job_document(cron_job: CronJob, name: str, due: datetime, zone: tzinfo | None) -> dict[str, Any]:
    """The job as it is created; `zone` is the one that the CronJob asks for."""
    template = cron_job.spec.job_template.metadata
    stamp = timestamps.format_seconds(due.astimezone(zone or UTC), keep_zone=True)
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": name,
            "namespace": cron_job.metadata.namespace,
            "labels": dict(template.labels),
            "annotations": {**template.annotations, names.CRONJOB_SCHEDULED_TIMESTAMP_ANNOTATION: stamp},
            "ownerReferences": [msgspec.to_builtins(owner_reference(CRON_JOBS, cron_job))],
        },
        "spec": job_spec(cron_job),
    }


def reference(job: Job) -> ObjectReference:
    """How the status of a CronJob names an active job."""
    meta = job.metadata
    return ObjectReference(
        api_version=JOBS.api_version,
        kind=JOBS.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
