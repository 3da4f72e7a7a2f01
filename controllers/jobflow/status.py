"""The status of a flow: its jobs by phase, each in detail, and the phases that each went through."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from controllers.jobflow import machine
from controllers.jobflow.machine import Census
from generated.batch.v1alpha1 import Job
from generated.flow.v1alpha1 import Condition, JobFlowStatus, JobRunningHistory, JobStatus, State
from runtime import timestamps
from runtime.duration import DurationError, parse_nanoseconds


def status_of(old: JobFlowStatus, jobs: Iterable[Job], found: Census, phase: str, now: datetime) -> JobFlowStatus:
    """The status now. Jobs that are gone keep their entry in the detailed list."""
    present = sorted(jobs, key=lambda job: job.metadata.name)
    known = {entry.name: entry for entry in old.job_status_list}
    for job in present:
        known[job.metadata.name] = _detail(job, known.get(job.metadata.name), now)
    return JobFlowStatus(
        pending_jobs=found[machine.PENDING],
        running_jobs=found[machine.RUNNING],
        failed_jobs=found[machine.FAILED],
        completed_jobs=found[machine.COMPLETED],
        terminated_jobs=found[machine.TERMINATED],
        un_know_jobs=found[machine.UNKNOWN],
        conditions={job.metadata.name: _condition(job) for job in present},
        job_status_list=tuple(known.values()),
        state=State(phase=phase),
    )


def _condition(job: Job) -> Condition:
    return Condition(
        phase=job.status.state.phase,
        create_time=job.metadata.creation_timestamp,
        running_duration=job.status.running_duration,
        task_status_count=job.status.task_status_count,
    )


def _detail(job: Job, old: JobStatus | None, now: datetime) -> JobStatus:
    created = job.metadata.creation_timestamp
    return JobStatus(
        name=job.metadata.name,
        state=job.status.state.phase,
        start_timestamp=created,
        end_timestamp=_end(created, job.status.running_duration),
        restart_count=job.status.retry_count,
        running_histories=_histories(old.running_histories if old else (), job.status.state.phase, now),
    )


def _end(created: str | None, ran: str) -> str | None:
    if not created or not ran:
        return None
    try:
        nanoseconds = timestamps.parse_nanoseconds(created) + parse_nanoseconds(ran)
    except (DurationError, timestamps.TimestampError):
        return None
    return timestamps.format_seconds(timestamps.from_nanoseconds(nanoseconds))


def _histories(old: tuple[JobRunningHistory, ...], phase: str, now: datetime) -> tuple[JobRunningHistory, ...]:
    """Close the last phase when another one has begun."""
    if not phase or (old and old[-1].state == phase):
        return old
    text = timestamps.format_seconds(now)
    closed = (*old[:-1], replace(old[-1], end_timestamp=text)) if old else ()
    return (*closed, JobRunningHistory(start_timestamp=text, state=phase))
