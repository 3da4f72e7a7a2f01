"""How jobs end, and how fast their pods are made."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from generated.batch.v1alpha1 import Job, JobPhase
from generated.core.v1 import Pod
from runtime import timestamps
from runtime.metrics import counter, exponential_range, histogram, remove_series

CREATION: Final = histogram(
    "volcano_controller_job_to_pod_creation_latency_milliseconds",
    "From the creation of a job to the creation of each of its pods, in milliseconds.",
    buckets=exponential_range(50, 60000, 30),
)
_LABELS: Final = ("job_name", "queue_name")
FINISHED: Final = {
    JobPhase.COMPLETED: counter("volcano_job_completed_phase_count", "Jobs that completed.", _LABELS),
    JobPhase.FAILED: counter("volcano_job_failed_phase_count", "Jobs that failed.", _LABELS),
}


def count_finish(phase: str, job: str, queue: str) -> None:
    """Count a job, `namespace/name`, that came to a phase."""
    if phase in FINISHED:
        FINISHED[phase].labels(job, queue).inc()


def observe_creation(job: Job, pod: Pod) -> None:
    """How long after the job the pod was created."""
    texts = (job.metadata.creation_timestamp, pod.metadata.creation_timestamp)
    if texts[0] and texts[1]:
        with suppress(timestamps.TimestampError):
            since, until = map(timestamps.parse_nanoseconds, (texts[0], texts[1]))
            CREATION.observe(max(0, until - since) / 1e6)


def drop(job: str) -> None:
    """Forget the series of a job, `namespace/name`, that is gone."""
    remove_series(FINISHED.values(), job_name=job)
