"""
Jobs on a cluster as users run them, from their creation to their pods: scheduler, controllers and API server are real.

One scheduler and one controller manager serve all tests, each in a namespace of its own; the cluster is theirs in turn.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane, NodePool
from cluster.annotations import RUN_SECONDS
from cluster.processes import wait_until
from runtime.errors import NotFound
from tests.integration.schedulers import GROUPS, PODS, Scheduler
from tests.integration.takeover import Controllers
from tests.integration.workloads import Workloads, task

PATIENCE = 60
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
CONFIGURATION = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableJobStarving: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""


@pytest.fixture(scope="module")
def nodes(control_plane: ControlPlane) -> Iterator[list[str]]:
    """Two nodes of 4 cpu."""
    pool = NodePool(2, resources={"cpu": "4", "memory": "8Gi"}, prefix=f"n{secrets.token_hex(3)}")
    made = control_plane.add_nodes(pool)
    yield made
    control_plane.remove_nodes(made)


@pytest.fixture(scope="module")
def name(
    control_plane: ControlPlane, kubeconfig: Path, nodes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of a scheduler at work, and of two priority classes by which jobs may be `-low` and `-high`."""
    made, directory = f"scenarios-{secrets.token_hex(3)}", tmp_path_factory.mktemp("scenarios")
    for suffix, value in (("low", 1), ("high", 100)):
        control_plane.api.create(CLASSES, {"metadata": {"name": f"{made}-{suffix}"}, "value": value})
    (directory / "scheduler.conf").write_text(CONFIGURATION)
    scheduler, controllers = Scheduler(kubeconfig, made, directory), Controllers(kubeconfig, made, directory)
    yield made
    scheduler.kill()
    controllers.end()
    for suffix in ("low", "high"):
        control_plane.api.delete(f"{CLASSES}/{made}-{suffix}")


@pytest.fixture
def jobs(control_plane: ControlPlane, namespace: str, name: str, nodes: list[str]) -> Iterator[Workloads]:
    """Jobs on an empty cluster; they are gone before the next test begins."""
    api = control_plane.api
    yield Workloads(control_plane, namespace, name)
    api.delete(f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs")
    api.delete(PODS.format(namespace))
    assert wait_until(
        lambda: not any(pod["spec"].get("nodeName") in nodes for pod in api.items("/api/v1/pods")), PATIENCE
    )


@pytest.fixture
def queue(control_plane: ControlPlane) -> Iterator[Callable[..., str]]:
    """Makes queues: `queue("a", weight=2)` gives the name."""
    made: list[str] = []

    def make(stem: str, **spec: Any) -> str:
        made.append(f"{stem}-{secrets.token_hex(3)}")
        control_plane.api.create(QUEUES, {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": made[-1]}, "spec": {"weight": 1, **spec},
        })  # fmt: skip
        return made[-1]

    yield make
    for each in made:
        with contextlib.suppress(NotFound):
            control_plane.api.delete(f"{QUEUES}/{each}")


def test_of_two_jobs_that_fill_the_cluster_the_second_runs_when_the_first_is_gone(jobs: Workloads) -> None:
    jobs.create("first", task("w", 8))
    assert wait_until(lambda: jobs.phase("first") == "Running" and jobs.group_phase("first") == "Running", PATIENCE)
    jobs.create("second", task("w", 8))
    assert wait_until(lambda: "resource quota insufficient" in jobs.message("second"), PATIENCE)
    assert (jobs.group_phase("second"), jobs.pods("second"), jobs.running("first")) == ("Pending", [], (8,))
    jobs.delete("first")
    assert wait_until(lambda: jobs.running("second") == (8,) and jobs.phase("second") == "Running", PATIENCE)


def test_pods_that_ask_for_nothing_run_on_a_full_cluster_though_evictions_are_on(jobs: Workloads) -> None:
    jobs.create("full", task("w", 8))
    assert wait_until(lambda: jobs.running("full") == (8,), PATIENCE)
    jobs.create("free", task("w", 3, None))
    jobs.create("mixed", task("w", 1, None), task("more", 1), minimum=1)
    assert wait_until(lambda: jobs.running("free", "mixed") == (3, 1), PATIENCE)
    assert (jobs.running("full"), jobs.evictions()) == ((8,), [])


def test_an_urgent_job_takes_the_room_of_pods_of_its_queue_and_of_no_more_than_it_needs(
    jobs: Workloads, name: str, queue: Callable[..., str]
) -> None:
    own, other = queue("own"), queue("other")
    jobs.create("low", task("w", 4), minimum=1, queue=own, priorityClassName=f"{name}-low")
    jobs.create("far", task("w", 4), minimum=1, queue=other, priorityClassName=f"{name}-low")
    assert wait_until(lambda: jobs.running("low", "far") == (4, 4), PATIENCE)
    jobs.create("high", task("w", 2), queue=own, priorityClassName=f"{name}-high")
    assert wait_until(lambda: jobs.phase("high") == "Running", PATIENCE)
    assert wait_until(lambda: len(jobs.pods("low")) == 4, PATIENCE)
    assert jobs.running("low", "far", "high") == (2, 4, 2)
    assert wait_until(lambda: len(jobs.evictions()) == 2, PATIENCE)


def test_queues_of_equal_weight_end_with_half_the_cluster_each(jobs: Workloads, queue: Callable[..., str]) -> None:
    jobs.create("rich", task("w", 8), minimum=1, queue=queue("rich"))
    assert wait_until(lambda: jobs.running("rich") == (8,), PATIENCE)
    jobs.create("poor", task("w", 8), minimum=1, queue=queue("poor"))
    assert wait_until(lambda: jobs.running("rich", "poor") == (4, 4), PATIENCE)
    assert wait_until(lambda: len(jobs.pods("rich")) == 8, PATIENCE)
    # Events come last: they wait while there is more urgent work.
    assert wait_until(lambda: len(jobs.evictions()) == 4, PATIENCE)
    assert jobs.running("rich", "poor") == (4, 4)


def test_a_queue_that_closes_keeps_what_runs_and_lets_nothing_in(
    control_plane: ControlPlane, jobs: Workloads, queue: Callable[..., str]
) -> None:
    closing = queue("closing")
    jobs.create("old", task("w", 2), queue=closing)
    assert wait_until(lambda: jobs.running("old") == (2,), PATIENCE)
    uid = control_plane.api.get(f"{QUEUES}/{closing}")["metadata"]["uid"]
    control_plane.api.create("/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands", {
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": closing},
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": closing, "uid": uid},
        "action": "CloseQueue",
    })  # fmt: skip

    def state() -> Any:
        return control_plane.api.get(f"{QUEUES}/{closing}").get("status", {}).get("state")

    assert wait_until(lambda: state() == "Closing", PATIENCE)
    jobs.create("new", task("w", 1), queue=closing)
    assert wait_until(lambda: f"queue {closing} is not open" in jobs.message("new"), PATIENCE)
    assert (jobs.running("old"), jobs.pods("new")) == ((2,), [])
    jobs.delete("old")
    jobs.delete("new")
    assert wait_until(lambda: state() == "Closed", PATIENCE)


def test_host_ports_and_taints_hold_pods_back_until_they_go(
    control_plane: ControlPlane, jobs: Workloads, nodes: list[str]
) -> None:
    jobs.create("ports", task("w", 3, ports=[{"containerPort": 80, "hostPort": 28080}]), minimum=2)
    assert wait_until(lambda: jobs.running("ports") == (2,), PATIENCE)
    assert jobs.places("ports") == sorted(nodes)
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    for node in nodes:
        control_plane.api.merge(f"/api/v1/nodes/{node}", {"spec": {"taints": [taint]}})
    jobs.create("waits", task("w", 2))
    assert wait_until(lambda: "untolerated taint" in jobs.message("waits"), PATIENCE)
    assert jobs.places("waits") == []
    for node in nodes:
        control_plane.api.merge(f"/api/v1/nodes/{node}", {"spec": {"taints": None}})
    assert wait_until(lambda: jobs.running("waits") == (2,), PATIENCE)


@pytest.fixture
def racks(control_plane: ControlPlane, nodes: list[str]) -> Iterator[None]:
    """Each node is a hypernode of tier 1, by the name of rack."""
    for node in nodes:
        member = {"type": "Node", "selector": {"exactMatch": {"name": node}}}
        control_plane.api.create(HYPERNODES, {
            "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": f"rack-{node}"},
            "spec": {"tier": 1, "tierName": "rack", "members": [member]},
        })  # fmt: skip
    yield
    for node in nodes:
        control_plane.api.delete(f"{HYPERNODES}/rack-{node}")


@pytest.mark.usefixtures("racks")
def test_jobs_and_their_partitions_stay_within_the_tiers_that_they_name(jobs: Workloads) -> None:
    rack = {"mode": "hard", "highestTierName": "rack"}
    parts = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 2, "networkTopology": rack}
    jobs.create("together", task("w", 3), networkTopology={"mode": "hard", "highestTierAllowed": 1})
    assert wait_until(lambda: jobs.running("together") == (3,), PATIENCE)
    assert len(set(jobs.places("together"))) == 1
    jobs.create("wide", task("w", 5), networkTopology=rack)
    assert wait_until(lambda: "no hypernode of tier 1 or lower" in jobs.message("wide"), PATIENCE)
    assert jobs.places("wide") == []
    jobs.delete("wide")
    jobs.create("parts", task("w", 4, partitionPolicy=parts))
    assert wait_until(lambda: jobs.running("parts") == (4,), PATIENCE)
    places: dict[str, set[str]] = {}
    for pod in jobs.pods("parts"):
        places.setdefault(pod["metadata"]["labels"]["volcano.sh/partition-id"], set()).add(pod["spec"]["nodeName"])
    assert [len(each) for each in places.values()] == [1, 1]


@pytest.mark.usefixtures("jobs")
def test_a_group_is_not_over_while_one_of_its_pods_has_yet_to_run(
    control_plane: ControlPlane, namespace: str, name: str
) -> None:
    """As of a Kubernetes job that runs its pods one after the other."""
    api, groups, pods = control_plane.api, GROUPS.format(namespace), PODS.format(namespace)
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    api.create(groups, {**group, "spec": {"minMember": 1}})

    def run(pod: str, cpu: str) -> None:
        annotations = {"scheduling.k8s.io/group-name": "g", RUN_SECONDS: "1"}
        container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
        spec = {"schedulerName": name, "restartPolicy": "Never", "containers": [container]}
        api.create(pods, {"metadata": {"name": pod, "annotations": annotations}, "spec": spec})

    def phase() -> Any:
        return api.get(f"{groups}/g").get("status", {}).get("phase")

    run("first", "1")
    assert wait_until(lambda: phase() == "Completed", PATIENCE)
    run("second", "5")
    assert wait_until(lambda: phase() == "Running", PATIENCE)
    api.delete(f"{pods}/second", gracePeriodSeconds="0")
    assert wait_until(lambda: phase() == "Completed", PATIENCE)
