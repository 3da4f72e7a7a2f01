"""
Jobs of a flow that have finished and went when their time to live was over: a flow keeps what they came to.

Without that a step would run again as soon as its job is collected. A job that somebody deletes, because it has no time
to live or before that is over, is made anew. Which jobs have one, and when that of a finished job is over, stands in an
annotation of the flow (`a,b,b@1777640400`, in unix seconds), since templates may change and this process may start again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final

from msgspec.structs import replace

from api import names
from api.jobs import FINISHED_PHASES
from controllers.garbagecollector import expiry
from controllers.jobflow.merging import merge
from controllers.jobflow.reader import Reader, flow_key
from controllers.jobflow.texts import changes_of, spec_document
from generated.batch.v1alpha1 import Job, JobSpec, JobState, JobStatus
from generated.flow.v1alpha1 import Flow, JobFlow
from generated.flow.v1alpha1 import JobStatus as Detail
from generated.meta.v1 import ObjectMeta
from runtime import timestamps

_TIME_TO_LIVE: Final = "ttlSecondsAfterFinished"
_AT: Final = "@"
"""Between a job and its end, in an entry beside that of the name alone, which is all that older builds know."""
SLACK_SECONDS: Final = 10.0
"""How much too early a job may go and still count as collected: clocks differ, and a step that runs twice is worse."""


class Collected:
    """
    What is known of them: from the flow's status, and from their last moments where the status came too late.

    `clock` gives unix seconds.
    """

    def __init__(self, reader: Reader, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._clock = clock
        self._seen: dict[str, dict[str, Job | None]] = {}
        """By the flow's UID, then by name: how each job went last, None when it was deleted."""

    def note(self, job: Job) -> None:
        """A job is gone."""
        key = flow_key(job)
        flow = self._reader.flow(key) if key is not None else None
        if flow is not None and self._reader.is_of(job, flow):
            end = replace(job, spec=JobSpec()) if self._is_spent(job) else None
            self._seen.setdefault(flow.metadata.uid, {})[job.metadata.name] = end

    def of(self, flow: JobFlow, present: Container[str]) -> dict[str, Job]:
        """The flow's collected jobs by name, without those that are `present`."""
        seen = self._seen.get(flow.metadata.uid, {})
        recorded = {
            detail.name: _as_job(flow, detail)
            for detail in flow.status.job_status_list
            if detail.state in FINISHED_PHASES
            and self._has_time_to_live(flow, detail.name)
            and self._may_be_over(flow, detail.name)
        }
        ends = {**recorded, **seen}
        return {name: job for name, job in ends.items() if job is not None and name not in present}

    def record(self, flow: JobFlow, jobs: Mapping[str, Job]) -> str | None:
        """
        What the flow's annotation must say, given its jobs that are there; None when it does.

        Of collected jobs only the names: however their time was changed at the last, they count from now on.
        """
        perishable = {name: job for name, job in jobs.items() if job.spec.ttl_seconds_after_finished is not None}
        ends = {f"{name}{_AT}{expiry(job):.0f}" for name, job in perishable.items() if _has_finished(job)}
        text = ",".join(sorted(self.of(flow, jobs).keys() | perishable.keys() | ends))
        return text if text != flow.metadata.annotations.get(names.JOBS_WITH_TTL_ANNOTATION, "") else None

    def forget(self, flow: JobFlow) -> None:
        """The flow is gone."""
        self._seen.pop(flow.metadata.uid, None)

    def _is_spent(self, job: Job) -> bool:
        """Whether a job that went had finished and its time to live was over."""
        if job.spec.ttl_seconds_after_finished is None or not _has_finished(job):
            return False
        deleted = job.metadata.deletion_timestamp
        gone = timestamps.parse_nanoseconds(deleted) / 1e9 if deleted else self._clock()
        return expiry(job) <= gone + SLACK_SECONDS

    def _may_be_over(self, flow: JobFlow, job: str) -> bool:
        """Whether the time of a job that went unseen, such as between two runs of this process, can be over by now."""
        ends = [end for name, _, end in (mark.partition(_AT) for mark in _marks(flow)) if name == job]
        return all(float(end) <= self._clock() + SLACK_SECONDS for end in ends if end.isdecimal())

    def _has_time_to_live(self, flow: JobFlow, job: str) -> bool:
        if names.JOBS_WITH_TTL_ANNOTATION in flow.metadata.annotations:
            return job in _marks(flow)
        return any(
            names.job_flow_job_name(flow.metadata.name, entry.name) == job and self._is_perishable(flow, entry)
            for entry in flow.spec.flows
        )

    def _is_perishable(self, flow: JobFlow, entry: Flow) -> bool:
        template = self._reader.template(entry.name, flow.metadata.namespace)
        written = spec_document(template) if template is not None else {}
        spec = merge(written, changes_of(entry, written))
        return spec.get(_TIME_TO_LIVE) is not None


def _has_finished(job: Job) -> bool:
    return job.status.state.phase in FINISHED_PHASES


def _marks(flow: JobFlow) -> list[str]:
    """What the flow's annotation says: names of jobs, and their ends."""
    return flow.metadata.annotations.get(names.JOBS_WITH_TTL_ANNOTATION, "").split(",")


def _as_job(flow: JobFlow, detail: Detail) -> Job:
    """As much of a job as the flow's status holds."""
    condition = flow.status.conditions.get(detail.name)
    return Job(
        metadata=ObjectMeta(
            name=detail.name, namespace=flow.metadata.namespace, creation_timestamp=detail.start_timestamp
        ),
        status=JobStatus(
            state=JobState(phase=detail.state),
            retry_count=detail.restart_count,
            running_duration=condition.running_duration if condition is not None else "",
            task_status_count=condition.task_status_count if condition is not None else {},
        ),
    )
