"""`vc-scheduler` as a process, and gangs for it, for tests on the real control plane."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from cluster import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
PODS, GROUPS = "/api/v1/namespaces/{}/pods", "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]
"""


class Scheduler:
    """`vc-scheduler`, or another `module`, for pods of one scheduler name, with a configuration file, dumps and metrics of its own."""

    def __init__(
        self,
        kubeconfig: Path,
        name: str,
        directory: Path,
        *flags: str,
        elects: bool = False,
        module: str = "scheduler",
    ) -> None:
        self.directory = directory
        self.configuration = directory / "scheduler.conf"
        if not self.configuration.exists():
            self.configuration.write_text(CONFIGURATION)
        self.log = directory / "log"
        self._port = _free_port()
        self._command = [
            sys.executable, "-m", module, f"--kubeconfig={kubeconfig}", f"--scheduler-conf={self.configuration}",
            f"--leader-elect={str(elects).lower()}", f"--leader-elect-resource-namespace={name}",
            f"--scheduler-name={name}", f"--cache-dump-dir={directory}", "--enable-metrics",
            f"--listen-address=127.0.0.1:{self._port}", "-v=3", *flags, "2>&1",
        ]  # fmt: skip
        self.start()

    def start(self, *flags: str) -> None:
        with self.log.open("ab") as log:
            environment = {**os.environ, "DEBUG_SOCKET_DIR": str(self.directory)}
            self.process = subprocess.Popen([*self._command, *flags], cwd=ROOT, stdout=log, stderr=log, env=environment)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def metric(self, series: str) -> float | None:
        """The value of a series as `/metrics` shows it, None when it isn't there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        values = [float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series]
        return values[0] if values else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Gangs:
    """Makes gangs in a namespace, on the nodes of a test, and looks at them."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: list[str]) -> None:
        self._api = plane.api
        self._namespace = namespace
        self._nodes = nodes

    def create(
        self, name: str, pods: int, cpu: str, minimum: int | None = None, queue: str = "default", **more: Any
    ) -> None:
        spec = {"minMember": pods if minimum is None else minimum, "queue": queue, **more}
        self._api.create(GROUPS.format(self._namespace), {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name}, "spec": spec,
        })  # fmt: skip
        self.grow(name, 0, pods, cpu)

    def grow(self, name: str, first: int, count: int, cpu: str) -> None:
        """Add pods to a gang, numbered from `first`."""
        names = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self._nodes}]}
        for ordinal in range(first, first + count):
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

    def places(self, name: str) -> list[str]:
        """The nodes of a gang's bound pods, one entry a pod."""
        found: dict[str, Any] = self._api.get(PODS.format(self._namespace))
        mine = (pod for pod in found["items"] if pod["metadata"]["name"].startswith(f"{name}-"))
        return [pod["spec"]["nodeName"] for pod in mine if pod["spec"].get("nodeName")]

    def delete(self, name: str) -> None:
        found: dict[str, Any] = self._api.get(PODS.format(self._namespace))
        for pod in found["items"]:
            if pod["metadata"]["name"].startswith(f"{name}-"):
                self._api.delete(f"{PODS.format(self._namespace)}/{pod['metadata']['name']}")
        self._api.delete(f"{GROUPS.format(self._namespace)}/{name}")
