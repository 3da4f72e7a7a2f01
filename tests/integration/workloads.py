"""Volcano jobs on the real control plane, for tests in which scheduler and controllers are both at work."""

from __future__ import annotations

from typing import Any

from cluster import ControlPlane
from tests.integration.schedulers import GROUPS, PODS

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
Json = dict[str, Any]


def task(name: str, replicas: int, cpu: str | None = "1", *, priority: str = "", **more: Any) -> Json:
    """A task of a job. `cpu` None asks for nothing; `more` are fields of the pod, `labels`, or `partitionPolicy`."""
    requests = {"resources": {"requests": {"cpu": cpu}}} if cpu is not None else {}
    container = {"name": "main", "image": "busybox", **requests, "ports": more.pop("ports", [])}
    labels, policy = more.pop("labels", {}), more.pop("partitionPolicy", None)
    if priority:
        more["priorityClassName"] = priority
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container], **more}}
    made = {"name": name, "replicas": replicas, "template": template}
    return made | ({"partitionPolicy": policy} if policy else {})


class Workloads:
    """Makes jobs in a namespace for one scheduler, and looks at them."""

    def __init__(self, plane: ControlPlane, namespace: str, scheduler: str) -> None:
        self._api = plane.api
        self._namespace, self._scheduler = namespace, scheduler
        self._jobs, self._pods = JOBS.format(namespace), PODS.format(namespace)

    def create(self, name: str, *tasks: Json, minimum: int | None = None, queue: str = "default", **spec: Any) -> None:
        """A job; all of its pods are needed unless `minimum` says otherwise."""
        count = sum(each["replicas"] for each in tasks)
        self._api.create(self._jobs, {
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {
                "schedulerName": self._scheduler, "queue": queue, "tasks": list(tasks),
                "minAvailable": count if minimum is None else minimum, **spec,
            },
        })  # fmt: skip

    def delete(self, name: str) -> None:
        self._api.delete(f"{self._jobs}/{name}")

    def pods(self, name: str) -> list[Json]:
        """The pods of a job that aren't being deleted."""
        found = self._api.get(self._pods, labelSelector=f"volcano.sh/job-name={name}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def running(self, *names: str) -> tuple[int, ...]:
        """How many pods of each job run."""
        return tuple(sum(pod["status"].get("phase") == "Running" for pod in self.pods(name)) for name in names)

    def places(self, name: str) -> list[str]:
        """The nodes of a job's bound pods."""
        return sorted(pod["spec"]["nodeName"] for pod in self.pods(name) if pod["spec"].get("nodeName"))

    def phase(self, name: str) -> str:
        found: Json = self._api.get(f"{self._jobs}/{name}")
        return str(found.get("status", {}).get("state", {}).get("phase", ""))

    def group(self, name: str) -> Json:
        """The PodGroup of a job, empty before there is one."""
        found: list[Json] = self._api.get(GROUPS.format(self._namespace))["items"]
        return next((each for each in found if each["metadata"]["name"].startswith(f"{name}-")), {})

    def group_phase(self, name: str) -> str:
        return str(self.group(name).get("status", {}).get("phase", ""))

    def message(self, name: str) -> str:
        """Why the PodGroup of a job waits."""
        conditions = self.group(name).get("status", {}).get("conditions", [])
        return next((held["message"] for held in conditions if held["type"] == "Unschedulable"), "")

    def evictions(self) -> list[str]:
        """The pods that were told of their eviction."""
        events: list[Json] = self._api.get(f"/api/v1/namespaces/{self._namespace}/events")["items"]
        return sorted(
            event["involvedObject"]["name"]
            for event in events
            if event["reason"] == "Evict" and event["involvedObject"]["kind"] == "Pod"
        )
