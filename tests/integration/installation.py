"""
An installation at work without a container engine: the processes of the rendered pods, on this machine.

Each runs with the very arguments, configuration files and environment of its container, as the service account of its
pod and with nothing but that account's token. Three things have to differ where no pod network is: addresses to listen
on, where files are mounted, and the way of the API server to the webhooks.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cluster import ControlPlane
from cluster.pki import Files
from hack import health

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "volcano-system"
ADMISSION = "volcano-admission"
SERVICE = f"/api/v1/namespaces/{SYSTEM}/services/volcano-admission-service"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


class Process:
    """The first container of a Deployment."""

    def __init__(
        self, plane: ControlPlane, objects: Sequence[dict[str, Any]], deployment: dict[str, Any], folder: Path
    ) -> None:
        self.name = deployment["metadata"]["name"]
        self._pod = deployment["spec"]["template"]["spec"]
        self._container = self._pod["containers"][0]
        self._folder: Path = folder / self.name
        self._folder.mkdir()
        self.health, self.port = free_port(), free_port()
        self._mounts = self._mount(objects)
        self.log = self._folder / "log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command(), f"--kubeconfig={self._kubeconfig(plane)}", *self._addresses()],
                cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **self._environment()},
            )  # fmt: skip

    @property
    def is_ready(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        return health.is_ready(self.health)

    def end(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(self._pod["terminationGracePeriodSeconds"])
        finally:
            self._process.kill()

    def _command(self) -> list[str]:
        """The console script as the module that it starts: it need not be installed."""
        scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
        module = scripts[self._container["command"][0]].partition(":")[0].removesuffix(".__main__")
        return [sys.executable, "-m", module, *map(self._local, self._container["args"])]

    def _addresses(self) -> list[str]:
        given = [f"--healthz-address=127.0.0.1:{self.health}"]
        if self.name == ADMISSION:
            return [*given, "--listen-address=127.0.0.1", f"--port={self.port}"]
        return [*given, f"--listen-address=127.0.0.1:{self.port}"]

    def _mount(self, objects: Sequence[dict[str, Any]]) -> dict[str, Path]:
        """Config maps as files, and empty directories: path in the container to path here, longest first."""
        maps = {found["metadata"]["name"]: found.get("data", {}) for found in objects if found["kind"] == "ConfigMap"}
        volumes = {volume["name"]: volume for volume in self._pod.get("volumes", ())}
        found = {}
        for mount in self._container.get("volumeMounts", ()):
            place = found[mount["mountPath"]] = self._folder / mount["name"]
            place.mkdir()
            volume = volumes[mount["name"]]
            for key, text in maps[volume["configMap"]["name"]].items() if "configMap" in volume else ():
                (place / key).write_text(text)
        return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))

    def _local(self, text: str) -> str:
        return next((text.replace(path, str(place)) for path, place in self._mounts.items() if path in text), text)

    def _environment(self) -> dict[str, str]:
        fields = {"metadata.namespace": SYSTEM}
        return {
            entry["name"]: self._local(entry["value"])
            if "value" in entry
            else fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
            for entry in self._container.get("env", ())
        }

    def _kubeconfig(self, plane: ControlPlane) -> Path:
        """A token of the pod's service account, and no more."""
        account = self._pod["serviceAccountName"]
        path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token"
        token = plane.api.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        file = self._folder / "kubeconfig"
        file.write_text(
            yaml.safe_dump({
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {
                    "server": plane.server, "certificate-authority": str(Files(plane.layout.pki).ca),
                }}],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": SYSTEM}}],
                "current-context": "c",
            })
        )  # fmt: skip
        return file


def route_webhooks(plane: ControlPlane, port: int) -> None:
    """Lead the API server's calls for the admission service to this machine; names and certificates stay."""
    plane.api.merge(SERVICE, {
        "spec": {
            "type": "ExternalName", "externalName": "localhost",
            "clusterIP": None, "clusterIPs": None, "ipFamilies": None, "ipFamilyPolicy": None, "selector": None,
        }
    })  # fmt: skip
    for kind in ("mutating", "validating"):
        for found in plane.api.items(f"{REGISTRATION}/{kind}webhookconfigurations"):
            patch = [
                {"op": "replace", "path": f"/webhooks/{number}/clientConfig/service/port", "value": port}
                for number, _ in enumerate(found["webhooks"])
            ]
            path = f"{REGISTRATION}/{kind}webhookconfigurations/{found['metadata']['name']}"
            plane.api.request("PATCH", path, patch, content_type="application/json-patch+json")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
