"""
Informers under fire: random changes, a bad network, API server restarts and expired watches, for minutes.

    python -m benchmarks.informer_soak [--seconds 300] [--seed N] [--rate 150]

Starts a control plane of its own. Writers change config maps, pods and queues directly; informers, with and without
selectors, with interning, and with watches of a few seconds, see the API server only through a proxy that drops 1 % of
connections, delays 1 %, cuts all of them now and then, and keeps them away while the server restarts and the writers go
on, so that watches come back to a version that the server has forgotten (410). At the end every cache must equal the
server, and each handler must have heard a true story: for each life of an object one beginning and one end.
The seed is printed; the same one makes the same choices, though not the same timing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import urlsplit

import yaml
from msgspec.structs import replace
from prometheus_client.registry import Collector

from api.poddecoding import pod_decoder
from benchmarks.faulty_proxy import Counts, FaultyProxy
from cluster import ControlPlane
from generated.core.v1 import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from generated.scheduling.v1beta1 import QUEUES
from runtime.backoff import Backoff
from runtime.client import Client
from runtime.errors import ApiError, ConnectionFailed
from runtime.informer import Informer
from runtime.informer_metrics import FAILURES, LISTS
from runtime.kubeconfig import load
from runtime.objects import Key, Object, key_of
from runtime.patches import MergePatch
from runtime.resource import Resource
from runtime.retry import RetryPolicy
from runtime.transport import Transport

ROOT = Path(__file__).resolve().parents[1]
NAMES = 60
"""Objects of each kind that may live at once."""
COLOURS = ("red", "green", "blue")


@dataclass
class Story:
    """A handler that checks that what it hears can be true, and keeps count."""

    name: str
    alive: dict[Key, Object] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    updates: int = 0
    faults: list[str] = field(default_factory=list)

    def on_add(self, obj: Object, _initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._expect(key_of(obj) not in self.alive, "added twice", obj)
        self.alive[key_of(obj)] = obj
        self.begun[obj.metadata.uid] += 1

    def on_update(self, old: Object, new: Object) -> None:
        self._expect(self.alive.get(key_of(old)) is old, "updated from a state never told", old)
        self._expect(old.metadata.uid == new.metadata.uid, "updated into another object", new)
        self.alive[key_of(new)] = new
        self.updates += 1

    def on_delete(self, obj: Object) -> None:
        self._expect(self.alive.pop(key_of(obj), None) is obj, "deleted in a state never told", obj)
        self.ended[obj.metadata.uid] += 1

    def _expect(self, holds: bool, fault: str, obj: Object) -> None:  # noqa: FBT001  # a private assertion
        if not holds:
            meta = obj.metadata
            self.faults.append(f"{self.name}: {fault}: {key_of(obj)} {meta.uid} at {meta.resource_version}")


class Selection(TypedDict):
    """Which objects are meant, as the client takes it; empty for all."""

    label_selector: str
    field_selector: str


@dataclass
class Watched:
    """An informer, its story, and how to ask the server for the same objects."""

    informer: Informer[Any]
    story: Story
    selection: Selection
    is_selective: bool

    async def difference(self, truth: Client, namespace: str) -> str:
        """How cache and server differ; empty when they are equal."""
        resource = self.informer.resource
        scope = namespace if resource.namespaced else None
        page = await truth.list(resource, scope, **self.selection)
        server = {key_of(obj): (obj.metadata.uid, obj.metadata.resource_version) for obj in page.items}
        cached = {key_of(obj): (obj.metadata.uid, obj.metadata.resource_version) for obj in self.informer.lister}
        if server == cached:
            return ""
        sample_key = next(iter(set(server.items()) ^ set(cached.items())))
        return f"{self.story.name}: {len(server)} on the server, {len(cached)} in the cache, such as {sample_key}"

    def faults(self) -> list[str]:
        """What the story got wrong as a whole, the cache being equal to the server."""
        story = self.story
        found = list(story.faults)
        if story.alive != {key_of(obj): obj for obj in self.informer.lister}:
            found.append(f"{story.name}: the handler's view differs from the cache")
        here = Counter(obj.metadata.uid for obj in story.alive.values())
        for uid, begun in story.begun.items():
            if begun - story.ended[uid] != here[uid]:
                found.append(f"{story.name}: {uid} began {begun} times and ended {story.ended[uid]} times")
            if not self.is_selective and begun > 1:
                found.append(f"{story.name}: {uid} began {begun} times though nothing selects")
        return found


@dataclass
class Report:
    """What happened, and what went wrong."""

    seed: int
    writes: int = 0
    restarts: int = 0
    connections: Counts = field(default_factory=Counts)
    heard: Counter[str] = field(default_factory=Counter)
    lists: int = 0
    expired: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"seed {self.seed}: {self.writes} writes, {self.restarts} restarts, {self.connections}",
            f"{self.lists} lists, {self.expired} expired watches or lists, heard: {dict(self.heard)}",
        ]
        return "\n".join([*lines, *(f"FAULT {fault}" for fault in self.faults), "" if self.faults else "all equal"])


class Soak:
    """One run against one control plane."""

    def __init__(self, plane: ControlPlane, namespace: str, *, seed: int, rate: float = 150.0) -> None:
        """`rate`: writes a second that are tried."""
        self._plane = plane
        self._namespace = namespace
        self._rand = random.Random(seed)
        self._rate = rate
        self._mark = f"soak-{seed}"
        self.report = Report(seed)
        self._present: dict[tuple[str, str], bool] = {}
        self._is_writing = True

    async def run(self, seconds: float, *, restart_every: float = 45.0) -> Report:
        """Make changes and trouble for that long, then let everything settle and compare."""
        config = load(str(self._plane.kubeconfig))
        port = urlsplit(config.server).port
        assert port is not None
        proxy = FaultyProxy(port, random.Random(self._rand.random()), counts=self.report.connections)
        detour = replace(config, server=f"https://127.0.0.1:{await proxy.start()}", proxy="")
        impatient = RetryPolicy(attempts=1)
        before = _total(LISTS), _gone()
        try:
            async with Transport(config) as straight, Transport(detour, retry=impatient, timeout=10.0) as crooked:
                truth = Client(straight)
                watched = self._watched(Client(crooked))
                tasks = [asyncio.ensure_future(each.informer.run()) for each in watched]
                await self._make_trouble(truth, proxy, seconds, restart_every)
                self.report.faults += await self._compare(watched, truth)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._clean_up(truth)
        finally:
            await proxy.stop()
        self._sum_up(watched, before)
        return self.report

    def _watched(self, client: Client) -> list[Watched]:
        red = f"soak={self._mark},colour=red"
        mine = f"soak={self._mark}"
        return [
            self._watch(client, CONFIG_MAPS, "configmaps"),
            self._watch(client, CONFIG_MAPS, "red configmaps", label_selector=red),
            self._watch(client, PODS, "pods", decoder=pod_decoder()),
            self._watch(client, PODS, "named pod", field_selector="metadata.name=n7"),
            self._watch(client, QUEUES, "queues", label_selector=mine, is_selective=False),
            self._watch(client, QUEUES, "red queues", label_selector=red),
        ]

    def _watch(
        self, client: Client, resource: Resource[Any], name: str, *, is_selective: bool | None = None, **options: Any
    ) -> Watched:
        informer: Informer[Any] = Informer(
            client,
            resource,
            namespace=self._namespace if resource.namespaced else None,
            page_size=20,
            watch_seconds=(1, 4),
            backoff=Backoff(base=0.1, cap=2.0, jitter=1.0),
            **options,
        )
        story = Story(name)
        informer.add_handler(story)
        selection = Selection(
            label_selector=options.get("label_selector", ""), field_selector=options.get("field_selector", "")
        )
        chooses = any(selection.values())
        return Watched(informer, story, selection, chooses if is_selective is None else is_selective)

    async def _make_trouble(self, truth: Client, proxy: FaultyProxy, seconds: float, restart_every: float) -> None:
        until = time.monotonic() + seconds
        writing = asyncio.ensure_future(self._write(truth))
        next_restart = time.monotonic() + min(restart_every, seconds / 3)
        while time.monotonic() < until:
            await asyncio.sleep(self._rand.uniform(0.5, 4.0))
            if time.monotonic() >= next_restart:
                await self._restart(proxy)
                next_restart = time.monotonic() + restart_every
            elif self._rand.random() < 0.3:
                proxy.is_held = True
                proxy.cut()
                await asyncio.sleep(self._rand.uniform(0.5, 2.0))
                proxy.is_held = False
            else:
                proxy.cut()
        self._is_writing = False
        await writing

    async def _restart(self, proxy: FaultyProxy) -> None:
        """Restart the API server while the informers are kept away, and let the writers go on before they return."""
        proxy.is_held = True
        proxy.cut()
        await asyncio.to_thread(self._plane.kill_apiserver)
        await asyncio.to_thread(self._plane.start_apiserver)
        written = self.report.writes
        async with asyncio.timeout(60):
            while self.report.writes < written + 50:  # noqa: ASYNC110  # the writers have no time for signals
                await asyncio.sleep(0.1)
        proxy.is_held = False
        self.report.restarts += 1

    async def _write(self, client: Client) -> None:
        """Random changes, some at once, at about the rate asked for."""
        while self._is_writing:
            await asyncio.gather(*(self._change(client) for _ in range(5)))
            await asyncio.sleep(5 / self._rate)

    async def _change(self, client: Client) -> None:
        resource: Resource[Any] = self._rand.choice((CONFIG_MAPS, PODS, QUEUES))
        name = f"n{self._rand.randrange(NAMES)}"
        colour = self._rand.choice(COLOURS)
        is_present = self._present.get((resource.plural, name), False)
        change: Callable[[Client, Resource[Any], str, str], Awaitable[None]] = self._create
        if is_present:
            change = self._delete if self._rand.random() < 0.3 else self._paint
        try:
            await change(client, resource, name, colour)
        except (ApiError, ConnectionFailed) as error:
            if isinstance(error, ApiError) and error.code in {404, 409}:
                self._present[resource.plural, name] = error.code == 409
        else:
            self.report.writes += 1

    async def _create(self, client: Client, resource: Resource[Any], name: str, colour: str) -> None:
        labels = {"soak": self._mark, "colour": colour}
        made: dict[str, Any] = {"metadata": {"name": self._name(resource, name), "labels": labels}}
        if resource is PODS:
            made["spec"] = {"containers": [{"name": "c", "image": "none"}], "schedulerName": "nobody"}
        if resource is QUEUES:
            made["spec"] = {"weight": 1}
        await client.create(resource, made, self._scope(resource))
        self._present[resource.plural, name] = True

    async def _paint(self, client: Client, resource: Resource[Any], name: str, colour: str) -> None:
        labels = {"colour": colour, "stroke": str(self._rand.random())}
        patch = MergePatch({"metadata": {"labels": labels}})
        await client.patch(resource, self._name(resource, name), self._scope(resource), patch)

    async def _delete(self, client: Client, resource: Resource[Any], name: str, _colour: str) -> None:
        await client.delete(resource, self._name(resource, name), self._scope(resource), grace_period=0)
        self._present[resource.plural, name] = False

    def _name(self, resource: Resource[Any], name: str) -> str:
        return name if resource.namespaced else f"{self._mark}-{name}"

    def _scope(self, resource: Resource[Any]) -> str | None:
        return self._namespace if resource.namespaced else None

    async def _compare(self, watched: list[Watched], truth: Client) -> list[str]:
        """Wait until every cache equals the server, for a minute at most, and read the stories."""
        until = time.monotonic() + 60
        while True:
            differences = [found for each in watched if (found := await each.difference(truth, self._namespace))]
            if not differences or time.monotonic() > until:
                return differences + [fault for each in watched for fault in each.faults()]
            await asyncio.sleep(0.2)

    async def _clean_up(self, truth: Client) -> None:
        for resource in (CONFIG_MAPS, PODS, QUEUES):
            mine = f"soak={self._mark}"
            await truth.delete_collection(resource, self._scope(resource), label_selector=mine, grace_period=0)

    def _sum_up(self, watched: list[Watched], before: tuple[float, float]) -> None:
        report = self.report
        for each in watched:
            report.heard["added"] += each.story.begun.total()
            report.heard["updated"] += each.story.updates
            report.heard["deleted"] += each.story.ended.total()
        report.lists = int(_total(LISTS) - before[0])
        report.expired = int(_gone() - before[1])


def _total(metric: Collector) -> float:
    """Sum of a counter over all its series."""
    return sum(sample.value for family in metric.collect() for sample in family.samples)


def _gone() -> float:
    return sum(s.value for family in FAILURES.collect() for s in family.samples if s.labels.get("error") == "Gone")


async def soak(plane: ControlPlane, options: argparse.Namespace) -> Report:
    """One run, in a namespace made for it."""
    async with Transport(load(str(plane.kubeconfig))) as transport:
        client = Client(transport)
        await client.create(NAMESPACES, {"metadata": {"name": "soak"}})
        while not (await client.list(SERVICE_ACCOUNTS, "soak")).items:  # noqa: ASYNC110  # no pod is let in before
            await asyncio.sleep(0.2)
    return await Soak(plane, "soak", seed=options.seed, rate=options.rate).run(options.seconds)


def main() -> None:
    """Start a control plane, run, report; exit code 1 when anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rate", type=float, default=150.0)
    parser.add_argument("--verbose", action="store_true", help="show the informers' warnings, too")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING if options.verbose else logging.ERROR)
    print(f"seed {options.seed}", flush=True)
    with ControlPlane(f"soak-{options.seed}", report=print) as plane:
        crd = ROOT / "config" / "crd" / "bases" / "scheduling.volcano.sh_queues.yaml"
        plane.apply_crds([yaml.safe_load(crd.read_text())])
        report = asyncio.run(soak(plane, options))
    print(report)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
