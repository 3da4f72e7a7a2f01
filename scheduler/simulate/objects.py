"""
What the server, its admission and the controllers would make of manifests: defaults, and the pods and PodGroups of jobs.

Amounts that can't be read are refused here, with their field.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from api import names
from api.jobgroups import build_group
from api.jobpods import pod_document
from api.jobs import task_min_available, task_name, total_min_available
from api.podgroups import min_member, name_for, network_topology
from api.resources import amounts, pod_requests, raw, scale, scheduling_numbers
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Pod
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1 import PriorityClass
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec
from runtime.quantity import QuantityError
from scheduler.simulate.manifests import Entry

POD_LIMIT = 110
"""Pods that a node takes that says nothing of it."""
BUILT_IN_CLASSES: Mapping[str, int] = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class Classes:
    """Values of priority classes."""

    def __init__(self) -> None:
        self.values: dict[str, int] = dict(BUILT_IN_CLASSES)
        self.default: int | None = None

    def add(self, found: PriorityClass) -> None:
        self.values[found.metadata.name] = found.value
        if found.global_default:
            self.default = found.value

    def of(self, name: str) -> int | None:
        """The priority of a pod that names a class, or none; None where there is nothing to go by."""
        return self.values.get(name) if name else self.default


def checked(entry: Entry) -> Any:
    """The object as the server would keep it. Raises InputError."""
    obj = entry.object
    match entry.kind:
        case "Node":
            return _node(entry)
        case "Queue":
            for field in ("capability", "deserved"):
                _readable(entry, f"spec.{field}", getattr(obj.spec, field) or {})
            _readable(entry, "spec.guarantee.resource", obj.spec.guarantee.resource)
        case "PodGroup":
            _readable(entry, "spec.minResources", obj.spec.min_resources or {})
        case "Pod":
            return _pod(entry)
        case "Job":
            return _job(entry)
    return obj


def _node(entry: Entry) -> Any:
    obj = entry.object
    offered = obj.status.allocatable or obj.status.capacity
    if not offered:
        raise entry.error("status.allocatable", "it is missing: what does the node offer?")
    _readable(entry, "status.allocatable", offered)
    offered = {"pods": POD_LIMIT} | dict(offered)
    return replace(obj, status=replace(obj.status, allocatable=offered))


def _readable(entry: Entry, field: str, held: Mapping[str, Any]) -> None:
    try:
        amounts(held)
    except QuantityError as error:
        raise entry.error(field, str(error)) from error


def _pod(entry: Entry) -> Pod:
    pod: Pod = entry.object
    try:
        scheduling_numbers(pod)
    except QuantityError as error:
        raise entry.error("spec.containers.resources", str(error)) from error
    if not pod.status.phase:
        phase = "Running" if pod.spec.node_name else "Pending"
        pod = replace(pod, status=replace(pod.status, phase=phase))
    return pod


def _job(entry: Entry) -> Job:
    job: Job = entry.object
    if not job.spec.tasks:
        raise entry.error("spec.tasks", "there is none")
    tasks = tuple(
        replace(task, name=task_name(task, number), min_available=task_min_available(task))
        for number, task in enumerate(job.spec.tasks)
    )
    for number, task in enumerate(tasks):
        if not task.template.spec.containers:
            raise entry.error(f"spec.tasks[{number}].template.spec.containers", "there is none")
    if len({task.name for task in tasks}) < len(tasks):
        raise entry.error("spec.tasks", "two tasks have the same name")
    spec = replace(
        job.spec,
        tasks=tasks,
        queue=job.spec.queue or names.DEFAULT_QUEUE,
        scheduler_name=job.spec.scheduler_name or names.DEFAULT_SCHEDULER_NAME,
    )
    spec = replace(spec, min_available=spec.min_available or total_min_available(spec))
    return replace(job, spec=spec)


# What controllers make.


def children(entry: Entry, job: Job, classes: Classes) -> tuple[PodGroup, list[Pod]]:
    """The PodGroup and the pods of a job. Raises InputError."""
    pods = [prioritised(pod, classes) for number in range(len(job.spec.tasks)) for pod in _pods_of(entry, job, number)]
    group = build_group(job, classes.values)
    return replace(group, metadata=_stamped(group.metadata, entry)), pods


def _pods_of(entry: Entry, job: Job, number: int) -> Iterator[Pod]:
    template = entry.document["spec"]["tasks"][number].get("template") or {}
    for ordinal in range(job.spec.tasks[number].replicas):
        document = pod_document(job, number, ordinal, copy.deepcopy(template))
        meta = document["metadata"]
        meta["uid"] = f"{job.metadata.uid}-{meta['name']}"
        meta["creationTimestamp"] = job.metadata.creation_timestamp
        field = f"spec.tasks[{number}].template"
        try:
            pod = msgspec.convert(document | {"status": {"phase": "Pending"}}, Pod)
            scheduling_numbers(pod)
        except (msgspec.ValidationError, QuantityError) as error:
            raise entry.error(field, str(error)) from error
        yield pod


def _stamped(meta: ObjectMeta, entry: Entry) -> ObjectMeta:
    owner = entry.object.metadata
    return replace(meta, uid=owner.uid, creation_timestamp=owner.creation_timestamp)


def own_group(pod: Pod) -> tuple[Pod, PodGroup]:
    """A pod that came without a PodGroup, with the one that its controller would make."""
    name, meta = name_for(pod), pod.metadata
    annotations = {**meta.annotations, names.GROUP_NAME_ANNOTATION: name}
    least = min_member(meta.annotations)
    spec = PodGroupSpec(
        min_member=least,
        queue=meta.annotations.get(names.GROUP_QUEUE_NAME_ANNOTATION, ""),
        priority_class_name=pod.spec.priority_class_name,
        min_resources=raw(scale(pod_requests(pod), least)),
        network_topology=network_topology(meta.annotations),
    )
    group = PodGroup(
        metadata=ObjectMeta(
            name=name, namespace=meta.namespace, uid=f"group-{meta.uid}", creation_timestamp=meta.creation_timestamp
        ),
        spec=spec,
    )
    return replace(pod, metadata=replace(meta, annotations=annotations)), group


def prioritised(pod: Pod, classes: Classes) -> Pod:
    """With the priority that admission would write into it."""
    if pod.spec.priority is not None:
        return pod
    value = classes.of(pod.spec.priority_class_name)
    return pod if value is None else replace(pod, spec=replace(pod.spec, priority=value))
