"""The fast path, shards and admission gates on the real control plane (scheduler.md 11.7, 16, 17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api import names
from cluster import ControlPlane
from cluster.processes import wait_until
from runtime.errors import NotFound
from tests.integration.schedulers import GROUPS, PODS, Gangs, Scheduler

SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
EVENTS = "/api/v1/namespaces/{}/events"
FAST = "actions: allocate\ntiers: [{plugins: [{name: predicates}, {name: nodeorder}]}]\n"
BY_CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}]
"""
OUTSIDE = "node isn't in scheduler node shard"


@pytest.fixture
def nodes(kwok_nodes: Callable[..., list[str]]) -> list[str]:
    return kwok_nodes(2, resources={"cpu": "4", "memory": "8Gi"})


@pytest.fixture
def begin(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    made: list[Scheduler] = []

    def start(text: str, *flags: str, module: str = "scheduler.agentscheduler") -> Scheduler:
        (tmp_path / "scheduler.conf").write_text(text)
        made.append(Scheduler(kubeconfig, namespace, tmp_path, *flags, module=module))
        return made[-1]

    yield start
    for scheduler in made:
        scheduler.kill()


class Pods:
    """Single pods for the scheduler of a test, on its nodes."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: list[str]) -> None:
        self.api, self.path, self.namespace, self.nodes = plane.api, PODS.format(namespace), namespace, nodes

    def create(self, name: str, cpu: str = "1", annotations: dict[str, str] | None = None, **spec: Any) -> None:
        within = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": self.nodes}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [within]}}}
        self.api.create(self.path, {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {
                "schedulerName": self.namespace, "affinity": affinity,
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}], **spec,
            },
        })  # fmt: skip

    def node_of(self, name: str) -> str:
        found: dict[str, Any] = self.api.get(f"{self.path}/{name}")
        return str(found["spec"].get("nodeName", ""))

    def message(self, name: str) -> str:
        found: dict[str, Any] = self.api.get(f"{self.path}/{name}")
        conditions = found.get("status", {}).get("conditions", [])
        return next((held["message"] for held in conditions if held["type"] == "PodScheduled"), "")

    def gates(self, name: str) -> list[str]:
        found: dict[str, Any] = self.api.get(f"{self.path}/{name}")
        return [gate["name"] for gate in found["spec"].get("schedulingGates", [])]


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str, nodes: list[str]) -> Pods:
    return Pods(control_plane, namespace, nodes)


class Shard:
    """A NodeShard of a test."""

    def __init__(self, plane: ControlPlane, name: str, *desired: str) -> None:
        self.api, self.path = plane.api, f"{SHARDS}/{name}"
        self.api.create(SHARDS, {
            "apiVersion": "shard.volcano.sh/v1alpha1", "kind": "NodeShard", "metadata": {"name": name},
            "spec": {"nodesDesired": list(desired)},
        })  # fmt: skip

    def desire(self, *desired: str) -> None:
        self.api.merge(self.path, {"spec": {"nodesDesired": list(desired)}})

    def use(self, *nodes: str) -> None:
        self.api.merge(f"{self.path}/status", {"status": {"nodesInUse": list(nodes)}})

    def status(self, field: str) -> list[str]:
        found: dict[str, Any] = self.api.get(self.path)
        return sorted(found.get("status", {}).get(field) or [])


@pytest.fixture
def shard(control_plane: ControlPlane) -> Iterator[Callable[..., Shard]]:
    made: list[Shard] = []

    def make(name: str, *desired: str) -> Shard:
        made.append(Shard(control_plane, name, *desired))
        return made[-1]

    yield make
    for one in made:
        try:
            control_plane.api.delete(one.path)
        except NotFound:
            continue


def test_single_pods_are_bound_and_one_that_fits_nowhere_hears_why_and_is_tried_again(
    control_plane: ControlPlane, namespace: str, begin: Callable[..., Scheduler], pods: Pods
) -> None:
    scheduler = begin(FAST)
    for number in range(4):
        pods.create(f"a-{number}", "2", annotations={"team": "x"})
    assert wait_until(lambda: all(pods.node_of(f"a-{number}") for number in range(4)), 60)
    pods.create("late", "3")
    assert wait_until(lambda: "Insufficient cpu" in pods.message("late"), 30), pods.message("late")

    def told() -> set[tuple[str, str, str]]:
        events: list[dict[str, Any]] = control_plane.api.get(EVENTS.format(namespace))["items"]
        return {(event["involvedObject"]["name"], event["reason"], event["type"]) for event in events}

    assert wait_until(lambda: {("a-0", "Scheduled", "Normal"), ("late", "FailedScheduling", "Warning")} <= told(), 90)
    assert scheduler.metric("volcano_worker_scheduling_cycle_duration_milliseconds_count")
    first = pods.node_of("a-0")
    for number in range(4):
        if pods.node_of(f"a-{number}") == first:
            control_plane.api.delete(f"{pods.path}/a-{number}", gracePeriodSeconds="0")
    assert wait_until(lambda: pods.node_of("late") == first, 90)
    pods.create("gated", schedulingGates=[{"name": "example.com/wait"}])
    control_plane.api.merge(f"{pods.path}/gated", {"spec": {"schedulingGates": None}})
    assert wait_until(lambda: bool(pods.node_of("gated")), 90)
    assert scheduler.end() == 1  # without election, as the Go scheduler does


def test_another_configuration_counts_for_pods_that_come_after_it(
    begin: Callable[..., Scheduler], pods: Pods, nodes: list[str]
) -> None:
    packed = FAST.replace("{name: nodeorder}", "{name: binpack}")
    scheduler = begin(packed)
    for number in range(3):
        pods.create(f"a-{number}")
    assert wait_until(lambda: all(pods.node_of(f"a-{number}") for number in range(3)), 60)
    assert len({pods.node_of(f"a-{number}") for number in range(3)}) == 1
    scheduler.configuration.write_text(FAST)
    assert wait_until(lambda: scheduler.log.read_text().count("Successfully loaded Scheduler conf") >= 3, 90)
    pods.create("b")
    assert wait_until(lambda: bool(pods.node_of("b")), 90)
    assert pods.node_of("b") != pods.node_of("a-0")


@pytest.mark.parametrize("module", ["scheduler.agentscheduler", "scheduler"])
def test_a_hard_shard_limits_the_nodes_and_its_status_follows(  # noqa: PLR0917  # fixtures by name
    begin: Callable[..., Scheduler], namespace: str, pods: Pods, nodes: list[str], module: str,
    shard: Callable[..., Shard], control_plane: ControlPlane,
) -> None:  # fmt: skip
    other = shard(f"{namespace}-other")
    other.use(nodes[1])
    mine = shard(namespace, nodes[0], nodes[1])
    text = FAST if module != "scheduler" else BY_CAPACITY
    begin(text, "--scheduler-sharding-mode=hard", f"--scheduler-sharding-name={namespace}", module=module)
    assert wait_until(lambda: mine.status("nodesInUse") == [nodes[0]], 60)
    assert (mine.status("nodesToAdd"), mine.status("nodesToRemove")) == ([nodes[1]], [])
    annotations = {names.GROUP_NAME_ANNOTATION: "group"}
    control_plane.api.create(GROUPS.format(namespace), {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "group"},
        "spec": {"minMember": 1, "queue": "default"},
    })  # fmt: skip
    for number in range(5):
        pods.create(f"a-{number}", annotations=annotations)
    assert wait_until(lambda: sum(bool(pods.node_of(f"a-{number}")) for number in range(5)) == 4, 60)
    assert {pods.node_of(f"a-{number}") for number in range(5)} == {nodes[0], ""}
    (left,) = [f"a-{number}" for number in range(5) if not pods.node_of(f"a-{number}")]
    assert wait_until(lambda: OUTSIDE in pods.message(left), 30), pods.message(left)
    other.use()
    assert wait_until(lambda: pods.node_of(left) == nodes[1], 90)
    assert wait_until(lambda: mine.status("nodesInUse") == sorted(nodes), 90)
    mine.desire(nodes[1])
    assert wait_until(lambda: mine.status("nodesInUse") == [nodes[1]], 90)


def test_a_soft_shard_comes_first_and_other_nodes_after_it(
    begin: Callable[..., Scheduler], namespace: str, pods: Pods, nodes: list[str], shard: Callable[..., Shard]
) -> None:
    mine = shard(namespace, nodes[1])
    begin(FAST, "--scheduler-sharding-mode=soft", f"--scheduler-sharding-name={namespace}")
    assert wait_until(lambda: mine.status("nodesInUse") == [nodes[1]], 60)
    for number in range(4):
        pods.create(f"a-{number}")
    assert wait_until(lambda: all(pods.node_of(f"a-{number}") for number in range(4)), 60)
    assert {pods.node_of(f"a-{number}") for number in range(4)} == {nodes[1]}
    pods.create("more")
    assert wait_until(lambda: pods.node_of("more") == nodes[0], 90)


def test_a_queue_opens_gates_as_far_as_it_has_room(
    begin: Callable[..., Scheduler], control_plane: ControlPlane, namespace: str, nodes: list[str], pods: Pods
) -> None:
    queue = f"q-{namespace}"
    control_plane.api.create(QUEUES, {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": queue},
        "spec": {"weight": 1, "capability": {"cpu": "2", "memory": "4Gi"}},
    })  # fmt: skip
    try:
        begin(BY_CAPACITY, "--feature-gates=SchedulingGatesQueueAdmission=true", module="scheduler")
        Gangs(control_plane, namespace, nodes).create("job", 0, "1", minimum=1, queue=queue)
        gate = names.QUEUE_ALLOCATION_GATE
        for number in range(3):
            pods.create(
                f"job-{number}",
                annotations={names.GROUP_NAME_ANNOTATION: "job", gate: "true"},
                schedulingGates=[{"name": gate}],
            )
        assert wait_until(lambda: sum(bool(pods.node_of(f"job-{number}")) for number in range(3)) == 2, 60)
        (left,) = [f"job-{number}" for number in range(3) if not pods.node_of(f"job-{number}")]
        assert pods.gates(left) == [gate]
        done = next(f"job-{number}" for number in range(3) if f"job-{number}" != left)
        assert pods.gates(done) == []
        control_plane.api.delete(f"{pods.path}/{done}", gracePeriodSeconds="0")
        assert wait_until(lambda: bool(pods.node_of(left)), 60)
    finally:
        control_plane.api.delete(f"{QUEUES}/{queue}")
