"""
The scheduler against the bare speed of the API server: binds a second, CPU a pod, memory, start to first bind.

    python -m benchmarks.scheduler [--case A] [--case B] [--case start] [--rounds 1] [--conf FILE]

Case A: 1,000 nodes of 32 cpu, 20 gangs of 100 pods of 1 cpu and 1 Gi. Case B: 5,000 nodes, 50 gangs of 200, each
preferring one of 20 racks (weight 10). minMember is the number of replicas; pods are loaded before the scheduler
starts; nodes have no heartbeats and nobody runs the pods; QPS 5,000. Raw is a bare client that only posts binds of as
many such pods, 96 in flight, before and after. Binds are timed by a watch in this process, first to last. What is owed
counts as written when neither events nor pod groups changed for a second. Case start: 5,000 nodes, 50,000 bound and
1,000 pending pods, from the start of the process to its first bind.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.calibration import conditions
from benchmarks.client import Bare, measure, open_bare
from benchmarks.processes import IN_FLIGHT, Binds, Process, apply_crds, everywhere, told, writes
from cluster import ControlPlane
from cluster.options import Options
from generated.core.v1 import NAMESPACES, NODES, PODS
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.client import Client
from runtime.errors import ServerError
from runtime.kubeconfig import load
from runtime.transport import Transport

QUIET = 1.0
"""Seconds without a change after which everything owed counts as written."""
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}]
"""


@dataclass(frozen=True)
class Case:
    """Sizes of a case."""

    nodes: int
    gangs: int
    pods: int
    racks: int = 0
    bound: int = 0
    """Pods that have a node before the scheduler starts."""


CASES = {
    "A": Case(1_000, 20, 100),
    "B": Case(5_000, 50, 200, racks=20),
    "start": Case(5_000, 10, 100, bound=50_000),
}


def node(number: int, racks: int) -> dict[str, Any]:
    """A node that nobody simulates."""
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"n-{number}"} | ({"rack": f"r{number % racks}"} if racks else {})
    ready = {"type": "Ready", "status": "True", "reason": "Simulated"}
    return {"metadata": {"name": f"n-{number}", "labels": labels},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]}}  # fmt: skip


def pod(name: str, gang: str, scheduler: str, rack: str = "", node_name: str = "") -> dict[str, Any]:
    """A pod of a gang, as the job controller would make it."""
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
    }
    if rack:
        match = {"matchExpressions": [{"key": "rack", "operator": "In", "values": [rack]}]}
        prefer = [{"weight": 10, "preference": match}]
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": prefer}}
    if node_name:
        spec["nodeName"] = node_name
    annotations = {"scheduling.k8s.io/group-name": gang, "volcano.sh/task-spec": "w"}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


class Bench:
    """One control plane with the nodes of a case."""

    def __init__(self, plane: ControlPlane, client: Client, case: Case) -> None:
        self.plane = plane
        self.client = client
        self.case = case

    async def prepare(self) -> None:
        case = self.case
        await everywhere((node(number, case.racks) for number in range(case.nodes)), self._create(NODES))
        if case.bound:
            await self._namespace("bound")
            pods = (pod(f"b-{n}", "", "nobody", node_name=f"n-{n % case.nodes}") for n in range(case.bound))
            await everywhere(pods, self._create(PODS, "bound"))

    def _create(self, resource: Any, namespace: str | None = None) -> Callable[[Any], Awaitable[Any]]:
        return lambda body: self.client.create(resource, body, namespace)

    async def _namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
        while b'"name":"default"' not in await self.client.raw(accounts):  # noqa: ASYNC110  # the event is the server's
            await asyncio.sleep(0.1)

    async def raw(self, round_: str) -> float:
        """Binds a second of a client that does nothing else."""
        namespace, case = f"raw-{round_}", self.case
        count = case.gangs * case.pods
        await self._namespace(namespace)
        await everywhere((pod(f"p-{n}", "", "nobody") for n in range(count)), self._create(PODS, namespace))
        async with open_bare(load(str(self.plane.kubeconfig)), IN_FLIGHT) as sender:
            assert isinstance(sender, Bare)
            sender.aim(namespace, "n-1")
            figures = await measure(sender.bind, [f"p-{n}" for n in range(count)], IN_FLIGHT)
        await self.clear(namespace)
        return figures.rate

    async def clear(self, namespace: str) -> None:
        """Delete all pods. A busy server needs more than the minute in which it has to answer, and goes on where it was."""
        while True:
            try:
                await self.client.delete_collection(PODS, namespace, grace_period=0)
            except ServerError as error:
                if error.reason != "Timeout":
                    raise
            else:
                return

    async def load(self, namespace: str) -> str:
        """The gangs of the case; the resource version to watch from."""
        case = self.case
        await self._namespace(namespace)
        groups = (
            {"metadata": {"name": f"g-{g}"}, "spec": {"minMember": case.pods, "queue": "default"}}
            for g in range(case.gangs)
        )
        await everywhere(groups, self._create(POD_GROUPS, namespace))
        pods = (
            pod(f"g-{g}-{n}", f"g-{g}", "volcano", f"r{g % case.racks}" if case.racks else "")
            for g in range(case.gangs)
            for n in range(case.pods)
        )
        await everywhere(pods, self._create(PODS, namespace))
        return (await self.client.list_page(PODS, namespace, limit=1)).resource_version

    async def settled(self, namespace: str) -> float:
        """When the last owed event or status was written (this process's clock); returns a second later."""
        seen, since = "", time.perf_counter()
        while time.perf_counter() - since < QUIET:
            now = await self._fingerprint(namespace)
            if now != seen:
                seen, since = now, time.perf_counter()
            await asyncio.sleep(0.1)
        return since

    async def _fingerprint(self, namespace: str) -> str:
        events = await self.client.raw(f"/api/v1/namespaces/{namespace}/events", {"limit": "1"})
        groups = await self.client.raw(f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups")
        count = re.search(rb'"remainingItemCount":(\d+)', events)
        versions = re.findall(rb'"name":"([\w-]+)","namespace":"[\w-]+","resourceVersion":"(\d+)"', groups)
        return f"{count[1] if count else 0!r} {sorted(versions)}"


def start(kubeconfig: Path, folder: Path, configuration: str) -> Process:
    conf = folder / "scheduler.conf"
    conf.write_text(configuration)
    return Process("scheduler", kubeconfig, folder, f"--scheduler-conf={conf}")


async def bind_case(bench: Bench, name: str, round_: int, folder: Path, configuration: str) -> None:
    """Raw, the scheduler, raw; the figures on one line each."""
    case, namespace = bench.case, f"gangs-{round_}"
    count = case.gangs * case.pods
    before = await bench.raw(f"{round_}-before")
    version = await bench.load(namespace)
    binds, earlier = Binds(count), await writes(bench.client)
    watcher = asyncio.create_task(binds.follow(bench.client, namespace, version))
    process = start(bench.plane.kubeconfig, folder, configuration)
    try:
        async with asyncio.timeout(600):
            await binds.done.wait()
        busy = process.cpu
        settled = await bench.settled(namespace)
        cpu, peak = process.cpu, process.peak
        written = await writes(bench.client)
    finally:
        watcher.cancel()
        process.end()
    await bench.clear(namespace)
    after = await bench.raw(f"{round_}-after")
    raw, rate = (before + after) / 2, count / binds.seconds
    owed = settled - max(binds.times.values())
    print(
        f"{name}: raw {before:,.0f} and {after:,.0f} binds/s; ours {rate:,.0f}/s = {rate / raw:.2f} of raw (to reach 0.8)"
    )
    print(f"{name}: all owed {owed:.1f} s after the last bind, allowed {1.2 * count / raw:.1f} s; "
          f"first bind {min(binds.times.values()) - process.started:.1f} s after the start")  # fmt: skip
    print(f"{name}: CPU {cpu / count * 1e3:.2f} ms a pod (to reach 0.8), busy cores {busy / binds.seconds:.2f}, "
          f"peak {peak:.0f} MiB (to reach 250)")  # fmt: skip
    print(f"{name}: writes a pod: {told(earlier, written, count)}", flush=True)


async def start_case(bench: Bench, folder: Path, configuration: str) -> None:
    """From the start of the process to the first bind."""
    version = await bench.load("start")
    binds = Binds(1)
    watcher = asyncio.create_task(binds.follow(bench.client, "start", version))
    process = start(bench.plane.kubeconfig, folder, configuration)
    try:
        async with asyncio.timeout(300):
            await binds.done.wait()
        print(f"start: first bind after {min(binds.times.values()) - process.started:.1f} s (to reach 8); "
              f"CPU {process.cpu:.1f} s, peak {process.peak:.0f} MiB")  # fmt: skip
        for line in process.log.read_text(errors="replace").splitlines():
            if _PART.search(line):
                print(f"start: {line}")
    finally:
        watcher.cancel()
        process.end()


_PART = re.compile(r"informer\.listed resource=(pods|nodes) |first cycle ")
"""Lines of the scheduler's log that say how long a part of the start took, in seconds."""


@asynccontextmanager
async def bench_of(plane: ControlPlane, case: Case) -> AsyncIterator[Bench]:
    async with Transport(load(str(plane.kubeconfig)), in_flight=IN_FLIGHT) as transport:
        bench = Bench(plane, Client(transport), case)
        await bench.prepare()
        yield bench


async def run(plane: ControlPlane, name: str, options: argparse.Namespace, folder: Path) -> None:
    configuration = options.conf.read_text() if options.conf else CONFIGURATION
    async with bench_of(plane, CASES[name]) as bench:
        if name == "start":
            await start_case(bench, folder, configuration)
            return
        for round_ in range(options.rounds):
            await bind_case(bench, name, round_, folder, configuration)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--conf", type=Path, help="scheduler configuration; default: the five plugins of the kernel")
    options = parser.parse_args()
    print(conditions())
    for name in options.case or ("A", "B"):
        with tempfile.TemporaryDirectory() as folder:
            plane = ControlPlane(
                f"benchmark-{name.lower()}", directory=Path(folder) / "plane", options=Options(heartbeats=False)
            )
            with plane:
                apply_crds(plane)
                asyncio.run(run(plane, name, options, Path(folder)))


if __name__ == "__main__":
    main()
