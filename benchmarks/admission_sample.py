"""The Job of 4 KB that `benchmarks.admission` sends, and the defaulting handler that answers."""

from __future__ import annotations

from typing import Any

import msgspec

from generated.batch.v1alpha1 import JOBS, Job, TaskSpec
from runtime.admission import ALLOWED, Changed, Mutation, Mutator
from runtime.wire import AdmissionRequest


def default_job(request: AdmissionRequest, job: Job, old: Job | None) -> Mutation[Job]:  # noqa: ARG001  # the protocol's signature
    """Queue, retries, scheduler, and what each task lacks."""
    spec = job.spec
    tasks = tuple(default_task(task, index) for index, task in enumerate(spec.tasks))
    changed = msgspec.structs.replace(
        spec,
        queue=spec.queue or "default",
        scheduler_name=spec.scheduler_name or "volcano",
        max_retry=spec.max_retry or 5,
        min_available=spec.min_available or sum(task.min_available or 0 for task in tasks),
        tasks=tasks,
    )
    return ALLOWED if changed == spec else Changed(msgspec.structs.replace(job, spec=changed))


def default_task(task: TaskSpec, index: int) -> TaskSpec:
    """A name, and as many pods needed as wanted."""
    needed = task.replicas if task.min_available is None else task.min_available
    return msgspec.structs.replace(task, name=task.name or f"default{index}", min_available=needed)


HANDLER = Mutator(path="/jobs/mutate", resources=(JOBS,), operations=("CREATE",), model=Job, mutate=default_job)


def review() -> bytes:
    """An AdmissionReview as an API server sends it, of a Job that encodes to about 4 KB."""
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "train-llm-0042",
            "namespace": "research",
            "creationTimestamp": None,
            "labels": {"team": "research", "cost-center": "4711"},
            "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {}}],
        },
        "spec": {
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "plugins": {"ssh": [], "svc": [], "env": []},
            "tasks": [task("master", 1, 19), task("worker", 8, 19)],
        },
        "status": {"state": {"lastTransitionTime": None}},
    }
    gvk = {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"}
    gvr = {"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": "train-llm-0042",
        "namespace": "research",
        "operation": "CREATE",
        "userInfo": {"username": "jane", "groups": ["research", "system:authenticated"]},
        "object": job,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def task(name: str, replicas: int, variables: int) -> dict[str, Any]:
    """A task with one container and some environment."""
    env = [{"name": f"PARAMETER_{index:02}", "value": f"value-{index:02}-" + "x" * 24} for index in range(variables)]
    container = {
        "name": "main",
        "image": "registry.example.com/research/llm:2026-08-01",
        "command": ["python", "-m", "train", "--config", f"/etc/train/{name}.yaml"],
        "env": env,
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"cpu": "8", "memory": "64Gi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    spec = {
        "containers": [container],
        "restartPolicy": "OnFailure",
        "nodeSelector": {"node-type": "gpu"},
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    return {"name": name, "replicas": replicas, "template": {"metadata": {"labels": {"role": name}}, "spec": spec}}
