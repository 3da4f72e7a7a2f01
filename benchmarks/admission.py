"""
How many AdmissionReviews a second one core answers over TLS.

    python -m benchmarks.admission [--seconds 5] [--rounds 3] [--connections 16]

A server in a process of its own, bound to one core, mutates Jobs of 4 KB: typed decode, defaults, JSON patch. The load
comes from a second process on another core: prepared bytes over kept-alive TLS connections, one request in flight on
each. Rounds alternate with a baseline, the same handler behind aiohttp's server, which tells the machine's mood from
ours. Beside requests a second (wall) stands requests a second of the server's own CPU time, which a shared machine
disturbs less, and what the load generator could have sent by its own CPU time: it must be far above the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import selectors
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from benchmarks.admission_sample import HANDLER, review
from runtime.admission_server import MAX_BODY, AdmissionServer
from runtime.certs import create_pair, utc_now
from runtime.http1 import HttpRequest, HttpResponse
from runtime.servingtls import ServingTls

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = 6_000
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Figures:
    """Requests a second: by the clock, by the server's CPU time, by the load generator's CPU time."""

    wall: float
    server_cpu: float
    load_cpu: float


def pin(core: int) -> None:
    """Keep this process on one core, where the system can do so."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


async def serve(flavour: str, tls: ServingTls) -> None:
    """Print the port, then serve until killed."""
    pin(1)
    server = AdmissionServer([HANDLER], tls, host="127.0.0.1", port=0)
    port = await serve_by_aiohttp(server, tls) if flavour == "aiohttp" else await serve_by_ours(server)
    print(port, flush=True)
    await asyncio.Event().wait()


async def serve_by_ours(server: AdmissionServer) -> int:
    """The server as it is."""
    await server.start()
    return server.port


async def serve_by_aiohttp(server: AdmissionServer, tls: ServingTls) -> int:
    """The same routes behind aiohttp."""

    async def handle(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.read()
        answer = server.handle(HttpRequest(request.method, request.path, request.query_string, headers, body, True))
        assert isinstance(answer, HttpResponse)
        return web.Response(status=answer.status, body=answer.body, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/jobs/mutate", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls.context())
    await site.start()
    return int(runner.addresses[0][1])


@contextmanager
def server_process(flavour: str, directory: Path) -> Iterator[tuple[int, int]]:
    """A serving process; gives its pid and port."""
    command = [sys.executable, "-m", "benchmarks.admission", "--serve", flavour, "--directory", str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(pid: int, port: int, ca: Path, seconds: float, connections: int) -> Figures:
    """Send as fast as answers come, one request in flight on each connection."""
    body = review()
    head = (
        "POST /jobs/mutate?timeout=10s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    request = head.encode() + body
    context = ssl.create_default_context(cafile=str(ca))
    selector = selectors.DefaultSelector()
    clients = [connect(port, context) for _ in range(connections)]
    for client in clients:
        client.sendall(request)
        answer = check_answer(client)
        client.sendall(request)
        selector.register(client, selectors.EVENT_READ, client)
    warm_up_until = time.perf_counter() + 0.5
    done, started, cpu, own = 0, 0.0, 0.0, 0.0
    while not started or time.perf_counter() - started < seconds:
        if not started and time.perf_counter() > warm_up_until:
            done, started, cpu, own = 0, time.perf_counter(), cpu_seconds(pid), time.process_time()
        for key, _ in selector.select():
            exchange(key.data, request, answer)
            done += 1
    wall = time.perf_counter() - started
    figures = Figures(done / wall, done / (cpu_seconds(pid) - cpu), done / (time.process_time() - own))
    for client in clients:
        client.close()
    return figures


def connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """A TLS connection without delays by Nagle's algorithm."""
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname="localhost")


def exchange(client: ssl.SSLSocket, request: bytes, size: int) -> None:
    """Read one answer of the known size, send the next request."""
    missing = size
    while missing > 0:
        missing -= len(client.recv(65536))
    client.sendall(request)


def check_answer(client: ssl.SSLSocket) -> int:
    """Read the first answer, see that it is a patch, and give its size on the wire."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += client.recv(65536)
    assert json.loads(body)["response"]["patchType"] == "JSONPatch", body
    return len(head) + 4 + length


def calibrate() -> float:
    """Typed decodes a second of the sample review on this core: how fast the machine is just now."""
    body = review()
    started = time.process_time()
    count = 0
    while (spent := time.process_time() - started) < 0.3:
        for _ in range(200):
            msgspec.json.decode(body)
        count += 200
    return count / spent


def measure(options: argparse.Namespace, directory: Path) -> dict[str, list[Figures]]:
    """All rounds of all flavours."""
    results: dict[str, list[Figures]] = {"ours": [], "aiohttp": []}
    for number in range(options.rounds):
        for flavour, figures in results.items():
            speed = calibrate()
            with server_process(flavour, directory) as (pid, port):
                figures.append(load(pid, port, directory / "ca.pem", options.seconds, options.connections))
            last = figures[-1]
            print(
                f"round {number + 1} {flavour:8} {last.wall:8,.0f}/s wall {last.server_cpu:8,.0f}/s of server CPU "
                f"{last.load_cpu:8,.0f}/s of load CPU   calibration {speed:8,.0f} decodes/s"
            )
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        tls = ServingTls()
        tls.install(*((options.directory / name).read_bytes() for name in ("cert.pem", "key.pem")))
        asyncio.run(serve(options.serve, tls))
        return
    pin(0)
    print(f"review of {len(review()):,} bytes, {options.connections} connections, one core")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pair = create_pair(["localhost"], utc_now())
        for file, text in (("cert.pem", pair.cert), ("key.pem", pair.key), ("ca.pem", pair.ca)):
            (directory / file).write_bytes(text)
        results = measure(options, directory)
    best = {flavour: max(figures, key=lambda f: f.wall) for flavour, figures in results.items()}
    ours, baseline = best["ours"].wall, best["aiohttp"].wall
    print(f"best: {ours:,.0f}/s (target {TARGET:,}), aiohttp {baseline:,.0f}/s, ratio {ours / baseline:.2f}")


if __name__ == "__main__":
    main()
