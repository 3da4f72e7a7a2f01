"""
A process that replays a recorded watch over TLS, as fast as its reader takes it.

    python -m benchmarks.replay record --out pods.watch [--seconds 60] [--resource pods]
    python -m benchmarks.replay serve --recording pods.watch --directory DIR

A recording is a text file: the answer to a list in the first line, the lines of the watch after it. `record` takes one
from the API server of the current kubeconfig; `benchmarks.informer` writes one of 4 KB pods that live and die. `serve`
answers every list with the first line, and every watch with the rest, again and again; it sends as the API server does,
one HTTP chunk and one TLS record for each event. It prints its port, and ends when its standard input closes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import ssl
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from benchmarks.pods import STAGES, encode, pod
from generated import registry
from runtime.client import Client
from runtime.kubeconfig import load
from runtime.transport import Transport

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def write_lives(path: Path, *, pods: int, jobs: int) -> None:
    """Record pods that are created, bound, run, succeed and are deleted; each stage follows a fifth of all pods later."""
    events: list[bytes] = []
    steps = (*STAGES, "deleted")
    distance = max(1, pods // len(steps))
    for tick in range(pods + distance * (len(steps) - 1)):
        for step, stage in enumerate(steps):
            number = tick - step * distance
            if 0 <= number < pods:
                events.append(_event(number, stage, jobs, version=1_000_001 + len(events)))
    write(
        path, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1000000"}, "items": []}, events
    )


def _event(number: int, stage: str, jobs: int, version: int) -> bytes:
    kind = {"created": "ADDED", "deleted": "DELETED"}.get(stage, "MODIFIED")
    made = pod(number, jobs=jobs, stage="succeeded" if stage == "deleted" else stage, version=version)
    return encode({"type": kind, "object": made})


def write(path: Path, listing: object, events: Iterable[bytes]) -> None:
    """Write a recording."""
    path.write_bytes(b"\n".join([encode(listing), *events]) + b"\n")


class Server:
    """Answers lists and watches from one recording."""

    def __init__(self, recording: Path, context: ssl.SSLContext) -> None:
        listing, *events = recording.read_bytes().splitlines()
        self._listing = listing
        self._lines = [line + b"\n" for line in events]
        self._chunks = [b"%x\r\n%s\r\n" % (len(line), line) for line in self._lines]
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Serve each connection in a thread, until the process ends."""
        while True:
            raw, _ = self._socket.accept()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            with self._context.wrap_socket(raw, server_side=True) as connection:
                while self._answer(connection):
                    continue
        except OSError:
            return  # the reader went away

    def _answer(self, connection: ssl.SSLSocket) -> bool:
        """Answer one request; False when there will be no further one."""
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            received = connection.recv(65536)
            if not received:
                return False
            request += received
        target, _, version = request.partition(b"\r\n")[0].partition(b" ")[2].partition(b" ")
        if b"watch=1" not in target:
            connection.sendall(_HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(self._listing), self._listing))
            return True
        is_chunked = version != b"HTTP/1.0"
        connection.sendall(
            _HEAD + (b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else b"Connection: close\r\n\r\n")
        )
        while True:
            for piece in self._chunks if is_chunked else self._lines:
                connection.sendall(piece)


def serve(options: argparse.Namespace) -> None:
    """Print the port and serve until standard input closes."""
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.directory / "cert.pem", options.directory / "key.pem")
    server = Server(options.recording, context)
    threading.Thread(target=server.run, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()


async def record(options: argparse.Namespace) -> None:
    """Record a list and the watch that follows it."""
    resource = next(e.resource for e in registry.ENTRIES if e.resource.qualified_name == options.resource)
    async with Transport(load(options.kubeconfig)) as transport:
        client = Client(transport)
        listing = await client.raw(resource.path())
        version = json.loads(listing)["metadata"]["resourceVersion"]
        events: list[bytes] = []
        async with client.watch(resource, resource_version=version, timeout=options.seconds) as stream:
            async for lines in stream.batches():
                events += lines
    options.out.write_bytes(b"\n".join([listing.strip(), *events]) + b"\n")
    print(f"{len(events)} events in {options.out}")


def main() -> None:
    """Record or serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("--kubeconfig", default="")
    recorder.add_argument("--resource", default="pods", help="plural.group")
    recorder.add_argument("--seconds", type=int, default=60)
    recorder.add_argument("--out", type=Path, required=True)
    recorder.set_defaults(run=lambda options: asyncio.run(record(options)))
    server = commands.add_parser("serve")
    server.add_argument("--recording", type=Path, required=True)
    server.add_argument("--directory", type=Path, required=True, help="holds cert.pem and key.pem")
    server.add_argument("--core", type=int, help="run on this core only")
    server.set_defaults(run=serve)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
