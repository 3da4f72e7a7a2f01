"""
What must always hold, under random loads, kills and outages on the real control plane.

    CHAOS_SECONDS=600 CHAOS_SEED=7 pytest tests/integration/test_invariants.py -s

Short by default. The seed is printed, and with a violation the scheduler's state is dumped for
`python -m scheduler replay`.

- A gang that was never whole is whole or has no pod bound, but while it is being bound, and for a while after a kill.
- No node holds more than it can.
- Nobody moves a bound pod.
- At rest: each waiting group says why, the queue's usage is the sum of its pods, and nothing is written any more.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from runtime.errors import ApiError, ConnectionFailed, NotFound
from runtime.quantity import milli
from tests.integration.schedulers import GROUPS, PODS, Scheduler

SECONDS = float(os.environ.get("CHAOS_SECONDS", "25"))
NODES, NODE_CPU = 5, 8_000
GRACE = 12.0
"""Seconds in which a gang that a kill left partly bound is completed: start, three periods and some load beside."""
SETTLE = 60.0
QUIET = 8.0
CONFIGURATION = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""
PRIORITY = "chaos-high"
FINISHED = {"Succeeded", "Failed"}


def millicores(pod: dict[str, Any]) -> int:
    return sum(milli(container["resources"]["requests"]["cpu"]) for container in pod["spec"]["containers"])


@dataclass
class Watcher:
    """Looks at pods all the time, and notes what must not be."""

    plane: ControlPlane
    namespace: str
    minimum: dict[str, int]
    violations: list[str] = field(default_factory=list)
    disturbed: float = 0.0
    """When the scheduler or the API server was last killed."""
    _nodes: dict[str, str] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)
    _partial: dict[str, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        api = ControlPlane(self.plane.name, directory=self.plane.layout.root).api
        while not self._over.wait(0.2):
            try:
                pods = api.get(PODS.format(self.namespace))["items"]
            except (ApiError, ConnectionFailed):
                continue
            self.look(pods, time.monotonic())
        api.close()

    def stop(self) -> None:
        self._over.set()

    def look(self, pods: list[dict[str, Any]], now: float) -> None:
        used: dict[str, int] = {}
        bound: dict[str, int] = {}
        for pod in pods:
            node, uid = pod["spec"].get("nodeName", ""), pod["metadata"]["uid"]
            if not node:
                continue
            if self._nodes.setdefault(uid, node) != node:
                self.violations.append(f"pod {pod['metadata']['name']} moved from {self._nodes[uid]} to {node}")
            if pod["status"].get("phase") not in FINISHED:
                used[node] = used.get(node, 0) + millicores(pod)
            group = pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
            bound[group] = bound.get(group, 0) + 1
        over = {node: cpu for node, cpu in used.items() if cpu > NODE_CPU}
        if over:
            self.violations.append(f"more than {NODE_CPU} millicores on {over}")
        self._look_at_gangs(bound, now)

    def _look_at_gangs(self, bound: dict[str, int], now: float) -> None:
        for group, least in list(self.minimum.items()):
            count = bound.get(group, 0)
            if count >= least:
                self._whole.add(group)
            if not count or group in self._whole:
                self._partial.pop(group, None)
                continue
            since = self._partial.setdefault(group, now)
            if now - max(since, self.disturbed) > GRACE:
                self.violations.append(f"gang {group} has {count} of {least} pods bound for {now - since:.0f} s")
                self._whole.add(group)  # told once


class Chaos:
    """Random things that happen to a cluster."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: list[str], scheduler: Scheduler, seed: int) -> None:
        self.plane = plane
        self.namespace = namespace
        self.nodes = nodes
        self.scheduler = scheduler
        self.rand = random.Random(seed)
        self.minimum: dict[str, int] = {}
        self.watcher = Watcher(plane, namespace, self.minimum)
        self._count = 0

    def step(self) -> None:
        actions: list[tuple[int, Callable[[], None]]] = [
            (8, self.create_gang),
            (4, self.delete_gang),
            (2, self.delete_pod),
            (1, self.kill_scheduler),
            (1, self.restart_scheduler),
        ]
        act = self.rand.choices([act for _, act in actions], [weight for weight, _ in actions])[0]
        act()

    def create_gang(self) -> None:
        self._count += 1
        name, pods = f"g{self._count}", self.rand.randint(1, 6)
        cpu = self.rand.choice(["500m", "1", "2", "3"])
        priority = self.rand.choice(["", "", PRIORITY])
        least = self.rand.randint(1, pods)
        self.plane.api.create(GROUPS.format(self.namespace), {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"minMember": least, "queue": "default", **({"priorityClassName": priority} if priority else {})},
        })  # fmt: skip
        self.minimum[name] = least
        for number in range(pods):
            self._create_pod(name, number, cpu, priority)

    def _create_pod(self, group: str, number: int, cpu: str, priority: str) -> None:
        names = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self.nodes}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [names]}}
        spec: dict[str, Any] = {
            "schedulerName": self.namespace,
            "affinity": {"nodeAffinity": required},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
        }
        if priority:
            spec["priorityClassName"] = priority
        annotations = {"scheduling.k8s.io/group-name": group}
        if self.rand.random() < 0.5:
            annotations["stromboli.dev/run-seconds"] = str(self.rand.randint(1, 8))
            spec["restartPolicy"] = "Never"
        metadata = {"name": f"{group}-{number}", "annotations": annotations}
        self.plane.api.create(PODS.format(self.namespace), {"metadata": metadata, "spec": spec})

    def delete_gang(self) -> None:
        if not self.minimum:
            return
        name = self.rand.choice(sorted(self.minimum))
        del self.minimum[name]
        for pod in self.pods():
            if pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == name:
                self._delete(f"{PODS.format(self.namespace)}/{pod['metadata']['name']}")
        self._delete(f"{GROUPS.format(self.namespace)}/{name}")

    def delete_pod(self) -> None:
        pods = self.pods()
        if pods:
            pod = self.rand.choice(pods)
            group = pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
            self.minimum.pop(group, None)  # one that lost a pod may be less than whole for ever
            self._delete(f"{PODS.format(self.namespace)}/{pod['metadata']['name']}")

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.start()
        self.watcher.disturbed = time.monotonic()

    def restart_scheduler(self) -> None:
        self.scheduler.end()
        self.scheduler.start()
        self.watcher.disturbed = time.monotonic()

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.plane.api.get(PODS.format(self.namespace))["items"]
        return found

    def groups(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.plane.api.get(GROUPS.format(self.namespace))["items"]
        return found

    def _delete(self, path: str) -> None:
        try:
            self.plane.api.delete(path)
        except NotFound:
            return


@pytest.fixture
def chaos(
    control_plane: ControlPlane,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    tmp_path: Path,
) -> Iterator[Chaos]:
    seed = int(os.environ.get("CHAOS_SEED", time.time_ns() % 1_000_000))
    print(f"CHAOS_SEED={seed}")  # noqa: T201  # to run it again
    nodes = kwok_nodes(NODES, resources={"cpu": str(NODE_CPU // 1000), "memory": "32Gi"})
    (tmp_path / "scheduler.conf").write_text(CONFIGURATION)
    place = f"/apis/scheduling.k8s.io/v1/priorityclasses/{PRIORITY}"
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": PRIORITY}}
    control_plane.api.apply(place, {**kind, "value": 1000})
    scheduler = Scheduler(kubeconfig, namespace, tmp_path)
    yield Chaos(control_plane, namespace, nodes, scheduler, seed)
    scheduler.kill()


_WRITE = re.compile(
    r'^apiserver_request_total\{.*resource="(pods|podgroups|queues|events)".*verb="(\w+)".*\} (\S+)$', re.MULTILINE
)
_WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}


def writes(plane: ControlPlane) -> int:
    """Writes to pods, groups, queues and events so far."""
    found = _WRITE.findall(str(plane.api.get("/metrics")))
    return int(sum(float(count) for _, verb, count in found if verb in _WRITES))


def test_what_must_hold_holds_whatever_happens(chaos: Chaos) -> None:
    looking = threading.Thread(target=chaos.watcher.run)
    looking.start()
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and not chaos.watcher.violations:
            chaos.step()
            threading.Event().wait(chaos.rand.uniform(0.05, 0.6))
        settled = wait_until(lambda: is_settled(chaos), SETTLE)
    finally:
        chaos.watcher.stop()
        looking.join()
    if chaos.watcher.violations or not settled:
        chaos.scheduler.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: bool(list(chaos.scheduler.directory.glob("snapshot-*"))), 90)
    assert not chaos.watcher.violations
    assert settled, [(group["metadata"]["name"], group.get("status")) for group in chaos.groups()]

    assert wait_until(lambda: is_all_told(chaos), SETTLE), "writes don't come to an end"
    before = writes(chaos.plane)
    threading.Event().wait(QUIET)
    assert writes(chaos.plane) == before, "something is written although nothing happens"


def is_all_told(chaos: Chaos) -> bool:
    """Each group's numbers are those of its pods, and nothing waits: texts with other numbers do so for half a minute."""
    waiting = [chaos.scheduler.metric(f"volcano_{what}_waiting") for what in ("scheduler_writes", "events")]
    if waiting != [0.0, 0.0]:
        return False
    before = writes(chaos.plane)
    threading.Event().wait(2.0)
    counts = Counter((group_of(pod), pod["status"].get("phase")) for pod in chaos.pods())
    are_true = all(
        group.get("status", {}).get(phase.lower(), 0) == counts[group["metadata"]["name"], phase]
        for group in chaos.groups()
        for phase in ("Running", "Succeeded", "Failed")
    )
    return are_true and writes(chaos.plane) == before


def group_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"])


def is_settled(chaos: Chaos) -> bool:
    """Each group that waits says why, and the pods of no other one wait."""
    waiting = {
        group_of(pod)
        for pod in chaos.pods()
        if not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    }
    running = any(
        pod["status"].get("phase") == "Running" and "stromboli.dev/run-seconds" in pod["metadata"]["annotations"]
        for pod in chaos.pods()
    )
    told = {group["metadata"]["name"] for group in chaos.groups() if conditions(group)}
    bound = {group_of(pod) for pod in chaos.pods() if pod["spec"].get("nodeName")}
    return not running and waiting <= told | bound


def conditions(group: dict[str, Any]) -> list[dict[str, Any]]:
    found = group.get("status", {}).get("conditions", [])
    return [held for held in found if held["type"] == "Unschedulable" and held["message"]]
