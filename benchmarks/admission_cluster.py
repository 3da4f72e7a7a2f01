"""
Jobs created a second through the API server, with our webhooks against webhooks that allow everything at once.

    python -m benchmarks.admission_cluster [--jobs 1000] [--rounds 2]

Two replicas each time, one of which is asked to mutate and the other to validate; 32 creations in flight. The baseline
is two processes of the same HTTPS server that answer `allowed` without looking at the object. Rounds alternate on one
control plane.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import yaml

from benchmarks.calibration import conditions
from benchmarks.controllers import job
from benchmarks.processes import ROOT, apply_crds
from cluster import ControlPlane
from cluster.options import Options
from cluster.ports import choose
from cluster.processes import wait_until
from generated.batch.v1alpha1 import JOBS
from generated.core.v1 import NAMESPACES
from generated.scheduling.v1beta1 import QUEUES
from hack.health import is_ready
from runtime.certs import ServingPair, create_pair, utc_now
from runtime.client import Client
from runtime.http1 import HttpRequest, HttpResponse
from runtime.https import HttpsServer
from runtime.kubeconfig import load
from runtime.servingtls import ServingTls
from runtime.transport import Transport

TARGET = 0.8
IN_FLIGHT = 32
PATHS = ("/jobs/mutate", "/jobs/validate")
MAX_BODY = 3 * 1024 * 1024


class _Uid(msgspec.Struct):
    uid: str


class _Review(msgspec.Struct):
    request: _Uid


def allow(request: HttpRequest) -> HttpResponse:
    """Say yes to everything."""
    uid = msgspec.json.decode(request.body, type=_Review).request.uid
    answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": uid, "allowed": True}}
    return HttpResponse(200, msgspec.json.encode(answer))


async def serve(port: int, directory: Path) -> None:
    """The baseline, until killed."""
    tls = ServingTls()
    tls.install((directory / "tls.crt").read_bytes(), (directory / "tls.key").read_bytes())
    await HttpsServer(allow, tls.context, host="127.0.0.1", port=port, max_body=MAX_BODY).start()
    await asyncio.Event().wait()


def configurations() -> list[dict[str, Any]]:
    """Those of jobs, as they are shipped."""
    shipped = yaml.safe_load_all((ROOT / "config" / "webhooks" / "manifests.yaml").read_text())
    return [found for found in shipped if found and found["webhooks"][0]["clientConfig"]["service"]["path"] in PATHS]


@contextmanager
def replicas(flavour: str, plane: ControlPlane, pair: ServingPair, directory: Path) -> Iterator[None]:
    """Two processes, asked by the API server from now on."""
    processes = []
    for path, configuration in zip(PATHS, sorted(configurations(), key=lambda c: c["kind"]), strict=True):
        port, health = choose(2)
        if flavour == "allow":
            command = ["-m", "benchmarks.admission_cluster", "--serve", str(port), "--directory", str(directory)]
        else:
            command = [
                *("-m", "webhooks", f"--kubeconfig={plane.kubeconfig}", f"--port={port}", "--kube-api-qps=1000"),
                *("--webhook-namespace=default", "--webhook-service-name=localhost", f"--enabled-admission={path}"),
                *(f"--tls-cert-file={directory}/tls.crt", f"--tls-private-key-file={directory}/tls.key"),
                *(f"--ca-cert-file={directory}/ca.crt", "--manage-webhook-ca-bundle=false", "--enable-healthz"),
                f"--healthz-address=127.0.0.1:{health}",
            ]
        log = (directory / f"{flavour}-{port}.log").open("wb")
        processes.append(subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=log, stderr=log))
        if flavour != "allow" and not wait_until(partial(_is_ready, health, directory / "ca.crt"), 60):
            raise SystemExit(f"the webhook manager did not get ready:\n{Path(log.name).read_text()[-2000:]}")
        plane.apply_webhooks([configuration], f"https://localhost:{port}", pair.ca)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _is_ready(port: int, ca: Path) -> bool:
    return is_ready(port, ssl.create_default_context(cafile=ca), host="localhost")


async def create_all(plane: ControlPlane, namespace: str, jobs: int) -> float:
    """Creations a second."""
    async with Transport(load(str(plane.kubeconfig)), in_flight=IN_FLIGHT) as transport:
        client = Client(transport)
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})

        async def create(number: int) -> None:
            await client.create(JOBS, job(f"j-{number}", 10), namespace)

        async with asyncio.timeout(60):
            while True:  # API servers hear of a configuration a moment later
                try:
                    await create(-1)
                except Exception:  # noqa: BLE001  # whatever it is, it must pass
                    await asyncio.sleep(0.5)
                else:
                    break
        begun = time.perf_counter()
        await asyncio.gather(*(create(number) for number in range(jobs)))
        return jobs / (time.perf_counter() - begun)


def compare(plane: ControlPlane, options: argparse.Namespace, directory: Path) -> None:
    """Rounds in turn, then the best of each."""
    pair = create_pair(["localhost"], utc_now())
    for file, text in (("tls.crt", pair.cert), ("tls.key", pair.key), ("ca.crt", pair.ca)):
        (directory / file).write_bytes(text)
    apply_crds(plane)
    kind = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind}
    place = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
    plane.api.apply(place, {**kind, "metadata": {"name": "default"}, "spec": {"weight": 1}})
    rates: dict[str, list[float]] = {"ours": [], "allow": []}
    for number in range(options.rounds):
        for flavour, found in rates.items():
            with replicas(flavour, plane, pair, directory):
                rate = asyncio.run(create_all(plane, f"{flavour}-{number}", options.jobs))
            print(f"round {number + 1} {flavour:5} {rate:7,.0f} jobs/s", flush=True)
            found.append(rate)
    ours, baseline = max(rates["ours"]), max(rates["allow"])
    print(f"best: ours {ours:,.0f}/s, allow {baseline:,.0f}/s, ratio {ours / baseline:.2f} (to reach {TARGET})")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.directory))
        return
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        plane = ControlPlane("benchmark-admission", directory=directory / "plane", options=Options(heartbeats=False))
        with plane:
            compare(plane, options, directory)


if __name__ == "__main__":
    main()
