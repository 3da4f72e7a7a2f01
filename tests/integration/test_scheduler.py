"""The scheduler as a process on the real control plane: gangs start whole, wait with a reason, and take room that comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
PODS, GROUPS = "/api/v1/namespaces/{}/pods", "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]
"""


class Scheduler:
    """`vc-scheduler` for pods of one scheduler name."""

    def __init__(self, kubeconfig: Path, name: str, directory: Path) -> None:
        configuration = directory / "scheduler.conf"
        configuration.write_text(CONFIGURATION)
        self._log = directory / "log"
        self._command = [
            sys.executable, "-m", "scheduler", f"--kubeconfig={kubeconfig}", f"--scheduler-conf={configuration}",
            "--leader-elect=false", f"--scheduler-name={name}", "-v=3", "2>&1",
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log, env=os.environ)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(30)


@pytest.fixture
def scheduler(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Scheduler]:
    made = Scheduler(kubeconfig, namespace, tmp_path)
    yield made
    made.kill()


class Gangs:
    """Makes gangs in a namespace, on the nodes of a test, and looks at them."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: list[str]) -> None:
        self._api = plane.api
        self._namespace = namespace
        self._nodes = nodes

    def create(self, name: str, pods: int, cpu: str, minimum: int | None = None) -> None:
        spec = {"minMember": pods if minimum is None else minimum}
        self._api.create(GROUPS.format(self._namespace), {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name}, "spec": spec,
        })  # fmt: skip
        names = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self._nodes}]}
        for ordinal in range(pods):
            self._api.create(PODS.format(self._namespace), {
                "metadata": {
                    "name": f"{name}-w-{ordinal}", "annotations": {"scheduling.k8s.io/group-name": name},
                },
                "spec": {
                    "schedulerName": self._namespace,
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [names],
                    }}},
                    "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
                },
            })  # fmt: skip

    def phase(self, name: str) -> str:
        found: dict[str, Any] = self._api.get(f"{GROUPS.format(self._namespace)}/{name}")
        return str(found.get("status", {}).get("phase", ""))

    def message(self, name: str) -> str:
        found: dict[str, Any] = self._api.get(f"{GROUPS.format(self._namespace)}/{name}")
        conditions = found.get("status", {}).get("conditions", [])
        return next((held["message"] for held in conditions if held["type"] == "Unschedulable"), "")

    def bound(self, name: str) -> int:
        found: dict[str, Any] = self._api.get(PODS.format(self._namespace))
        return sum(
            pod["metadata"]["name"].startswith(f"{name}-") and bool(pod["spec"].get("nodeName"))
            for pod in found["items"]
        )

    def delete(self, name: str) -> None:
        found: dict[str, Any] = self._api.get(PODS.format(self._namespace))
        for pod in found["items"]:
            if pod["metadata"]["name"].startswith(f"{name}-"):
                self._api.delete(f"{PODS.format(self._namespace)}/{pod['metadata']['name']}")
        self._api.delete(f"{GROUPS.format(self._namespace)}/{name}")


@pytest.fixture
def gangs(control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]) -> Gangs:
    return Gangs(control_plane, namespace, kwok_nodes(4, resources={"cpu": "4", "memory": "8Gi"}))


@pytest.mark.usefixtures("scheduler")
def test_a_gang_that_fits_runs_whole_and_one_that_does_not_waits_until_room_comes(gangs: Gangs) -> None:
    gangs.create("first", 8, "1")
    assert wait_until(lambda: gangs.phase("first") == "Running", 60)
    assert gangs.bound("first") == 8
    gangs.create("second", 3, "4")
    assert wait_until(lambda: "3/3 tasks in gang unschedulable" in gangs.message("second")
                      or "Insufficient cpu" in gangs.message("second"), 60)  # fmt: skip
    assert gangs.bound("second") == 0
    assert gangs.phase("second") == "Inqueue"
    gangs.delete("first")
    assert wait_until(lambda: gangs.phase("second") == "Running", 60)
    assert gangs.bound("second") == 3


def test_after_kill_9_a_restarted_scheduler_goes_on_and_binds_nothing_twice(gangs: Gangs, scheduler: Scheduler) -> None:
    gangs.create("first", 4, "1")
    assert wait_until(lambda: gangs.bound("first") == 4, 60)
    scheduler.kill()
    gangs.create("second", 4, "1")
    scheduler.start()
    assert wait_until(lambda: gangs.phase("second") == "Running", 60)
    assert gangs.phase("first") == "Running"
    assert (gangs.bound("first"), gangs.bound("second")) == (4, 4)


def test_a_signal_ends_it_with_the_known_code(scheduler: Scheduler, gangs: Gangs) -> None:
    gangs.create("first", 1, "1")
    assert wait_until(lambda: gangs.bound("first") == 1, 60)
    assert scheduler.end() == 1
