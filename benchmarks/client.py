"""
Our typed client against a bare aiohttp loop: pod creates and binds a second on a real API server.

    python -m benchmarks.client [--pods 2000] [--rounds 3] [--in-flight 96]

Rounds alternate in one process against one local control plane. The bare loop posts prepared bytes through the same
kind of connector and reads the answer without decoding it; ours encodes a typed Pod, passes the priority gate, asks
the write guard, and decodes the stored Pod. Beside requests a second by the clock stands the CPU time of this process
for each, which is what the client itself costs: the clock sees mostly the server.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import aiohttp
import msgspec

from benchmarks.calibration import conditions
from cluster import ControlPlane
from generated.core.v1 import NAMESPACES, PODS, Container, EnvVar, Pod, PodSpec, ResourceRequirements
from generated.meta.v1 import ObjectMeta
from runtime.client import Client
from runtime.kubeconfig import ClientConfig, load
from runtime.requests import Priority
from runtime.transport import Transport

TARGET = 0.9
NAMESPACE = "benchmark"


class Sender(Protocol):
    """What is measured: one create, one bind."""

    async def create(self, name: str) -> None: ...

    async def bind(self, name: str) -> None: ...


def pod(name: str) -> Pod:
    """A worker's pod as a job controller makes it, about 1.5 KB."""
    env = tuple(EnvVar(name=f"VC_VARIABLE_{number}", value=f"value-{number}-of-a-task") for number in range(12))
    labels = {f"volcano.sh/label-{number}": name for number in range(6)}
    limits = ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2", "memory": "2Gi"})
    main = Container(name="main", image="busybox", command=("sh", "-c", "sleep 60"), env=env, resources=limits)
    spec = PodSpec(containers=(main,), scheduler_name="nobody", restart_policy="Never")
    return Pod(metadata=ObjectMeta(name=name, namespace=NAMESPACE, labels=labels, annotations=labels), spec=spec)


def binding(name: str) -> dict[str, object]:
    target = {"apiVersion": "v1", "kind": "Node", "name": "no-such-node"}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}


class Ours:
    """The typed client with everything that a component has switched on."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, name: str) -> None:
        await self._client.create(PODS, pod(name), NAMESPACE)

    async def bind(self, name: str) -> None:
        await self._client.create_subresource(PODS, name, NAMESPACE, "binding", binding(name), priority=Priority.BIND)


class Bare:
    """A loop over aiohttp that does nothing but post bytes."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._base = f"{server}/api/v1/namespaces/{NAMESPACE}/pods"
        self._headers = {"Content-Type": "application/json"}
        template = msgspec.structs.replace(pod("NAME"), api_version="v1", kind="Pod")
        self._pod = msgspec.json.encode(template)
        self._binding = msgspec.json.encode(binding("NAME"))

    def aim(self, namespace: str, node: str) -> None:
        """Use another namespace, and bind to this node."""
        self._base = self._base.replace(f"/{NAMESPACE}/", f"/{namespace}/")
        for name in ("_pod", "_binding"):
            text: bytes = getattr(self, name)
            text = text.replace(f'"namespace":"{NAMESPACE}"'.encode(), f'"namespace":"{namespace}"'.encode())
            setattr(self, name, text.replace(b"no-such-node", node.encode()))

    async def create(self, name: str) -> None:
        await self._post(self._base, self._pod.replace(b"NAME", name.encode()))

    async def bind(self, name: str) -> None:
        await self._post(f"{self._base}/{name}/binding", self._binding.replace(b"NAME", name.encode()))

    async def _post(self, url: str, body: bytes) -> None:
        async with self._session.post(url, data=body, headers=self._headers) as response:
            await response.read()
            if response.status != 201:
                raise SystemExit(f"{url}: {response.status}")


@asynccontextmanager
async def open_ours(config: ClientConfig, in_flight: int) -> AsyncIterator[Sender]:
    async with Transport(config, qps=1e6, burst=1000, in_flight=in_flight) as transport:
        yield Ours(Client(transport, guard=lambda: None))


@asynccontextmanager
async def open_bare(config: ClientConfig, in_flight: int) -> AsyncIterator[Sender]:
    assert config.tls is not None
    connector = aiohttp.TCPConnector(limit=in_flight, ssl=config.tls.context())
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Bare(session, config.server)


FLAVOURS = {"client": open_ours, "bare": open_bare}


@dataclass(frozen=True, slots=True)
class Figures:
    """Requests a second by the clock, and microseconds of this process's CPU time for each."""

    rate: float
    cpu: float


async def measure(send: Callable[[str], Awaitable[None]], names: list[str], in_flight: int) -> Figures:
    """Send for all names, so many at a time."""
    left = iter(names)
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(_work(send, left) for _ in range(in_flight)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Figures(len(names) / wall, cpu / len(names) * 1e6)


async def _work(send: Callable[[str], Awaitable[None]], names: Iterator[str]) -> None:
    for name in names:
        await send(name)


async def run_round(config: ClientConfig, flavour: str, number: int, options: argparse.Namespace) -> dict[str, Figures]:
    """Create and bind the pods of one round, and clear them away."""
    names = [f"{flavour}-{number}-{index}" for index in range(options.pods)]
    async with FLAVOURS[flavour](config, options.in_flight) as sender:
        await measure(sender.create, [f"warm-{name}" for name in names[: options.in_flight]], options.in_flight)
        found = {
            "create": await measure(sender.create, names, options.in_flight),
            "bind": await measure(sender.bind, names, options.in_flight),
        }
    async with Transport(config) as transport:
        await Client(transport).delete_collection(PODS, NAMESPACE, grace_period=0)
    for verb, figures in found.items():
        print(
            f"round {number + 1} {flavour:6} {verb:6} {figures.rate:8,.0f}/s {figures.cpu:6,.0f} us of CPU each",
            flush=True,
        )
    return found


async def compare(kubeconfig: Path, options: argparse.Namespace) -> None:
    """All rounds, then the best of each."""
    config = load(str(kubeconfig))
    async with Transport(config) as transport:
        await Client(transport).create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    results: dict[str, list[dict[str, Figures]]] = {flavour: [] for flavour in FLAVOURS}
    for number in range(options.rounds):
        for flavour, rounds in results.items():
            rounds.append(await run_round(config, flavour, number, options))
    for verb in ("create", "bind"):
        rate = {flavour: max(found[verb].rate for found in rounds) for flavour, rounds in results.items()}
        cpu = {flavour: min(found[verb].cpu for found in rounds) for flavour, rounds in results.items()}
        print(
            f"best {verb:6}: {rate['client']:,.0f}/s against {rate['bare']:,.0f}/s bare, "
            f"ratio {rate['client'] / rate['bare']:.2f} (target {TARGET}); "
            f"CPU {cpu['client']:,.0f} against {cpu['bare']:,.0f} us"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=96)
    options = parser.parse_args()
    size = len(msgspec.json.encode(pod("client-0-0000")))
    print(conditions())
    print(f"{options.pods} pods of {size:,} bytes a round, {options.in_flight} in flight, TLS on loopback")
    with (
        TemporaryDirectory() as folder,
        ControlPlane("benchmark-client", directory=Path(folder), report=print) as plane,
    ):
        asyncio.run(compare(plane.kubeconfig, options))


if __name__ == "__main__":
    main()
