"""
The pods of a job, as documents: the task's template as its author wrote it, with what makes it a pod of this job.

Everything is a function of the job, so a pod that was lost comes back the same. Plugins of the controller may add to it.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from api import names
from api.jobs import disruption_budget, partition_id, queue_of, task_name
from api.owners import owner_reference
from generated.batch.v1alpha1 import JOBS, Job, TaskSpec

_COPIED_ANNOTATIONS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY, names.REVOCABLE_ZONE_KEY)
_COPIED_LABELS: Final = (names.PREEMPTABLE_KEY, names.COOLDOWN_TIME_KEY)
_TRUE: Final = "true"


def pod_document(
    job: Job, number: int, ordinal: int, template: dict[str, Any], *, is_forwarded: bool = False
) -> dict[str, Any]:
    """The pod of one place: the `ordinal`-th of the task of that number. `template` is the task's, to be used up."""
    task = job.spec.tasks[number]
    name = task_name(task, number)
    given = template.get("metadata") or {}
    shared = _shared(job, name, ordinal, is_forwarded=is_forwarded)
    return {
        "metadata": {
            "name": names.pod_name(job.metadata.name, name, ordinal),
            "namespace": job.metadata.namespace,
            "labels": (given.get("labels") or {}) | shared | _labels(job, task, ordinal),
            "annotations": (given.get("annotations") or {}) | shared | _annotations(job, task, name),
            "ownerReferences": [msgspec.to_builtins(owner_reference(JOBS, job))],
        },
        "spec": _spec(job, template.get("spec") or {}),
    }


def _shared(job: Job, name: str, ordinal: int, *, is_forwarded: bool) -> dict[str, str]:
    """Keys that are both a label and an annotation."""
    keys = {
        names.TASK_INDEX_KEY: str(ordinal),
        names.TASK_SPEC_KEY: name,
        names.JOB_NAME_KEY: job.metadata.name,
        names.QUEUE_NAME_KEY: queue_of(job.spec),
    }
    return keys | {names.JOB_FORWARDING_KEY: _TRUE} if is_forwarded else keys


def _labels(job: Job, task: TaskSpec, ordinal: int) -> dict[str, str]:
    labels = {names.JOB_NAMESPACE_LABEL: job.metadata.namespace}
    labels |= _picked(job.metadata.labels, _COPIED_LABELS)
    if task.partition_policy is not None:
        number = partition_id(ordinal, task.partition_policy.partition_size)
        labels[names.PARTITION_ID_LABEL] = str(number)
    return labels


def _annotations(job: Job, task: TaskSpec, name: str) -> dict[str, str]:
    annotations = {
        names.TEMPLATE_UID_ANNOTATION: names.template_uid(job.metadata.name, name),
        names.GROUP_NAME_ANNOTATION: names.pod_group_name(job.metadata.name, job.metadata.uid),
        names.JOB_VERSION_ANNOTATION: str(job.status.version),
        names.JOB_RETRY_COUNT_ANNOTATION: str(job.status.retry_count),
    }
    annotations |= _picked(job.metadata.annotations, _COPIED_ANNOTATIONS)
    annotations |= disruption_budget(job.metadata.annotations)
    if task.topology_policy:
        annotations[names.NUMA_TOPOLOGY_POLICY_ANNOTATION] = task.topology_policy
    return annotations


def _spec(job: Job, spec: dict[str, Any]) -> dict[str, Any]:
    if not spec.get("schedulerName") and job.spec.scheduler_name:
        spec["schedulerName"] = job.spec.scheduler_name
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    if spec.get("hostNetwork") and not spec.get("dnsPolicy"):  # as admission; an update may have dropped it
        spec["dnsPolicy"] = names.DNS_WITH_HOST_NETWORK  # compat: JOB-4
    mounts = []
    claims: set[str] = set()
    for volume in job.spec.volumes:
        claim = volume.volume_claim_name
        if not claim or claim in claims:
            continue
        claims.add(claim)
        name = names.claim_volume_name(job.metadata.name, _suffix(claim))
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "persistentVolumeClaim": {"claimName": claim}}]
        mounts.append({"name": name, "mountPath": volume.mount_path})
    if mounts:
        spec["containers"] = [
            container | {"volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}
            for container in spec.get("containers") or ()
        ]
    return spec


def _picked(given: dict[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given}


def _suffix(text: str) -> str:
    """Letters that look random, and are the same for the same claim."""
    alphabet = names.RANDOM_SUFFIX_ALPHABET
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in digest[: names.RANDOM_SUFFIX_LENGTH])
