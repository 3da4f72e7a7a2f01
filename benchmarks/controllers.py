"""
The controller manager with the scheduler: jobs into bound pods, against a bare client; large jobs; idle cost.

    python -m benchmarks.controllers [--case gangs] [--case single] [--case large] [--case idle] [--jobs N] [--pods N]

gangs: 300 jobs of 10 pods on 1,000 nodes, first job created to last pod bound. single: 1,500 jobs of one pod. Both as a
share of a bare client that creates and binds as many pods, 96 in flight, before and after. large: one job of 5,000 pods
created, scaled to 10, deleted; each pod is created and deleted once. idle: all controllers beside finished jobs and
their pods, for 30 s. Webhooks are off, nodes have no heartbeats and nobody runs the pods.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.calibration import conditions
from benchmarks.client import Bare, measure, open_bare
from benchmarks.processes import IN_FLIGHT, ROOT, Binds, Process, apply_crds, everywhere, told, writes
from benchmarks.scheduler import node, pod
from cluster import ControlPlane
from cluster.options import Options
from generated.batch.v1alpha1 import JOBS
from generated.core.v1 import NAMESPACES, NODES, PODS
from runtime.client import Client
from runtime.errors import NotFound
from runtime.kubeconfig import load
from runtime.patches import MergePatch
from runtime.transport import Transport

NODES_IN_ALL = 1_000
PATIENCE = 900.0
IDLE_SECONDS = 30.0


def job(name: str, replicas: int) -> dict[str, Any]:
    """A gang of equal pods."""
    template = {"spec": pod("", "", "volcano")["spec"]}
    task = {"name": "w", "replicas": replicas, "template": template}
    spec = {"minAvailable": replicas, "schedulerName": "volcano", "queue": "default", "tasks": [task]}
    return {"metadata": {"name": name}, "spec": spec}


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Ask twice a second until it holds."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110  # the event is the server's
            await asyncio.sleep(0.5)


class Bench:
    """One control plane with nodes and our two processes."""

    def __init__(self, plane: ControlPlane, client: Client, folder: Path) -> None:
        self.plane = plane
        self.client = client
        self._folder = folder
        self.manager: Process
        self.scheduler: Process

    def start(self) -> None:
        conf = f"--scheduler-conf={ROOT / 'hack' / 'samples' / 'scheduler.conf'}"
        self.scheduler = Process("scheduler", self.plane.kubeconfig, self._folder, conf)
        self.manager = Process("controllers", self.plane.kubeconfig, self._folder)

    def end(self) -> None:
        self.manager.end()
        self.scheduler.end()

    async def namespace(self, name: str) -> str:
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        accounts = f"/api/v1/namespaces/{name}/serviceaccounts"

        async def has_account() -> bool:
            return b'"name":"default"' in await self.client.raw(accounts)

        await until(has_account)
        return name

    async def raw(self, name: str, count: int) -> float:
        """Pods a second that a bare client creates and binds: the seconds of both are added."""
        namespace = await self.namespace(name)
        async with open_bare(load(str(self.plane.kubeconfig)), IN_FLIGHT) as sender:
            assert isinstance(sender, Bare)
            sender.aim(namespace, "n-1")
            names = [f"p-{n}" for n in range(count)]
            made = await measure(sender.create, names, IN_FLIGHT)
            bound = await measure(sender.bind, names, IN_FLIGHT)
        await self.client.delete_collection(PODS, namespace, grace_period=0)
        return 1 / (1 / made.rate + 1 / bound.rate)

    async def is_queue_open(self) -> bool:
        queues = await self.client.raw("/apis/scheduling.volcano.sh/v1beta1/queues")
        return b'"state":"Open"' in queues


async def share_case(bench: Bench, name: str, *, jobs: int, pods: int, target: float, most: float) -> None:
    """First create to last bind as a share of the bare client; writes and CPU."""
    count = jobs * pods
    before = await bench.raw(f"{name}-before", count)
    namespace = await bench.namespace(name)
    bench.start()
    try:
        await until(bench.is_queue_open)
        version = (await bench.client.list_page(PODS, namespace, limit=1)).resource_version
        binds, earlier = Binds(count), await writes(bench.client)
        cpu = bench.manager.cpu, bench.scheduler.cpu
        watcher = asyncio.create_task(binds.follow(bench.client, namespace, version))
        begun = time.perf_counter()
        await everywhere(
            (job(f"j-{n}", pods) for n in range(jobs)), lambda body: bench.client.create(JOBS, body, namespace)
        )
        async with asyncio.timeout(PATIENCE):
            await binds.done.wait()
        seconds = max(binds.times.values()) - begun
        later = await writes(bench.client)
        used = bench.manager.cpu - cpu[0], bench.scheduler.cpu - cpu[1]
        peaks = bench.manager.peak, bench.scheduler.peak
        watcher.cancel()
    finally:
        bench.end()
    after = await bench.raw(f"{name}-after", count)
    raw = (before + after) / 2
    print(f"{name}: raw {before:,.0f} and {after:,.0f} pods/s; ours {count / seconds:,.0f}/s = "
          f"{count / seconds / raw:.2f} of raw (to reach {target})")  # fmt: skip
    print(f"{name}: CPU a pod {used[0] / count * 1e3:.2f} ms controllers, {used[1] / count * 1e3:.2f} ms scheduler "
          f"(to reach 0.5 and 0.8); peaks {peaks[0]:.0f} and {peaks[1]:.0f} MiB")  # fmt: skip
    per = jobs if pods == 1 else count
    earlier["POST jobs"] = later["POST jobs"]  # the user's, not ours
    total = (sum(later.values()) - sum(earlier.get(kind, 0.0) for kind in later)) / per
    print(f"{name}: {total:.2f} writes a {'job' if pods == 1 else 'pod'} until the last bind (to reach {most}): "
          f"{told(earlier, later, per)}", flush=True)  # fmt: skip


async def large_case(bench: Bench, pods: int) -> None:
    """One job of many pods: created, scaled to 10, deleted."""
    namespace = await bench.namespace("large")
    bench.start()
    try:
        await until(bench.is_queue_open)
        earlier, begun = await writes(bench.client), time.perf_counter()
        await bench.client.create(JOBS, job("big", pods), namespace)

        async def count_pods() -> int:
            # A pod that was bound and then deleted stays until its kubelet lets it go, and here there is none.
            pods = (await bench.client.list(PODS, namespace)).items
            return sum(pod.metadata.deletion_timestamp is None for pod in pods)

        async def all_there() -> bool:
            return await count_pods() == pods

        async def scaled() -> bool:
            return await count_pods() == 10  # as asked below

        await until(all_there)
        made, created = await writes(bench.client), time.perf_counter()
        task = {**job("big", 10)["spec"]["tasks"][0]}
        await bench.client.patch(JOBS, "big", namespace, MergePatch({"spec": {"minAvailable": 10, "tasks": [task]}}))
        await until(scaled)
        shrunk, reduced = await writes(bench.client), time.perf_counter()
        await bench.client.delete(JOBS, "big", namespace, propagation="Background")

        async def is_gone() -> bool:
            try:
                await bench.client.get(JOBS, "big", namespace)
            except NotFound:
                return await count_pods() == 0
            return False

        await until(is_gone)
        creates = made.get("POST pods", 0) - earlier.get("POST pods", 0)
        deletes = shrunk.get("DELETE pods", 0) - made.get("DELETE pods", 0)
        print(f"large: {creates:.0f} creates of {pods} pods in {created - begun:.1f} s, {deletes:.0f} deletes of "
              f"{pods - 10} in {reduced - created:.1f} s, peak {bench.manager.peak:.0f} MiB (to reach 300)", flush=True)  # fmt: skip
    finally:
        bench.end()


async def idle_case(bench: Bench, jobs: int, pods: int) -> None:
    """All controllers beside what has finished."""
    namespace = await bench.namespace("idle")
    finished = {"state": {"phase": "Completed", "lastTransitionTime": "2026-01-01T00:00:00Z"}, "minAvailable": 1}

    async def create_job(number: int) -> None:
        made = await bench.client.create(JOBS, job(f"j-{number}", 1), namespace)
        body = {"metadata": {"resourceVersion": made.metadata.resource_version}, "status": finished}
        await bench.client.patch(JOBS, f"j-{number}", namespace, MergePatch(body), subresource="status")

    await everywhere(range(jobs), create_job)
    names = (f"p-{n}" for n in range(pods))
    bodies = (pod(name, "", "nobody", node_name=f"n-{hash(name) % NODES_IN_ALL}") for name in names)
    await everywhere(bodies, lambda body: bench.client.create(PODS, body, namespace))
    bench.start()
    try:
        await until(bench.is_queue_open)
        await asyncio.sleep(IDLE_SECONDS)  # what the start brings with it
        earlier, cpu = await writes(bench.client), bench.manager.cpu
        await asyncio.sleep(IDLE_SECONDS)
        used, later = (bench.manager.cpu - cpu) / IDLE_SECONDS, await writes(bench.client)
        print(f"idle: {used:.1%} of a core beside {jobs:,} finished jobs and {pods:,} pods (to reach 1 %), "
              f"{bench.manager.peak:.0f} MiB, writes {told(earlier, later, 1) or 'none'}", flush=True)  # fmt: skip
    finally:
        bench.end()


async def run(plane: ControlPlane, name: str, options: argparse.Namespace, folder: Path) -> None:
    async with Transport(load(str(plane.kubeconfig)), in_flight=IN_FLIGHT) as transport:
        client = Client(transport)
        await everywhere((node(n, 0) for n in range(NODES_IN_ALL)), lambda body: client.create(NODES, body))
        bench = Bench(plane, client, folder)
        if name == "gangs":
            await share_case(bench, name, jobs=options.jobs or 300, pods=10, target=0.6, most=2.6)
        elif name == "single":
            await share_case(bench, name, jobs=options.jobs or 1_500, pods=1, target=0.25, most=6)
        elif name == "large":
            await large_case(bench, options.pods or 5_000)
        else:
            await idle_case(bench, options.jobs or 10_000, options.pods or 100_000)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=("gangs", "single", "large", "idle"), action="append")
    parser.add_argument("--jobs", type=int, default=0, help="0: as the case says")
    parser.add_argument("--pods", type=int, default=0, help="0: as the case says")
    options = parser.parse_args()
    print(conditions())
    for name in options.case or ("gangs", "single", "large"):
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "plane"
            settings = Options(heartbeats=False, webhooks=False)
            plane = ControlPlane(f"benchmark-{name}", directory=directory, options=settings)
            with plane:
                apply_crds(plane)
                asyncio.run(run(plane, name, options, Path(folder)))


if __name__ == "__main__":
    main()
