"""Jobs whose containers really run, and what happens to them when a leader goes."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.processes import wait_until
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Kubectl

SYSTEM = "volcano-system"
MINUTES = 300.0
IMAGE = "busybox:1.36"


def job(name: str, replicas: int, command: str, plugins: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "minAvailable": replicas, "plugins": plugins, "tasks": [{
            "name": "worker", "replicas": replicas,
            "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
            "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": IMAGE, "command": ["sh", "-c", command],
                 "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}},
            ]}},
        }]},
    }  # fmt: skip


def phase(kubectl: Kubectl, namespace: str, name: str) -> str:
    found = kubectl.get("jobs.batch.volcano.sh", name, f"--namespace={namespace}")
    return str(found[0].get("status", {}).get("state", {}).get("phase", "")) if found else ""


def submit(kubectl: Kubectl, namespace: str, manifest: dict[str, Any]) -> None:
    kubectl.run("create", f"--namespace={namespace}", "--filename=-", objects=[manifest])


def test_a_gang_finds_its_members_by_name_and_completes(kubectl: Kubectl, namespace: str) -> None:
    command = (
        'test $(wc -l < /etc/volcano/worker.host) = 3 && nslookup "$(head -n1 /etc/volcano/worker.host)" && sleep 2'
    )
    submit(kubectl, namespace, job("gang", 3, command, {"svc": [], "env": []}))
    assert wait_until(lambda: phase(kubectl, namespace, "gang") == "Completed", MINUTES), kubectl.run(
        "describe", "jobs.batch.volcano.sh", f"--namespace={namespace}"
    )


def test_a_job_that_can_never_start_is_refused(kubectl: Kubectl, namespace: str) -> None:
    manifest = job("wrong", 2, "true", {})
    manifest["spec"]["minAvailable"] = 5
    with pytest.raises(DeployError, match="job 'minAvailable' should not be greater than total replicas"):
        submit(kubectl, namespace, manifest)


@pytest.mark.parametrize("lease", ["volcano", "vc-controller-manager"])
def test_running_pods_outlive_their_leader_and_new_jobs_start_after_it(
    kubectl: Kubectl, namespace: str, lease: str
) -> None:
    submit(kubectl, namespace, job("long", 2, "sleep 3600", {}))
    assert wait_until(lambda: phase(kubectl, namespace, "long") == "Running", MINUTES)
    before = uids(kubectl, namespace)
    assert len(before) == 2
    [held] = kubectl.get("lease", lease, f"--namespace={SYSTEM}")
    holder = held["spec"]["holderIdentity"].rpartition("_")[0]
    kubectl.run("delete", "pod", holder, f"--namespace={SYSTEM}", "--wait=false")
    submit(kubectl, namespace, job("next", 2, "true", {}))
    assert wait_until(lambda: phase(kubectl, namespace, "next") == "Completed", MINUTES)
    assert uids(kubectl, namespace) == before


def uids(kubectl: Kubectl, namespace: str) -> set[str]:
    """The pods of the job that goes on."""
    selector = "--selector=volcano.sh/job-name=long"
    return {pod["metadata"]["uid"] for pod in kubectl.get("pods", f"--namespace={namespace}", selector)}
