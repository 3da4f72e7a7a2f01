"""A job's next status: counters, the phase a rule chose, its history and its running time."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from api import names
from controllers.job.counts import Counts
from controllers.job.rules import Change
from generated.batch.v1alpha1 import Job, JobCondition, JobPhase, JobState, JobStatus
from runtime import duration, timestamps


def initial(job: Job, now: datetime) -> JobStatus:
    """The first status of a job: it waits."""
    change = Change(JobPhase.PENDING, names.JobStateReason.CREATED, names.JobStateMessage.WAITS_FOR_ADMISSION)
    return changed(replace(job.status, min_available=job.spec.min_available), change, now)


def unmarked(status: JobStatus) -> JobStatus:
    """Without the marks of plugins: what they made is gone."""
    kept = {
        key: value
        for key, value in status.controlled_resources.items()
        if not key.startswith(names.PLUGIN_MARKER_PREFIX)
    }
    return replace(status, controlled_resources=kept)


def counted(status: JobStatus, counts: Counts) -> JobStatus:
    """With these counters."""
    return replace(
        status,
        pending=counts.pending,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        unknown=counts.unknown,
        terminating=counts.terminating,
        task_status_count=counts.task_states(),
    )


def changed(status: JobStatus, change: Change, now: datetime) -> JobStatus:
    """In its new phase: the transition noted, the time since it first ran kept up."""
    text = timestamps.format_seconds(now)
    state = JobState(phase=change.phase, reason=change.reason, message=change.message, last_transition_time=text)
    if not change.reason:
        state = replace(state, reason=status.state.reason, message=status.state.message)
    kept = tuple(condition for condition in status.conditions if condition.status != change.phase)
    return replace(
        status,
        state=state,
        conditions=(*kept, JobCondition(status=change.phase, last_transition_time=text)),
        retry_count=status.retry_count + change.is_retry,
        running_duration=_running_duration(status, now),
    )


def is_resumed(status: JobStatus) -> bool:
    """Whether a job restarts from where it was suspended. Only its user's command leads that way."""
    before = status.conditions[-2].status if len(status.conditions) > 1 else ""
    return status.state.phase == JobPhase.RESTARTING and before in {JobPhase.ABORTING, JobPhase.ABORTED}


def explained(status: JobStatus, reason: str, message: str) -> JobStatus:
    """In the same phase for another reason."""
    return replace(status, state=replace(status.state, reason=reason, message=message))


def admitted(status: JobStatus) -> JobStatus:
    """Without the word that it waits to be let in."""
    if status.state.message != names.JobStateMessage.WAITS_FOR_ADMISSION:
        return status
    return explained(status, status.state.reason, names.JobStateMessage.ADMITTED)


def touched(status: JobStatus, old: JobStatus, now: datetime) -> JobStatus:
    """With the time of this change, if it is one."""
    if status == old or status.state.phase != old.state.phase:
        return status
    return replace(status, state=replace(status.state, last_transition_time=timestamps.format_seconds(now)))


def _running_duration(status: JobStatus, now: datetime) -> str:
    """
    Time since the job first ran, empty when it never did.

    Each change of phase brings it up to date, so the first start is the last change less what is noted.
    """
    last = status.conditions[-1] if status.conditions else None
    if last is None or last.last_transition_time is None:
        return status.running_duration
    started = timestamps.parse(last.last_transition_time)
    if status.running_duration:
        started -= timedelta(microseconds=duration.parse_nanoseconds(status.running_duration) // duration.MICROSECOND)
    elif last.status != JobPhase.RUNNING:
        return ""
    return duration.format_nanoseconds(max(0, int((now - started).total_seconds())) * duration.SECOND)
