"""
Brings a flow forward: creates the jobs whose dependencies are met, and says where all stand (controllers.md 7).

Jobs have fixed names and are found by their owner, so that nothing is created twice or counted for another flow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from api import names
from api.owners import is_controlled_by, owner_reference
from controllers.jobflow import metrics
from controllers.jobflow.collected import Collected
from controllers.jobflow.machine import KNOWN, UNKNOWN, census, next_phase
from controllers.jobflow.merging import merge
from controllers.jobflow.probes import Prober
from controllers.jobflow.reader import Reader
from controllers.jobflow.status import status_of
from controllers.jobflow.texts import changes_of, spec_document
from generated.batch.v1alpha1 import JOBS, Job, JobPhase
from generated.clients.clientset import Clientset
from generated.flow.v1alpha1 import JOB_FLOWS, Flow, FlowPhase, JobFlow, JobTemplate, RetainPolicy
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE, ReconcileError, Result, again_after
from runtime.errors import AlreadyExists, ApiError, Conflict, NotFound
from runtime.events import EventRecorder
from runtime.objects import Key, key_of
from runtime.patches import MergePatch

_log = logging.getLogger(__name__)

ACTION: Final = "SyncJobFlow"
PROBE_SECONDS: Final = 5.0
"""Between two probes of the same entry."""
_WORKS: Final = frozenset(("", FlowPhase.PENDING, FlowPhase.RUNNING))


class JobFlowError(ReconcileError):
    """A flow can't go on as things are."""


class JobFlowReconciler:
    """`reconcile` looks at one flow. `clock` gives unix seconds."""

    def __init__(
        self, clients: Clientset, reader: Reader, prober: Prober, events: EventRecorder, clock: Callable[[], float]
    ) -> None:
        self._clients = clients
        self._reader = reader
        self._prober = prober
        self._events = events
        self._clock = clock
        self._lacking: dict[Key, frozenset[str]] = {}
        """Templates that were reported as missing, by flow."""
        self.collected = Collected(reader, clock)

    async def reconcile(self, key: Key) -> Result:
        """Raises JobFlowError, ApiError, ConnectionFailed."""
        flow = self._reader.flow(key)
        if flow is None:
            self._lacking.pop(key, None)
            return DONE
        phase = flow.status.state.phase
        if flow.metadata.deletion_timestamp is not None or phase == FlowPhase.TERMINATING:
            return DONE
        if phase not in KNOWN:
            raise JobFlowError(f"jobflow {flow.metadata.name} state {{{phase}}} is invalid")
        if phase == FlowPhase.SUCCEED and flow.spec.job_retain_policy == RetainPolicy.DELETE:
            await self._delete_jobs(flow)
            return DONE
        probes = await self._deploy(key, flow) if phase in _WORKS else False
        later = await self._write_status(await self._record(flow))
        if later in _WORKS and phase not in _WORKS:
            return again_after(0)  # jobs are created when it works, and nothing else may wake it
        return again_after(PROBE_SECONDS) if probes else DONE

    async def give_up(self, key: Key, error: Exception) -> None:
        """Tell on the flow that it failed for good."""
        flow = self._reader.flow(key)
        if flow is not None:
            cause = f"sync jobflow {key.name} failed for {error}, event is OutOfSync, action is {ACTION}"
            self._events.warning(JOB_FLOWS, flow, ACTION, f"{ACTION} JobFlow failed for {cause}")

    def forget(self, flow: JobFlow) -> None:
        """A flow is gone."""
        self.collected.forget(flow)
        self._reader.fresh.forget(key_of(flow))

    def _jobs_of(self, flow: JobFlow) -> dict[str, Job]:
        """The flow's jobs by name, also those that were collected when they had finished."""
        present = self._reader.jobs_of(flow)
        return {**self.collected.of(flow, present), **present}

    async def _delete_jobs(self, flow: JobFlow) -> None:
        for job in self._reader.jobs_of(flow).values():
            if job.metadata.deletion_timestamp is not None:
                continue
            try:
                await self._clients.batch_v1alpha1.jobs.delete(
                    job.metadata.name, job.metadata.namespace, uid=job.metadata.uid, propagation="Background"
                )
            except (NotFound, Conflict):
                continue  # gone, or another one of that name

    async def _deploy(self, key: Key, flow: JobFlow) -> bool:
        """Create the jobs whose time has come; whether some entry waits for a probe."""
        jobs = self._jobs_of(flow)
        probes, lacking = False, set()
        for entry in flow.spec.flows:
            name = names.job_flow_job_name(flow.metadata.name, entry.name)
            if name in jobs:
                continue
            is_ready, is_probed = await self._is_ready(flow, entry, jobs)
            probes |= is_probed and not is_ready
            if not is_ready:
                continue
            template = self._reader.template(entry.name, flow.metadata.namespace)
            if template is None:
                lacking.add(entry.name)
                continue
            await self._create(flow, entry, template, name)
        self._tell_lacking(key, flow, frozenset(lacking))
        return probes

    async def _is_ready(self, flow: JobFlow, entry: Flow, jobs: Mapping[str, Job]) -> tuple[bool, bool]:
        """(whether what an entry waits for is met, whether that is for a probe to say)."""
        depends = entry.depends_on
        if depends is None or not depends.targets:
            return True, False
        targets = [jobs.get(names.job_flow_job_name(flow.metadata.name, target)) for target in depends.targets]
        present = [job for job in targets if job is not None]
        if len(present) < len(targets):
            return False, False
        if depends.probe is None:
            return all(job.status.state.phase == JobPhase.COMPLETED for job in present), False
        return await self._prober.passes(depends.probe, present), True

    async def _create(self, flow: JobFlow, entry: Flow, template: JobTemplate, name: str) -> None:
        namespace = flow.metadata.namespace
        try:
            await self._clients.batch_v1alpha1.jobs.create(_job(flow, entry, template, name))
        except AlreadyExists:
            found = await self._clients.batch_v1alpha1.jobs.get(name, namespace)
            if not is_controlled_by(found.metadata, flow.metadata.uid):
                raise JobFlowError(
                    f"job {name} exists and is not owned by jobflow {namespace}/{flow.metadata.name}"
                ) from None
            return
        _log.info("job.created job=%s/%s jobflow=%s template=%s", namespace, name, flow.metadata.name, entry.name)
        self._events.normal(JOB_FLOWS, flow, names.JobFlowReason.CREATED, f"create a job named {name}!")

    def _tell_lacking(self, key: Key, flow: JobFlow, lacking: frozenset[str]) -> None:
        """Say once that templates are missing; their appearance wakes the flow."""
        for name in sorted(lacking - self._lacking.get(key, frozenset())):
            text = f"job template {flow.metadata.namespace}/{name} is not found: its job is created when it appears"
            self._events.warning(JOB_FLOWS, flow, names.JobFlowReason.JOB_TEMPLATE_NOT_FOUND, text)
        self._lacking[key] = lacking

    async def _record(self, flow: JobFlow) -> JobFlow:
        """Note on the flow which jobs have a time to live, before the status tells of their end; the flow as it is then."""
        text = self.collected.record(flow, self._reader.jobs_of(flow))
        if text is None:
            return flow
        meta = flow.metadata
        annotations = {names.JOBS_WITH_TTL_ANNOTATION: text}
        body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": annotations}}
        try:
            answer = await self._clients.flow_v1alpha1.job_flows.patch(meta.name, meta.namespace, MergePatch(body))
        except NotFound:
            return flow
        except Conflict:
            raise
        except ApiError as error:  # such as of a webhook, which no status meets
            _log.warning("jobflow.not_recorded jobflow=%s/%s error=%s", meta.namespace, meta.name, error)
            return flow
        recorded = msgspec.structs.replace(flow, metadata=answer.metadata)
        self._reader.fresh.note(recorded)
        return recorded

    async def _write_status(self, flow: JobFlow) -> str:
        """Write where the flow stands, if that is news; its phase."""
        jobs = self._jobs_of(flow)
        awaited = {names.job_flow_job_name(flow.metadata.name, entry.name) for entry in flow.spec.flows}
        standing = census(job for name, job in jobs.items() if name in awaited)
        phase = next_phase(flow.status.state.phase, standing, len(awaited))
        now = datetime.fromtimestamp(self._clock(), UTC)
        status = status_of(flow.status, jobs.values(), census(jobs.values()), phase, now)
        self._tell_unknown(flow, status.un_know_jobs)
        if status == flow.status:
            return phase
        meta = flow.metadata
        body = JobFlow(
            metadata=ObjectMeta(
                name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version
            ),
            status=status,
        )
        try:
            answer = await self._clients.flow_v1alpha1.job_flows.update_status(body)
        except NotFound:
            return phase
        if phase != flow.status.state.phase:
            _log.info("jobflow.phase jobflow=%s/%s to=%s", meta.namespace, meta.name, phase)
            metrics.count(phase, meta.namespace)
        # the spec as it was read: the answer is decoded without the texts of patches
        self._reader.fresh.note(msgspec.structs.replace(answer, spec=flow.spec))
        return phase

    def _tell_unknown(self, flow: JobFlow, unknown: tuple[str, ...]) -> None:
        fresh = [
            name
            for name in unknown
            if name not in flow.status.un_know_jobs and self._is_aborted(flow.metadata.namespace, name)
        ]
        for name in fresh:
            text = f"job {name} is suspended: the flow waits until it is resumed"
            self._events.warning(JOB_FLOWS, flow, UNKNOWN.capitalize(), text)

    def _is_aborted(self, namespace: str, name: str) -> bool:
        job = self._reader.jobs.get(Key(namespace, name))
        return job is not None and job.status.state.phase == JobPhase.ABORTED


def _job(flow: JobFlow, entry: Flow, template: JobTemplate, name: str) -> dict[str, Any]:
    """The job of an entry, as a document."""
    namespace, spec = flow.metadata.namespace, spec_document(template)
    creators = {
        names.CREATED_BY_JOB_TEMPLATE_KEY: names.created_by(namespace, entry.name),
        names.CREATED_BY_JOB_FLOW_KEY: names.created_by(namespace, flow.metadata.name),
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {key: names.fitting_label_value(value) for key, value in creators.items()},
            "annotations": creators,
            "ownerReferences": [msgspec.to_builtins(owner_reference(JOB_FLOWS, flow))],
        },
        "spec": merge(spec, changes_of(entry, spec)),
    }
