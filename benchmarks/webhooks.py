"""
How many Jobs a second one core validates over TLS.

    python -m benchmarks.webhooks [--seconds 4] [--rounds 2] [--connections 16]

The reviews are of Jobs of 10 different tasks of 2 containers with probes and 3 volumes. `different`: no two templates
of the whole load are equal. `identical`: the same Job again and again. Server and load are processes of their own on
a core each, as in `benchmarks.admission`; that the answer is right is checked before anything is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import selectors
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.admission import ROOT, Figures, connect, cpu_seconds, exchange, pin
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue, QueueStatus
from runtime.admission_server import AdmissionServer
from runtime.certs import create_pair, utc_now
from runtime.client import Client
from runtime.informers import Informers
from runtime.servingtls import ServingTls
from webhooks import remembering
from webhooks.blueprint import Context
from webhooks.jobs.validation import JobRules
from webhooks.readers import Readers

TARGETS = {"different": 1_000, "identical": 3_000}
DIFFERENT = 2_000
"""Jobs of the load in which no template is equal to another: more than the server remembers."""


def container(name: str, number: int) -> dict[str, Any]:
    """A container with probes and mounts."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    return {
        "name": name,
        "image": "registry.example.com/research/llm:2026-08-01",
        "command": ["python", "-m", "train", "--shard", str(number)],
        "env": [{"name": "SHARD", "value": str(number)}, {"name": "NODE", "valueFrom": NODE_NAME}],
        "ports": [{"name": "web", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"cpu": "8", "memory": "64Gi"}},
        "livenessProbe": {**probe, "failureThreshold": 3, "successThreshold": 1},
        "readinessProbe": {**probe, "failureThreshold": 3, "successThreshold": 1},
        "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in ("scratch", "config", "data")],
    }


NODE_NAME = {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}


def task(index: int, number: int) -> dict[str, Any]:
    """A task whose template differs from every other one of another number."""
    spec = {
        "containers": [container("main", number), container("helper", number)],
        "restartPolicy": "OnFailure",
        "nodeSelector": {"node-type": "gpu"},
        "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {"name": "config", "configMap": {"name": "settings", "defaultMode": 420}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    }
    template = {"metadata": {"labels": {"role": f"task-{index}"}}, "spec": spec}
    return {"name": f"task-{index}", "replicas": 4, "minAvailable": 4, "maxRetry": 3, "template": template}


def review(number: int) -> bytes:
    """A review of a Job; those of different numbers have no template in common."""
    tasks = [task(index, number * 10 + index) for index in range(10)]
    metadata = {"name": f"train-{number}", "namespace": "research", "uid": f"00000000-0000-0000-0000-{number:012}"}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"queue": "default", "minAvailable": 40, "maxRetry": 3, "plugins": {"env": []}, "tasks": tasks},
    }
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"},
        "name": f"train-{number}",
        "namespace": "research",
        "operation": "CREATE",
        "userInfo": {"username": "jane"},
        "object": job,
        "oldObject": None,
    }
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def context() -> Context:
    """Readers whose cache holds the queue."""
    client: Any = Client.__new__(Client)
    readers = Readers(client, Informers(client))
    store: Any = readers.lister(QueueLister).lister
    store.put(Queue(metadata=ObjectMeta(name="default"), status=QueueStatus(state="Open")))
    return Context(readers)


async def serve(directory: Path) -> None:
    """Print the port, then serve until killed."""
    pin(1)
    tls = ServingTls()
    tls.install(*((directory / name).read_bytes() for name in ("cert.pem", "key.pem")))
    server = AdmissionServer([JobRules(context()).handler()], tls, host="127.0.0.1", port=0, heard=remembering.heard)
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()


@contextmanager
def server_process(directory: Path) -> Iterator[tuple[int, int]]:
    """A serving process; gives its pid and port."""
    command = [sys.executable, "-m", "benchmarks.webhooks", "--serve", "--directory", str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def http(body: bytes) -> bytes:
    """The whole request."""
    head = (
        "POST /jobs/validate?timeout=10s HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
    )
    return head.encode() + body


def check_allowed(client: ssl.SSLSocket) -> int:
    """Read an answer, see that it allows, and give its size on the wire."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += client.recv(65536)
    assert json.loads(body)["response"]["allowed"] is True, body
    return len(head) + 4 + length


def load(pid: int, port: int, directory: Path, requests: Sequence[bytes], options: argparse.Namespace) -> Figures:
    """Send as fast as answers come, one request in flight on each connection."""
    tls = ssl.create_default_context(cafile=str(directory / "ca.pem"))
    coming = itertools.cycle(requests)
    clients = [connect(port, tls) for _ in range(options.connections)]
    selector = selectors.DefaultSelector()
    size = 0
    for client in clients:
        client.sendall(next(coming))
        size = check_allowed(client)
        client.sendall(next(coming))
        selector.register(client, selectors.EVENT_READ, client)
    done, started, cpu, own = 0, time.perf_counter(), cpu_seconds(pid), time.process_time()
    while time.perf_counter() - started < options.seconds:
        for key, _ in selector.select():
            exchange(key.data, next(coming), size)
            done += 1
    wall = time.perf_counter() - started
    figures = Figures(done / wall, done / (cpu_seconds(pid) - cpu), done / (time.process_time() - own))
    for client in clients:
        client.close()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.directory))
        return
    pin(0)
    loads = {"different": [http(review(number)) for number in range(DIFFERENT)], "identical": [http(review(0))]}
    print(f"reviews of {len(review(0)):,} bytes, {options.connections} connections, one core")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pair = create_pair(["localhost"], utc_now())
        for file, text in (("cert.pem", pair.cert), ("key.pem", pair.key), ("ca.pem", pair.ca)):
            (directory / file).write_bytes(text)
        for kind, requests in loads.items():
            for _ in range(options.rounds):
                with server_process(directory) as (pid, port):
                    found = load(pid, port, directory, requests, options)
                print(
                    f"{kind:10} {found.wall:7,.0f}/s wall {found.server_cpu:7,.0f}/s of server CPU"
                    f" {found.load_cpu:8,.0f}/s of load CPU   target {TARGETS[kind]:,}"
                )


if __name__ == "__main__":
    main()
