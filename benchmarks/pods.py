"""
Pods as an API server sends them, 4 KB each, for the benchmarks of caches and decoders.

They are those of Volcano jobs: an env list, a mounted service account token under a random name (which makes the
containers of any two pods differ by a few bytes, as in a real cluster), owner, managed fields, a running status.
"""

from __future__ import annotations

import json
import random
from typing import Any

_SETTINGS = 11
"""Environment entries; so many that the mean over a pod's life is 4 KB."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
STAGES = ("created", "bound", "running", "succeeded")
"""The states that a pod passes, each one change."""


def pod(number: int, *, jobs: int, stage: str = "running", version: int = 0) -> dict[str, Any]:
    """
    Pod `number`, of job `number % jobs`: with `jobs` templates in all, or each its own for as many jobs as pods.

    `version` is its resourceVersion, by default one of its own.
    """
    job = number % jobs
    rand = random.Random(number)
    name = f"training-{job:05d}-worker-{number}"
    token = "kube-api-access-" + "".join(rand.choices(_LETTERS, k=5))
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(name, job, number, version or 1_000_000 + number, rand),
        "spec": _spec(job, number, token, stage),
        "status": _status(number, stage, rand),
    }


def encode(document: Any) -> bytes:
    """As the API server writes JSON: without blanks."""
    return json.dumps(document, separators=(",", ":")).encode()


def _metadata(name: str, job: int, number: int, version: int, rand: random.Random) -> dict[str, Any]:
    labels = {
        "volcano.sh/job-name": f"training-{job:05d}",
        "volcano.sh/job-namespace": "research",
        "volcano.sh/queue-name": "default",
        "volcano.sh/task-index": str(number),
        "volcano.sh/task-spec": "worker",
    }
    return {
        "name": name,
        "namespace": "research",
        "uid": _uid(rand),
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": "2026-08-01T12:00:00Z",
        "labels": labels,
        "annotations": {
            "scheduling.k8s.io/group-name": f"training-{job:05d}-8c1d6f0e",
            "volcano.sh/job-version": "0",
            "volcano.sh/template-uid": f"training-{job:05d}-worker",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "name": f"training-{job:05d}",
                "uid": _uid(random.Random(-job - 1)),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [
            {
                "manager": "vc-controller-manager",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-08-01T12:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}},
            }
        ],
    }


def _spec(job: int, number: int, token: str, stage: str) -> dict[str, Any]:
    limits = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    node = {} if stage == "created" else {"nodeName": f"node-{number // 10 % 1000:04d}"}
    return {
        "volumes": [
            {
                "name": token,
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                    "defaultMode": 420,
                },
            }
        ],
        "containers": [
            {
                "name": "worker",
                "image": f"registry.example/training:{job:05d}",
                "command": ["python", "-m", "training.worker"],
                "env": [
                    {"name": f"SETTING_{n:02d}", "value": f"value-of-job-{job:05d}-{n:062d}"} for n in range(_SETTINGS)
                ],
                "resources": {"limits": limits, "requests": limits},
                "volumeMounts": [
                    {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
                ],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        **node,
        "securityContext": {},
        "schedulerName": "volcano",
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _status(number: int, stage: str, rand: random.Random) -> dict[str, Any]:
    moment = f"2026-08-01T12:00:{number % 60:02d}Z"
    if stage == "created":
        return {"phase": "Pending", "qosClass": "Guaranteed"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    if stage == "bound":
        return {"phase": "Pending", "conditions": [scheduled], "qosClass": "Guaranteed"}
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    is_over = stage == "succeeded"
    ready = {"lastProbeTime": None, "lastTransitionTime": moment, "status": "False" if is_over else "True"}
    container = f"containerd://{rand.getrandbits(128):032x}"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment, "containerID": container}
    return {
        "phase": "Succeeded" if is_over else "Running",
        "conditions": [*({"type": kind, **ready} for kind in ("Initialized", "Ready", "ContainersReady")), scheduled],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": moment,
        "containerStatuses": [
            {
                "name": "worker",
                "state": {"terminated": ended} if is_over else {"running": {"startedAt": moment}},
                "lastState": {},
                "ready": not is_over,
                "restartCount": 0,
                "image": "registry.example/training:1",
                "imageID": "",
                "containerID": container,
                "started": not is_over,
            }
        ],
        "qosClass": "Guaranteed",
    }


def _uid(rand: random.Random) -> str:
    digits = f"{rand.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
