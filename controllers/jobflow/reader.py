"""The read side of the JobFlow controller: flows, their templates, their jobs, the jobs' pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from api import names
from api.owners import controller_of, is_controlled_by, is_of_kind
from controllers.freshest import Freshest
from controllers.job.reader import BY_JOB
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Pod
from generated.flow.v1alpha1 import JOB_FLOWS, JobFlow, JobTemplate
from runtime.lister import Indexer, Lister
from runtime.objects import Key

_BY_FLOW: Final = "flow"
_BY_TEMPLATE: Final = "template"
_BY_JOB_NAME: Final = "job"


def flow_key(job: Job) -> Key | None:
    """The flow that controls a job, None when it is no flow's."""
    owner = controller_of(job.metadata)
    if owner is None or not is_of_kind(owner, JOB_FLOWS):
        return None
    return Key(job.metadata.namespace, owner.name)


def _by_flow(job: Job) -> Iterator[str]:
    owner = controller_of(job.metadata)
    if owner is not None and is_of_kind(owner, JOB_FLOWS):
        yield owner.uid


def _by_template(flow: JobFlow) -> Iterator[str]:
    for name in {entry.name for entry in flow.spec.flows}:
        yield f"{flow.metadata.namespace}/{name}"


def _by_job_name(flow: JobFlow) -> Iterator[str]:
    for name in {names.job_flow_job_name(flow.metadata.name, entry.name) for entry in flow.spec.flows}:
        yield f"{flow.metadata.namespace}/{name}"


JOB_INDEXERS: Final[Mapping[str, Indexer[Job]]] = {_BY_FLOW: _by_flow}
FLOW_INDEXERS: Final[Mapping[str, Indexer[JobFlow]]] = {_BY_TEMPLATE: _by_template, _BY_JOB_NAME: _by_job_name}


class Reader(msgspec.Struct, frozen=True):
    """What the caches know, with the flows' last written states."""

    flows: Lister[JobFlow]
    templates: Lister[JobTemplate]
    jobs: Lister[Job]
    pods: Lister[Pod]
    fresh: Freshest[JobFlow]

    def flow(self, key: Key) -> JobFlow | None:
        cached = self.flows.get(key)
        return self.fresh.of(cached) if cached is not None else None

    def template(self, name: str, namespace: str) -> JobTemplate | None:
        return self.templates.get(Key(namespace, name))

    def jobs_of(self, flow: JobFlow) -> dict[str, Job]:
        """The flow's own jobs by name; those of an earlier flow of its name are none of them."""
        return {job.metadata.name: job for job in self.jobs.by_index(_BY_FLOW, flow.metadata.uid)}

    def is_of(self, job: Job, flow: JobFlow) -> bool:
        """Whether this very flow controls the job."""
        return is_controlled_by(job.metadata, flow.metadata.uid)

    def pods_of(self, job: Job) -> list[Pod]:
        return self.pods.by_index(BY_JOB, job.metadata.uid)

    def flows_naming(self, job: Job) -> list[JobFlow]:
        """Flows that have an entry whose job has, or would have, this name."""
        meta = job.metadata
        return self.flows.by_index(_BY_JOB_NAME, f"{meta.namespace}/{meta.name}")

    def flows_with(self, template: JobTemplate) -> list[JobFlow]:
        """Flows that have an entry of this template."""
        meta = template.metadata
        return self.flows.by_index(_BY_TEMPLATE, f"{meta.namespace}/{meta.name}")
