"""
What benchmarks on the real control plane share: our processes and what the kernel says they used, a watch that notes
when pods are bound, and counts of the API server's writes.
"""

from __future__ import annotations

import asyncio
import compileall
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cluster import ControlPlane
from generated.core.v1 import PODS
from runtime.client import Client
from runtime.errors import ConnectionFailed

ROOT = Path(__file__).resolve().parents[1]
IN_FLIGHT = 96
_COMPILED = ("api", "controllers", "generated", "runtime", "scheduler", "webhooks")
"""Ahead of the start, as in the image."""
_TICKS = os.sysconf("SC_CLK_TCK")
_WRITE = re.compile(
    r'^apiserver_request_total\{.*?resource="(\w+)".*?subresource="(\w*)".*?verb="(\w+)".*?\} (\S+)$', re.MULTILINE
)
_COUNTED = {"pods", "events", "podgroups", "queues", "leases", "jobs"}
_WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}


def apply_crds(plane: ControlPlane) -> None:
    """All kinds of ours."""
    files = sorted((ROOT / "config" / "crd" / "bases").glob("*.yaml"))
    plane.apply_crds(document for path in files for document in yaml.safe_load_all(path.read_text()) if document)


async def writes(client: Client) -> dict[str, float]:
    """Write requests that the API server has answered, by kind."""
    found: dict[str, float] = {}
    for resource, sub, verb, count in _WRITE.findall((await client.raw("/metrics")).decode()):
        if verb in _WRITES and resource in _COUNTED:
            key = f"{verb} {resource}{'/' + sub if sub else ''}"
            found[key] = found.get(key, 0.0) + float(count)
    return found


def told(before: dict[str, float], after: dict[str, float], count: int) -> str:
    """Writes for each of so many things, by kind."""
    each = {kind: (after[kind] - before.get(kind, 0.0)) / count for kind in sorted(after)}
    return ", ".join(f"{kind} {value:.2f}" for kind, value in each.items() if value >= 0.005)


async def everywhere(items: Iterable[Any], send: Callable[[Any], Awaitable[Any]]) -> None:
    """Send for all items, 96 at a time."""
    left = iter(items)

    async def work() -> None:
        for item in left:
            await send(item)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


@dataclass
class Binds:
    """What a watch of the pods of one namespace saw."""

    expected: int
    times: dict[str, float] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, client: Client, namespace: str, version: str) -> None:
        """Until cancelled. The server may end a watch, such as when this process gets no time: a list shows what it missed."""
        while True:
            with suppress(ConnectionFailed):
                async with client.watch(PODS, namespace, resource_version=version, timeout=3600) as lines:
                    async for batch in lines.batches():
                        self._take(batch, time.perf_counter())
            found = await client.list(PODS, namespace)
            print(f"the watch of pods ended after {len(self.times)} binds and begins anew", flush=True)
            self._note((pod.metadata.name for pod in found.items if pod.spec.node_name), time.perf_counter())
            version = found.resource_version

    def _take(self, lines: Iterable[bytes], now: float) -> None:
        self._note((_name_in(line) for line in lines if b'"nodeName":"' in line), now)

    def _note(self, names: Iterable[str], now: float) -> None:
        for name in names:
            self.times.setdefault(name, now)
        if len(self.times) >= self.expected:
            self.done.set()

    @property
    def seconds(self) -> float:
        return max(self.times.values()) - min(self.times.values())


def _name_in(line: bytes) -> str:
    start = line.index(b'"name":"') + 8
    return line[start : line.index(b'"', start)].decode()


class Process:
    """One of our components and what the kernel says it used."""

    def __init__(self, module: str, kubeconfig: Path, folder: Path, *flags: str) -> None:
        self.log = folder / f"{module}.log"
        common = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=5000")
        command = [sys.executable, "-m", module, *common, "-v=3", *flags]
        for package in _COMPILED:
            compileall.compile_dir(ROOT / package, quiet=2)
        with self.log.open("wb") as log:
            self.started = time.perf_counter()
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    @property
    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def peak(self) -> float:
        """Highest resident memory so far, in MiB."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self._process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(60)
