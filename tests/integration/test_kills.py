"""
kill -9 at any point: the sample of `make run` ends as it would have, whichever process dies and whenever.

Each run kills one component three times at random moments and starts it again at once. The seed is printed.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from cluster import ControlPlane
from cluster.ports import choose
from cluster.processes import wait_until
from hack.health import is_ready
from tests.integration.conftest import ROOT

PATIENCE = 90.0
KILLS = 3
SPAN = 7.0
"""Seconds from the submission in which the kills fall: the sample takes about that long."""
COMPONENTS = ("webhooks", "controllers", "scheduler")


class Component:
    """One of our processes."""

    def __init__(self, module: str, directory: Path, *flags: str) -> None:
        self._log = directory / f"{module}.log"
        self._command = [sys.executable, "-m", module, *flags, "-v=2"]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log)

    def kill_and_restart(self) -> None:
        self.end()
        self._process = self._start()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class System:
    """All three components at work for the jobs of one namespace."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path, namespace: str, directory: Path) -> None:
        self.api = plane.api
        self.namespace = namespace
        port, health = choose(2)
        common = (f"--kubeconfig={kubeconfig}",)
        self.components = {
            "webhooks": Component(
                "webhooks", directory, *common, f"--port={port}", f"--webhook-namespace={namespace}",
                "--webhook-service-name=localhost", "--tls-secret-name=certificate",
                "--enable-healthz", f"--healthz-address=127.0.0.1:{health}",
            ),
        }  # fmt: skip
        shipped = yaml.safe_load_all((ROOT / "config" / "webhooks" / "manifests.yaml").read_text())
        self.configurations = [document for document in shipped if document]
        plane.apply_webhooks(self.configurations, f"https://localhost:{port}", b"")
        assert wait_until(lambda: is_ready(health), PATIENCE)
        conf = f"--scheduler-conf={ROOT / 'hack' / 'samples' / 'scheduler.conf'}"
        names = f"--scheduler-name={namespace}"
        self.components |= {
            "controllers": Component("controllers", directory, *common, "--leader-elect=false", names),
            "scheduler": Component("scheduler", directory, *common, "--leader-elect=false", names, conf),
        }

    def end(self) -> None:
        for component in self.components.values():
            component.end()
        for document in self.configurations:
            plural = f"{document['kind'].lower()}s"
            self.api.delete(f"/apis/admissionregistration.k8s.io/v1/{plural}/{document['metadata']['name']}")

    def submit(self, nodes: list[str]) -> None:
        """Both jobs, once their queue is open."""
        assert wait_until(self._is_queue_open, PATIENCE)
        place = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{self.namespace}/jobs"
        only = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}}
        for job in yaml.safe_load_all((ROOT / "hack" / "samples" / "jobs.yaml").read_text()):
            job["spec"]["schedulerName"] = self.namespace
            spec = job["spec"]["tasks"][0]["template"]["spec"]
            spec["affinity"] = {"nodeAffinity": required}
            self.api.create(place, job)

    def _is_queue_open(self) -> bool:
        queues = self.api.get("/apis/scheduling.volcano.sh/v1beta1/queues")["items"]
        states = {queue["metadata"]["name"]: queue.get("status", {}).get("state") for queue in queues}
        return states.get("default") == "Open"

    def jobs(self) -> dict[str, dict[str, Any]]:
        found = self.api.get(f"/apis/batch.volcano.sh/v1alpha1/namespaces/{self.namespace}/jobs")
        return {job["metadata"]["name"]: job.get("status", {}) for job in found["items"]}

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return found


class Census:
    """Looks at the pods of a namespace all the time: which UIDs and nodes each name has had."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._plane = plane
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seen: dict[str, set[tuple[str, str]]] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        api = ControlPlane(self._plane.name, directory=self._plane.layout.root).api
        while not self._is_over.wait(0.1):
            for pod in api.get(self._path)["items"]:
                identity = (pod["metadata"]["uid"], pod["spec"].get("nodeName", ""))
                self.seen.setdefault(pod["metadata"]["name"], set()).add(identity)
        api.close()


@pytest.fixture
def system(control_plane: ControlPlane, kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[System]:
    with ExitStack() as stack:
        made = System(control_plane, kubeconfig, namespace, tmp_path)
        stack.callback(made.end)
        yield made


@pytest.mark.parametrize("victim", COMPONENTS)
def test_the_sample_ends_the_same_whatever_is_killed(
    victim: str, system: System, control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    seed = time.time_ns() % 100_000
    print(f"seed={seed}")  # noqa: T201  # shown when the test fails
    rand = random.Random(seed)
    nodes = kwok_nodes(10, resources={"cpu": "8", "memory": "32Gi"})
    with Census(control_plane, namespace) as census:
        system.submit(nodes)
        begun = time.monotonic()
        for moment in sorted(rand.uniform(0, SPAN) for _ in range(KILLS)):
            threading.Event().wait(max(0.0, begun + moment - time.monotonic()))
            system.components[victim].kill_and_restart()
        assert wait_until(
            lambda: [job.get("state", {}).get("phase") for job in system.jobs().values()] == ["Completed"] * 2, PATIENCE
        ), system.jobs()
    counts = {
        name: (job.get("succeeded"), job.get("failed", 0), job.get("retryCount", 0))
        for name, job in system.jobs().items()
    }
    assert counts == {"first": (8, 0, 0), "second": (6, 0, 0)}
    names = {f"first-worker-{n}" for n in range(8)} | {f"second-worker-{n}" for n in range(6)}
    assert set(census.seen) == names
    for identities in census.seen.values():
        assert len({uid for uid, _ in identities}) == 1
        assert len({node for _, node in identities if node}) == 1
