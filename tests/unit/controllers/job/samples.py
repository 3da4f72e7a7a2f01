"""Jobs, pods and worlds for the job controller's tests, with as few words as possible."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from api import names
from api.owners import owner_reference
from controllers.job.world import World
from generated.batch.v1alpha1 import JOBS, Job, JobSpec, JobState, JobStatus, TaskSpec, TaskState
from generated.core.v1 import Container, ContainerStatus, Pod, PodSpec, PodStatus, PodTemplateSpec
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupStatus, Queue

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
NOW_TEXT = "2026-05-01T12:00:00Z"
TEMPLATE = PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image="i"),)))


def a_task(name: str = "t", replicas: int = 3, min_available: int | None = None, **fields: Any) -> TaskSpec:
    fields.setdefault("template", TEMPLATE)
    return TaskSpec(name=name, replicas=replicas, min_available=min_available, **fields)


def a_job(*tasks: TaskSpec, phase: str = "", status: Mapping[str, Any] | None = None, **spec: Any) -> Job:
    """Job `ns/j` of UID `u`; minAvailable is the sum of replicas unless given."""
    tasks = tasks or (a_task(),)
    spec.setdefault("min_available", sum(task.replicas for task in tasks))
    spec.setdefault("queue", "default")
    counts = dict(status or {})
    counts.setdefault("min_available", spec["min_available"])
    return Job(
        metadata=ObjectMeta(name="j", namespace="ns", uid="u", resource_version="5"),
        spec=JobSpec(tasks=tasks, **spec),
        status=JobStatus(state=JobState(phase=phase), **counts),
    )


def a_pod(
    name: str,
    phase: str = "Running",
    *,
    task: str = "t",
    job: Job | None = None,
    version: int = 0,
    is_terminating: bool = False,
    is_marked: bool = False,
    partition: str = "",
    **status: Any,
) -> Pod:
    annotations = {
        names.JOB_NAME_KEY: "j",
        names.TASK_SPEC_KEY: task,
        names.JOB_VERSION_ANNOTATION: str(version),
    } | ({names.OUT_OF_SYNC_ANNOTATION: "true"} if is_marked else {})
    meta = ObjectMeta(
        name=name,
        namespace="ns",
        uid=f"uid-{name}",
        resource_version="3",
        annotations=annotations,
        labels={names.PARTITION_ID_LABEL: partition} if partition else {},
        owner_references=(owner_reference(JOBS, job or a_job()),),
        deletion_timestamp=NOW_TEXT if is_terminating else None,
    )
    return Pod(metadata=meta, spec=TEMPLATE.spec, status=PodStatus(phase=phase, **status))


def a_group(phase: str = "Inqueue", job: Job | None = None, **fields: Any) -> PodGroup:
    meta = ObjectMeta(
        name="j-u",
        namespace="ns",
        uid="g",
        resource_version="4",
        owner_references=(owner_reference(JOBS, job or a_job()),),
    )
    return PodGroup(metadata=meta, status=PodGroupStatus(phase=phase), **fields)


def a_world(job: Job, *pods: Pod, **fields: Any) -> World:
    """An admitted job with these pods, in a queue that exists."""
    fields.setdefault("group", a_group())
    fields.setdefault("queue", Queue(metadata=ObjectMeta(name="default")))
    return World(job=job, pods={pod.metadata.name: pod for pod in pods}, **fields)


def with_counts(**phases: int) -> dict[str, Any]:
    """Status fields of a job whose one task has so many pods in each phase."""
    return {
        **{phase.lower(): count for phase, count in phases.items()},
        "task_status_count": {"t": TaskState(phase=dict(phases))},
    }


def containers(*restarts: int, ready: bool = True) -> tuple[ContainerStatus, ...]:
    return tuple(ContainerStatus(name=f"c{i}", restart_count=count, ready=ready) for i, count in enumerate(restarts))


def replaced(job: Job, **spec: Any) -> Job:
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, **spec))
