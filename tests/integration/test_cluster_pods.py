"""How simulated nodes treat their pods."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Any

import pytest

from cluster import ControlPlane
from cluster.annotations import EXIT_CODE, MANAGED_NODE, RUN_SECONDS, STOP_SECONDS
from cluster.processes import wait_until
from runtime.errors import NotFound

PATIENCE = 60.0
FINALIZER = "example.com/hold"

Nodes = Callable[..., list[str]]


class Pods:
    """Pods of one namespace, bound to one node."""

    def __init__(self, plane: ControlPlane, namespace: str, node: str) -> None:
        self.plane = plane
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.node = node

    def create(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        finalizers = spec.pop("finalizers", [])
        metadata = {"name": name, "annotations": annotations or {}, "finalizers": finalizers}
        containers = [{"name": "main", "image": "busybox"}]
        self.plane.api.create(
            self.path, {"metadata": metadata, "spec": {"nodeName": self.node, "containers": containers, **spec}}
        )

    def get(self, name: str) -> dict[str, Any]:
        pod: dict[str, Any] = self.plane.api.get(f"{self.path}/{name}")
        return pod

    def status(self, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self.get(name)["status"]
        return status

    def phase(self, name: str) -> str:
        return str(self.status(name)["phase"])

    def exists(self, name: str) -> bool:
        try:
            self.get(name)
        except NotFound:
            return False
        return True

    def reaches(self, name: str, *phases: str) -> bool:
        return wait_until(lambda: self.phase(name) in phases, PATIENCE)

    def delete(self, name: str, **options: str) -> None:
        self.plane.api.delete(f"{self.path}/{name}", **options)

    def annotate(self, name: str, **annotations: str) -> None:
        self.plane.api.merge(f"{self.path}/{name}", {"metadata": {"annotations": annotations}})

    def let_go(self, name: str) -> None:
        self.plane.api.merge(f"{self.path}/{name}", {"metadata": {"finalizers": None}})


@pytest.fixture
def pods(control_plane: ControlPlane, namespace: str, kwok_nodes: Nodes) -> Pods:
    return Pods(control_plane, namespace, kwok_nodes(1)[0])


def terminated(container: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = container["state"]["terminated"]
    return state


def conditions(status: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def seconds_between(earlier: str, later: str) -> float:
    return (dt.datetime.fromisoformat(later) - dt.datetime.fromisoformat(earlier)).total_seconds()


def test_a_pod_becomes_ready_and_stays_until_it_is_deleted(pods: Pods) -> None:
    pods.create("stays")
    assert pods.reaches("stays", "Running")
    status = pods.status("stays")
    assert conditions(status) == dict.fromkeys(
        ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"), "True"
    )
    (container,) = status["containerStatuses"]
    assert container["ready"]
    assert container["started"]
    assert container["name"] == "main"
    assert "running" in container["state"]
    assert status["startTime"]
    # Another pod comes and ends; this one has not moved.
    pods.create("comes-and-goes", {RUN_SECONDS: "1"})
    assert pods.reaches("comes-and-goes", "Succeeded")
    assert pods.phase("stays") == "Running"
    pods.delete("stays")
    assert wait_until(lambda: not pods.exists("stays"), PATIENCE)


@pytest.mark.parametrize(
    ("code", "phase", "reason"),
    [(None, "Succeeded", "Completed"), ("0", "Succeeded", "Completed"), ("7", "Failed", "Error")],
)
def test_a_pod_ends_after_its_time_with_its_exit_code(pods: Pods, code: str | None, phase: str, reason: str) -> None:
    annotations = {RUN_SECONDS: "1"} | ({EXIT_CODE: code} if code else {})
    containers = [{"name": name, "image": "busybox"} for name in ("one", "two")]
    pods.create("ends", annotations, containers=containers, restartPolicy="Never")
    assert pods.reaches("ends", "Running")
    began = time.monotonic()
    assert pods.reaches("ends", "Succeeded", "Failed")
    assert time.monotonic() - began > 0.5
    status = pods.status("ends")
    assert status["phase"] == phase
    assert [container["name"] for container in status["containerStatuses"]] == ["one", "two"]
    for container in status["containerStatuses"]:
        assert terminated(container)["exitCode"] == int(code or 0)
        assert terminated(container)["reason"] == reason
        assert seconds_between(terminated(container)["startedAt"], terminated(container)["finishedAt"]) >= 1
        assert not container["ready"]
    assert conditions(status)["Ready"] == "False"
    assert conditions(status)["PodScheduled"] == "True"
    assert status["podIP"]


@pytest.mark.parametrize("seconds", ["0", "0.3"])
def test_short_times_are_kept(pods: Pods, seconds: str) -> None:
    pods.create("short", {RUN_SECONDS: seconds})
    assert pods.reaches("short", "Succeeded")


def test_changes_to_a_running_pod_do_not_prolong_it(pods: Pods) -> None:
    pods.create("busy", {RUN_SECONDS: "3"})
    assert pods.reaches("busy", "Running")
    changes = 0

    def has_ended() -> bool:
        nonlocal changes
        changes += 1
        pods.annotate("busy", change=str(changes))
        return pods.phase("busy") == "Succeeded"

    assert wait_until(has_ended, PATIENCE, pause=0.2)
    assert changes > 3
    (container,) = pods.status("busy")["containerStatuses"]
    assert seconds_between(terminated(container)["startedAt"], terminated(container)["finishedAt"]) >= 3


def test_a_running_pod_can_be_told_to_end(pods: Pods) -> None:
    pods.create("told")
    assert pods.reaches("told", "Running")
    pods.annotate("told", **{RUN_SECONDS: "0", EXIT_CODE: "137"})
    assert pods.reaches("told", "Failed")
    assert terminated(pods.status("told")["containerStatuses"][0])["exitCode"] == 137


@pytest.mark.parametrize(
    "annotations",
    [{RUN_SECONDS: "2s"}, {RUN_SECONDS: "-1"}, {RUN_SECONDS: "1", EXIT_CODE: "256"}, {STOP_SECONDS: "long"}],
    ids=str,
)
def test_an_annotation_that_cannot_be_read_fails_the_pod_and_says_so(pods: Pods, annotations: dict[str, str]) -> None:
    pods.create("odd", annotations)
    assert pods.reaches("odd", "Failed")
    status = pods.status("odd")
    assert status["reason"] == "InvalidAnnotation"
    assert "stromboli.dev/run-seconds and stromboli.dev/stop-seconds take seconds" in status["message"]


def test_a_deleted_pod_is_stopped_and_then_removed(pods: Pods) -> None:
    pods.create("held", finalizers=[FINALIZER])
    assert pods.reaches("held", "Running")
    pods.delete("held")
    assert pods.reaches("held", "Failed")
    assert terminated(pods.status("held")["containerStatuses"][0])["exitCode"] == 143
    assert wait_until(lambda: pods.get("held")["metadata"]["deletionGracePeriodSeconds"] == 0, PATIENCE)
    assert pods.get("held")["metadata"]["finalizers"] == [FINALIZER]
    pods.let_go("held")
    assert wait_until(lambda: not pods.exists("held"), PATIENCE)


def test_a_pod_takes_its_time_to_stop(pods: Pods) -> None:
    pods.create("slow", {STOP_SECONDS: "2"}, finalizers=[FINALIZER])
    assert pods.reaches("slow", "Running")
    began = time.monotonic()
    pods.delete("slow")
    assert pods.phase("slow") == "Running"
    assert pods.get("slow")["metadata"]["deletionTimestamp"]
    assert pods.reaches("slow", "Failed")
    assert time.monotonic() - began > 1.5
    assert terminated(pods.status("slow")["containerStatuses"][0])["exitCode"] == 143
    pods.let_go("slow")


def test_a_pod_that_does_not_stop_in_its_grace_period_is_killed(pods: Pods) -> None:
    pods.create("stubborn", {STOP_SECONDS: "1000"}, finalizers=[FINALIZER], terminationGracePeriodSeconds=1)
    assert pods.reaches("stubborn", "Running")
    pods.delete("stubborn")
    assert pods.reaches("stubborn", "Failed")
    assert terminated(pods.status("stubborn")["containerStatuses"][0])["exitCode"] == 137
    pods.let_go("stubborn")


def test_deletion_without_grace_is_immediate(pods: Pods) -> None:
    pods.create("now", {STOP_SECONDS: "1000"})
    assert pods.reaches("now", "Running")
    pods.delete("now", gracePeriodSeconds="0")
    assert not pods.exists("now")


def test_a_pod_held_by_a_finalizer_stops_even_without_grace(pods: Pods) -> None:
    pods.create("held", finalizers=[FINALIZER])
    assert pods.reaches("held", "Running")
    pods.delete("held", gracePeriodSeconds="0")
    assert pods.reaches("held", "Failed")
    pods.let_go("held")
    assert wait_until(lambda: not pods.exists("held"), PATIENCE)


def test_init_containers_finish_and_sidecars_run_along(pods: Pods) -> None:
    init = [
        {"name": "prepare", "image": "busybox"},
        {"name": "sidecar", "image": "busybox", "restartPolicy": "Always"},
    ]
    pods.create("layered", {RUN_SECONDS: "1"}, initContainers=init)
    assert pods.reaches("layered", "Running")
    prepare, sidecar = pods.status("layered")["initContainerStatuses"]
    assert terminated(prepare)["exitCode"] == 0
    assert "running" in sidecar["state"]
    assert pods.reaches("layered", "Succeeded")
    assert [terminated(status)["exitCode"] for status in pods.status("layered")["initContainerStatuses"]] == [0, 0]


def test_pods_have_addresses_of_their_own_and_their_nodes(pods: Pods, control_plane: ControlPlane) -> None:
    for number in range(5):
        pods.create(f"pod-{number}")
    assert all(pods.reaches(f"pod-{number}", "Running") for number in range(5))
    statuses = [pods.status(f"pod-{number}") for number in range(5)]
    addresses = {status["podIP"] for status in statuses}
    assert len(addresses) == 5
    assert all(address.startswith("10.") for address in addresses)
    node = control_plane.api.get(f"/api/v1/nodes/{pods.node}")
    (host,) = (entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP")
    assert {status["hostIP"] for status in statuses} == {host}
    pods.create("host", hostNetwork=True)
    assert pods.reaches("host", "Running")
    assert pods.status("host")["podIP"] == host


def test_nodes_and_pods_that_are_not_ours_are_left_alone(pods: Pods, control_plane: ControlPlane) -> None:
    mute = f"mute-{pods.node}"
    control_plane.api.create("/api/v1/nodes", {"metadata": {"name": mute}})
    pods.create("unbound", nodeName="")
    pods.create("silent", nodeName=mute)
    pods.create("witness", {RUN_SECONDS: "1"})
    assert pods.reaches("witness", "Succeeded")
    assert pods.phase("unbound") == pods.phase("silent") == "Pending"
    assert "startTime" not in pods.status("silent")
    control_plane.remove_nodes([mute])


def test_a_node_made_by_hand_reports_in(control_plane: ControlPlane, namespace: str) -> None:
    name = f"by-hand-{namespace[-6:]}"
    metadata = {"name": name, "annotations": {MANAGED_NODE: "fake"}}
    control_plane.api.create("/api/v1/nodes", {"metadata": metadata})
    pods = Pods(control_plane, namespace, name)
    pods.create("first", {RUN_SECONDS: "0"})
    assert pods.reaches("first", "Succeeded")
    node = control_plane.api.get(f"/api/v1/nodes/{name}")
    assert node["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
    assert {condition["type"]: condition["status"] for condition in node["status"]["conditions"]} == {"Ready": "True"}
    control_plane.remove_nodes([name])


def test_a_node_set_unready_stays_so_and_is_tainted(control_plane: ControlPlane, kwok_nodes: Nodes) -> None:
    (name,) = kwok_nodes(1)
    path = f"/api/v1/nodes/{name}"
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Broken"}]}}
    control_plane.api.merge(f"{path}/status", unready)

    def is_tainted() -> bool:
        taints = control_plane.api.get(path)["spec"].get("taints", [])
        return "node.kubernetes.io/not-ready" in {taint["key"] for taint in taints}

    assert wait_until(is_tainted, PATIENCE)
    (condition,) = (c for c in control_plane.api.get(path)["status"]["conditions"] if c["type"] == "Ready")
    assert condition["reason"] == "Broken"


def test_a_job_of_kubernetes_runs_to_its_end(control_plane: ControlPlane, namespace: str, kwok_nodes: Nodes) -> None:
    (name,) = kwok_nodes(1)
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    pod = {
        "metadata": {"annotations": {RUN_SECONDS: "0"}},
        "spec": {"nodeName": name, "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]},
    }
    job = {"metadata": {"name": "three"}, "spec": {"completions": 3, "parallelism": 2, "template": pod}}
    control_plane.api.create(path, job)
    assert wait_until(lambda: control_plane.api.get(f"{path}/three")["status"].get("succeeded") == 3, PATIENCE)


def test_a_pod_that_a_finalizer_holds_is_not_removed_twice(pods: Pods) -> None:
    pods.create("held", {RUN_SECONDS: "0"}, finalizers=[FINALIZER])
    assert pods.reaches("held", "Succeeded")
    pods.delete("held")
    assert pods.get("held")["metadata"]["deletionGracePeriodSeconds"] == 0
    before = pods.get("held")["metadata"]["resourceVersion"]
    pods.create("witness", {RUN_SECONDS: "0"})
    assert pods.reaches("witness", "Succeeded")
    assert pods.get("held")["metadata"]["resourceVersion"] == before
    pods.let_go("held")
