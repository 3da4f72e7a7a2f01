"""Webhook managers as processes behind one address, as a Service would spread requests over them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from cluster import ControlPlane
from cluster.processes import wait_until
from hack import health
from runtime.certs import ServingPair
from runtime.errors import ApiError, NotFound
from tests.integration.conftest import ROOT
from tests.integration.test_admission_certificates import certificate_at, mount
from tests.integration.test_webhooks_jobs import MANIFESTS, PLURALS, REGISTRATION, free_port

Json = dict[str, Any]
PATIENCE = 60.0
_CHUNK = 65536


class Relay:
    """Passes connections on to the first of the ports, beginning at a later one each time, that takes them."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        self._turn = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = self._connected()
        if server is None:
            client.close()
            return
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()
        for side in (client, server):
            side.close()

    def _connected(self) -> socket.socket | None:
        self._turn += 1
        for offset in range(len(self._ports)):
            port = self._ports[(self._turn + offset) % len(self._ports)]
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", port), timeout=30)
        return None


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for side in (source, sink):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)


class Replicas:
    """Managers that serve all paths with the certificate in a folder."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path, folder: Path, *, count: int = 2) -> None:
        self.plane = plane
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._ports = [(free_port(), free_port()) for _ in range(count)]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._relay = Relay([port for port, _ in self._ports])
        self.configurations = [
            document for file in MANIFESTS for document in yaml.safe_load_all((ROOT / file).read_text()) if document
        ]
        self.paths = [each["webhooks"][0]["clientConfig"]["service"]["path"] for each in self.configurations]

    def install(self, pair: ServingPair) -> None:
        """The shipped configurations, pointed at the relay, and the certificate."""
        self.mount(pair)
        self.plane.apply_webhooks(self.configurations, f"https://localhost:{self._relay.port}", b"")

    def mount(self, pair: ServingPair) -> None:
        """Put another certificate in place."""
        mount(self._folder, pair)

    def serve(self, pair: ServingPair) -> bool:
        """Whether all that run show this certificate."""
        shown = (certificate_at(self._ports[number][0]) for number in self._processes)
        return all(certificate == pair.cert for certificate in shown)

    def start(self, number: int, *flags: str) -> None:
        """Start one and wait until it is ready."""
        port, health = self._ports[number]
        command = [
            *(sys.executable, "-m", "webhooks", f"--kubeconfig={self._kubeconfig}", f"--port={port}"),
            *("--webhook-namespace=default", "--webhook-service-name=localhost"),
            *(f"--tls-cert-file={self._folder}/tls.crt", f"--tls-private-key-file={self._folder}/tls.key"),
            *(f"--ca-cert-file={self._folder}/ca.crt", f"--enabled-admission={','.join(self.paths)}"),
            *("--enable-healthz", f"--healthz-address=127.0.0.1:{health}", *flags),
        ]
        log = self._folder / f"log-{number}"
        with log.open("ab") as sink:
            self._processes[number] = subprocess.Popen(
                command, cwd=ROOT, stdout=sink, stderr=sink, env=dict(os.environ)
            )
        assert wait_until(lambda: is_ready(health), PATIENCE), log.read_text()

    def stop(self, number: int, how: signal.Signals = signal.SIGTERM) -> None:
        """End one, and wait until it has."""
        process = self._processes.pop(number, None)
        if process is not None:
            process.send_signal(how)
            process.wait(PATIENCE)

    def remove(self) -> None:
        """End all, and take the configurations away."""
        for number in list(self._processes):
            self.stop(number, signal.SIGKILL)
        for each in self.configurations:
            with contextlib.suppress(NotFound):
                self.plane.api.delete(f"{REGISTRATION}/{PLURALS[each['kind']]}/{each['metadata']['name']}")
        self._relay.close()


def is_ready(port: int) -> bool:
    """The health port shows the same certificate; who it is does not matter here."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return health.is_ready(port, context)


@contextlib.contextmanager
def replicas(
    plane: ControlPlane, kubeconfig: Path, folder: Path, pair: ServingPair, *flags: str, count: int = 2
) -> Iterator[Replicas]:
    """So many running managers, which judge from now on."""
    made = Replicas(plane, kubeconfig, folder, count=count)
    try:
        made.install(pair)
        for number in range(count):
            made.start(number, *flags)
        bad = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "never"},
            "spec": {},
        }
        # API servers hear of a configuration a moment later.
        assert wait_until(lambda: "No task specified" in refusal(plane, bad, "default"), PATIENCE)
        yield made
    finally:
        made.remove()


def refusal(plane: ControlPlane, document: Json, namespace: str) -> str:
    """Why the server would not create it."""
    group, kind = document["apiVersion"], document["kind"]
    try:
        plane.api.request(
            "POST", f"/apis/{group}/namespaces/{namespace}/{kind.lower()}s", document, query={"dryRun": "All"}
        )
    except ApiError as error:
        return error.status.message
    return ""
