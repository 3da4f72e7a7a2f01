"""
A namespace as Volcano's Go processes leave it when they are scaled to zero: written from the specs, not by our code.

What differs from ours on purpose: statuses keep `runningDuration`, conditions come in the order of their last times,
controlled resources name each plugin and volume.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cluster import ControlPlane

Json = dict[str, Any]
BATCH, FLOW, SCHEDULING = "batch.volcano.sh/v1alpha1", "flow.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1"
THEN = "2026-11-01T06:00:00Z"
MUCH = "1k"
"""Cpu of a pod that no node takes."""


@dataclass
class Leftovers:
    """Makes the objects of one namespace; `scheduler` is the name that jobs and pods give."""

    plane: ControlPlane
    namespace: str
    scheduler: str
    nodes: list[str]
    queue: str
    jobs: dict[str, Json] = field(default_factory=dict)

    def path(self, group: str, plural: str) -> str:
        prefix = "/api/v1" if group == "v1" else f"/apis/{group}"
        return f"{prefix}/namespaces/{self.namespace}/{plural}"

    def create(self, plural: str, document: Json) -> Json:
        made: Json = self.plane.api.create(self.path(document["apiVersion"], plural), document)
        return made

    def status(self, path: str, status: Json) -> None:
        self.plane.api.merge(f"{path}/status", {"status": status})

    def add_queue(self, name: str, state: str) -> None:
        """Its parent and its state are the controllers', what is allocated is the scheduler's."""
        path = f"/apis/{SCHEDULING}/queues"
        self.plane.api.create(path, {
            "apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": name},
            "spec": {"weight": 1, "reclaimable": True, "parent": "root"},
        })  # fmt: skip
        self.status(f"{path}/{name}", {"state": state, "allocated": {"cpu": "0", "memory": "0"}, "reservation": {}})

    def add_job(
        self, name: str, phase: str, *, group: str = "", pods: str = "", passed: tuple[str, ...] = (), cpu: str = "1",
        owner: Json | None = None, metadata: Json | None = None, **more: Any,
    ) -> Json:  # fmt: skip
        """
        A job of two pods in `phase`, which came through the phases `passed`.

        `group` is the phase of its PodGroup, `pods` that of its pods; empty where there are none.
        """
        owners = {"ownerReferences": [owner]} if owner else {}
        job = self.create("jobs", {
            "apiVersion": BATCH, "kind": "Job", "metadata": {"name": name, **owners, **(metadata or {})},
            "spec": self.job_spec(cpu, **more),
        })  # fmt: skip
        counts = {pods.lower(): 2} if pods else {}
        self.status(f"{self.path(BATCH, 'jobs')}/{name}", {
            "state": {"phase": phase, "lastTransitionTime": THEN},
            "conditions": [{"status": seen, "lastTransitionTime": THEN} for seen in (*passed, phase)],
            "minAvailable": 2, **counts,
            **({"taskStatusCount": {"worker": {"phase": {pods: 2}}}} if pods else {}),
            "controlledResources": {f"plugin-{plugin}": plugin for plugin in ("env", "ssh", "svc")},
            **({"runningDuration": "1m3s", "version": 1} if phase in {"Aborted", "Completed", "Failed"} else {}),
        })  # fmt: skip
        if group:
            self.add_group(job, group, cpu)
        for ordinal in range(2) if pods else ():
            self.add_pod(job, ordinal, pods, cpu)
        if phase in {"Pending", "Running"}:
            self.add_plugin_objects(job)
        self.jobs[name] = job
        return job

    def job_spec(self, cpu: str, **more: Any) -> Json:
        """As the webhooks fill it in."""
        return {
            "schedulerName": self.scheduler, "queue": self.queue, "minAvailable": 2, "maxRetry": 3,
            "plugins": {"env": [], "ssh": [], "svc": []}, **more,
            "tasks": [{
                "name": "worker", "replicas": 2, "minAvailable": 2, "maxRetry": 3,
                "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
                "template": {"metadata": {}, "spec": self.pod_spec(cpu)},
            }],
        }  # fmt: skip

    def pod_spec(self, cpu: str) -> Json:
        container = {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": cpu}}}
        return {"restartPolicy": "Never", "containers": [container]}

    def add_group(self, job: Json, phase: str, cpu: str) -> None:
        total = {"1": "2", MUCH: "2k"}[cpu]
        least = {"cpu": total, "requests.cpu": total, "pods": "2", "count/pods": "2"}
        copied = {key: job["metadata"][key] for key in ("labels", "annotations") if key in job["metadata"]}
        self.create("podgroups", {
            "apiVersion": SCHEDULING, "kind": "PodGroup",
            "metadata": {
                "name": group_of(job), "namespace": self.namespace, **copied,
                "ownerReferences": [controller(job, "Job")],
            },
            "spec": {
                "minMember": 2, "minTaskMember": {"worker": 2}, "queue": self.queue, "minResources": least,
            },
            "status": {"phase": phase, **({"running": 2} if phase == "Running" else {})},
        })  # fmt: skip

    def add_pod(self, job: Json, ordinal: int, phase: str, cpu: str) -> None:
        """`phase` Pending has no node yet; others stand on one, where the simulated kubelet goes on with them."""
        name = job["metadata"]["name"]
        known = {
            "volcano.sh/task-index": str(ordinal), "volcano.sh/task-spec": "worker", "volcano.sh/job-name": name,
            "volcano.sh/queue-name": self.queue,
        }  # fmt: skip
        ended = {"Succeeded": {"stromboli.dev/run-seconds": "0"}}
        ended["Failed"] = ended["Succeeded"] | {"stromboli.dev/exit-code": "1"}
        self.create("pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"{name}-worker-{ordinal}", "ownerReferences": [controller(job, "Job")],
                "labels": {**known, "volcano.sh/job-namespace": self.namespace},
                "annotations": {
                    **known, "volcano.sh/job-version": "0", "volcano.sh/job-retry-count": "0",
                    "volcano.sh/template-uid": f"{name}-worker", "scheduling.k8s.io/group-name": group_of(job),
                    **ended.get(phase, {}),
                },
            },
            "spec": {
                **self.pod_spec(cpu), "schedulerName": self.scheduler,
                "hostname": f"{name}-worker-{ordinal}", "subdomain": name,
                **({"nodeName": self.nodes[ordinal]} if phase != "Pending" else {}),
            },
        })  # fmt: skip

    def add_plugin_objects(self, job: Json) -> None:
        """Those of svc and ssh. The keys are no keys: nobody may look at them."""
        name, head = job["metadata"]["name"], {"ownerReferences": [controller(job, "Job")]}
        hosts = [f"{name}-worker-{ordinal}.{name}" for ordinal in range(2)]
        selector = {"volcano.sh/job-name": name, "volcano.sh/job-namespace": self.namespace}
        self.create("services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **head},
            "spec": {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": True},
        })  # fmt: skip
        self.create("configmaps", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-svc", **head},
            "data": {"worker.host": "\n".join(hosts), "VC_WORKER_HOSTS": ",".join(hosts), "VC_WORKER_NUM": "2"},
        })  # fmt: skip
        self.create("secrets", {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-ssh", **head},
            "stringData": dict.fromkeys(("id_rsa", "id_rsa.pub", "authorized_keys", "config"), "of another build"),
        })  # fmt: skip
        self.plane.api.create(self.path("networking.k8s.io/v1", "networkpolicies"), {
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name, **head},
            "spec": {
                "podSelector": {"matchLabels": selector}, "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"podSelector": {"matchLabels": selector}}]}],
            },
        })  # fmt: skip

    def add_claim(self, name: str) -> None:
        self.create("persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        })  # fmt: skip

    def add_flow(self) -> None:
        """Its first job is done, its second one runs, the third one isn't there yet."""
        for step in ("load", "learn", "judge"):
            self.create("jobtemplates", {
                "apiVersion": FLOW, "kind": "JobTemplate", "metadata": {"name": step}, "spec": self.job_spec("1"),
            })  # fmt: skip
        flow = self.create("jobflows", {
            "apiVersion": FLOW, "kind": "JobFlow", "metadata": {"name": "flow"},
            "spec": {"jobRetainPolicy": "retain", "flows": [
                {"name": "load"},
                {"name": "learn", "dependsOn": {"targets": ["load"]}},
                {"name": "judge", "dependsOn": {"targets": ["learn"]}},
            ]},
        })  # fmt: skip
        owner = controller(flow, "JobFlow")
        for step, phase in (("load", "Completed"), ("learn", "Running")):
            made = {
                "volcano.sh/createdByJobTemplate": f"{self.namespace}.{step}",
                "volcano.sh/createdByJobFlow": f"{self.namespace}.flow",
            }
            pods = "Running" if phase == "Running" else "Succeeded"
            metadata = {"labels": made, "annotations": made}
            group = phase if phase == "Running" else ""  # that of a finished job is gone
            self.add_job(f"flow-{step}", phase, group=group, pods=pods, owner=owner, metadata=metadata)
        self.status(f"{self.path(FLOW, 'jobflows')}/flow", {
            "state": {"phase": "Running"}, "completedJobs": ["flow-load"], "runningJobs": ["flow-learn"],
            "conditions": {"flow-load": {"phase": "Completed", "createTime": THEN, "runningDuration": "1m3s"}},
            "jobStatusList": [{"name": f"flow-{step}", "state": phase, "restartCount": 0}
                              for step, phase in (("load", "Completed"), ("learn", "Running"))],
        })  # fmt: skip

    def add_cron(self) -> None:
        """One run is on its way; the next one is due once a year."""
        cron = self.create("cronjobs", {
            "apiVersion": BATCH, "kind": "CronJob", "metadata": {"name": "cron"},
            "spec": {
                "schedule": "0 6 1 1 *", "concurrencyPolicy": "Allow", "suspend": False,
                "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
                "jobTemplate": {"spec": self.job_spec("1")},
            },
        })  # fmt: skip
        metadata = {"annotations": {"volcano.sh/cronjob-scheduled-timestamp": THEN}}
        owner = controller(cron, "CronJob")
        job = self.add_job(
            "cron-29700360", "Running", group="Running", pods="Running", owner=owner, metadata=metadata
        )  # fmt: skip
        self.status(f"{self.path(BATCH, 'cronjobs')}/cron", {
            "lastScheduleTime": THEN,
            "active": [{"apiVersion": BATCH, "kind": "Job", "name": "cron-29700360", "namespace": self.namespace,
                        "uid": job["metadata"]["uid"]}],
        })  # fmt: skip


def group_of(job: Json) -> str:
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def controller(owner: Json, kind: str) -> Json:
    """The reference that makes it the controller of something."""
    return {
        "apiVersion": owner["apiVersion"], "kind": kind, "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
