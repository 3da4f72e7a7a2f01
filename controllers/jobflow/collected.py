"""
Jobs of a flow that have finished and went when their time to live was over: a flow keeps what they came to.

Without that a step would run again as soon as its job is collected. A job that somebody deletes who gave it no time to
live is made anew.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from api import names
from api.jobs import FINISHED_PHASES
from controllers.jobflow.merging import merge
from controllers.jobflow.reader import Reader, flow_key
from controllers.jobflow.texts import changes_of, spec_document
from generated.batch.v1alpha1 import Job, JobSpec, JobState, JobStatus
from generated.flow.v1alpha1 import Flow, JobFlow
from generated.flow.v1alpha1 import JobStatus as Detail
from generated.meta.v1 import ObjectMeta

_TIME_TO_LIVE = "ttlSecondsAfterFinished"


class Collected:
    """What is known of them: from the flow's status, and from their last moments where the status came too late."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seen: dict[str, dict[str, Job]] = {}
        """By the flow's UID, then by name."""

    def note(self, job: Job) -> None:
        """A job is gone."""
        key = flow_key(job)
        flow = self._reader.flow(key) if key is not None else None
        is_spent = job.spec.ttl_seconds_after_finished is not None and job.status.state.phase in FINISHED_PHASES
        if is_spent and flow is not None and self._reader.is_of(job, flow):
            self._seen.setdefault(flow.metadata.uid, {})[job.metadata.name] = replace(job, spec=JobSpec())

    def of(self, flow: JobFlow, present: Container[str]) -> dict[str, Job]:
        """The flow's collected jobs by name, without those that are `present`."""
        seen = self._seen.get(flow.metadata.uid, {})
        recorded = {
            detail.name: _as_job(flow, detail)
            for detail in flow.status.job_status_list
            if detail.state in FINISHED_PHASES and detail.name not in seen and self._has_time_to_live(flow, detail.name)
        }
        return {name: job for name, job in {**recorded, **seen}.items() if name not in present}

    def forget(self, flow: JobFlow) -> None:
        """The flow is gone."""
        self._seen.pop(flow.metadata.uid, None)

    def _has_time_to_live(self, flow: JobFlow, job: str) -> bool:
        return any(
            names.job_flow_job_name(flow.metadata.name, entry.name) == job and self._is_perishable(flow, entry)
            for entry in flow.spec.flows
        )

    def _is_perishable(self, flow: JobFlow, entry: Flow) -> bool:
        template = self._reader.template(entry.name, flow.metadata.namespace)
        spec = merge(spec_document(template) if template is not None else {}, changes_of(entry))
        return spec.get(_TIME_TO_LIVE) is not None


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
