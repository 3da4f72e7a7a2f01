from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hack.deploy import waiting
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Object
from tests.unit.hack.deploy.fakes import Recorder, made

SELECTOR = {"matchLabels": {"app": "web"}}
UP = {"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2, "replicas": 2}


def workload(name: str = "web", status: Mapping[str, Any] | None = None, *, kind: str = "Deployment") -> Object:
    found = made(kind, name, "home", "apps/v1", spec={"replicas": 2, "selector": SELECTOR}, status=status or {})
    found["metadata"]["generation"] = 1
    return found


def pod(name: str, ready: str = "False", **more: Any) -> Object:
    found = made("Pod", name, "home", spec={"nodeName": "n"})
    found["metadata"]["labels"] = {"app": "web", "more": "yes"}
    return found | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}], **more}}


class Cluster(Recorder):
    """Answers with one state after the other, the last one for ever; time passes by sleeping."""

    def __init__(self, *states: Sequence[Object] | DeployError) -> None:
        super().__init__()
        self.states = list(states)
        self.now = 100.0

    def get(self, *arguments: str, **more: Any) -> list[Object]:
        state = self.states[0]
        if isinstance(state, DeployError):
            raise state
        return [found for found in state if (found["kind"] == "Pod") is (arguments[0] == "pods")]

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if len(self.states) > 1:
            del self.states[0]


def wait(cluster: Any, *objects: Object, seconds: float = 60) -> list[str]:
    lines: list[str] = []
    waiting.wait(cluster, objects, seconds, lines.append, clock=lambda: cluster.now, sleep=cluster.sleep)
    return lines


def test_each_workload_is_told_when_it_comes_up() -> None:
    one, other = workload("one"), workload("other")
    half = [workload("one", UP), workload("other", UP | {"availableReplicas": 1})]
    assert wait(Cluster(half, [workload("one", UP), workload("other", UP)]), one, other) == [
        "waiting until 2 workloads are up, 60 s at most",
        "Deployment home/one is up",
        "Deployment home/other: 1 of 2 pods ready",
        "Deployment home/other is up",
    ]


def test_nothing_is_waited_for_where_nothing_runs() -> None:
    assert wait(Cluster([]), made("ConfigMap", namespace="home")) == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({}, "no controller has looked at it yet: is there a kube-controller-manager?"),
        ({**UP, "observedGeneration": 0}, "no controller has looked at it yet"),
        ({**UP, "updatedReplicas": 1}, "1 of 2 pods made"),
        ({**UP, "replicas": 3}, "1 old pods still to go"),
        (
            {"observedGeneration": 1, "conditions": [
                {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"},
            ]},
            "0 of 2 pods made; pods can't be made: exceeded quota: small",
        ),
    ],
)  # fmt: skip
def test_why_a_workload_is_not_up_is_told(status: dict[str, Any], words: str) -> None:
    lines = wait(Cluster([workload(status=status)], [workload(status=UP)]), workload())
    assert lines[1].startswith(f"Deployment home/web: {words}")
    assert lines[2:] == ["Deployment home/web is up"]


def container(**more: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"ready": False, "restartCount": 3, **more}]}


ENDED = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod("p", conditions=[{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]),
         "no node: 0/3 nodes (pod p)"),
        (pod("p") | {"spec": {}}, "no node: no scheduler has looked at it yet (pod p)"),
        (pod("p", **container(state={"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})),
         "waiting: ImagePullBackOff, no such image (pod p)"),
        (pod("p", **container(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ENDED)),
         "waiting: CrashLoopBackOff, last exit code 1 (pod p)"),
        (pod("p", **container(state={"running": {}}, lastState=ENDED)),
         "started 3 times again, last exit code 1 (pod p)"),
        (pod("p", phase="Pending", **container(state={"waiting": {"reason": "ContainerCreating"}})),
         "Pending, not ready yet (pod p)"),
        (pod("p"), "Running, not ready yet (pod p)"),
        (pod("p", ready="True"), ""),
    ],
)  # fmt: skip
def test_what_is_wrong_with_its_pods_is_told(found: Object, words: str) -> None:
    late = workload(status=UP | {"availableReplicas": 0})
    [line] = wait(Cluster([late, found], [workload(status=UP)]), workload())[1:-1]
    assert line == "; ".join(filter(None, ("Deployment home/web: 0 of 2 pods ready", words)))


def test_pods_with_the_same_trouble_are_told_together() -> None:
    late = workload(status=UP | {"availableReplicas": 0})
    lines = wait(Cluster([late, pod("p"), pod("q")], [workload(status=UP)]), workload())
    assert lines[1] == "Deployment home/web: 0 of 2 pods ready; Running, not ready yet (pods p, q)"


@pytest.mark.parametrize("label", ["pod-template-hash", "controller-revision-hash"])
def test_pods_of_an_older_template_hold_nothing_up(label: str) -> None:
    pods = [pod("old"), pod("new")]
    for day, found in enumerate(pods, start=1):
        found["metadata"]["labels"][label] = found["metadata"]["name"]
        found["metadata"]["creationTimestamp"] = f"2026-01-0{day}T00:00:00Z"
    late = workload(status=UP | {"availableReplicas": 0})
    lines = wait(Cluster([late, *pods], [workload(status=UP)]), workload())
    assert lines[1] == "Deployment home/web: 0 of 2 pods ready; Running, not ready yet (pod new)"


def test_where_no_new_pod_is_made_the_old_ones_are_not_what_holds_it_up() -> None:
    late = workload(status=UP | {"updatedReplicas": 0})
    lines = wait(Cluster([late, pod("old")], [workload(status=UP)]), workload())
    assert lines[1] == "Deployment home/web: 0 of 2 pods made"


def test_pods_of_others_and_those_that_go_hold_nothing_up() -> None:
    other, going = pod("other"), pod("going")
    other["metadata"]["labels"] = {"app": "else"}
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    late = workload(status=UP | {"availableReplicas": 0})
    lines = wait(Cluster([late, other, going], [workload(status=UP)]), workload())
    assert lines[1] == "Deployment home/web: 0 of 2 pods ready"


def test_the_same_is_told_once_and_from_time_to_time_that_it_is_still_waited() -> None:
    late = workload(status=UP | {"availableReplicas": 1})
    cluster = Cluster(*[[late]] * 10, [workload(status=UP)])
    assert wait(cluster, workload()) == [
        "waiting until 1 workloads are up, 60 s at most",
        "Deployment home/web: 1 of 2 pods ready",
        "after 16 s 0 of 1 are up, waiting for Deployment home/web",
        "Deployment home/web is up",
    ]


def test_the_time_is_for_all_together_and_its_end_says_what_held_them_up() -> None:
    late = [workload(name, UP | {"availableReplicas": 1}) for name in ("one", "two", "three")]
    cluster = Cluster(late)
    with pytest.raises(DeployError, match=r"(?s)Deployment home/one is not up after 10 s: 1 of 2 .*two.*make deploy"):
        wait(cluster, *late, seconds=10)
    assert cluster.now == 110.0


def test_a_server_that_is_away_for_a_moment_ends_nothing() -> None:
    away = DeployError("kubectl get:\nThe connection was refused")
    assert wait(Cluster(away, away, [workload(status=UP)]), workload())[1:] == [
        "Deployment home/web: the cluster can't be asked: The connection was refused",
        "Deployment home/web is up",
    ]


def test_a_workload_that_somebody_deletes_meanwhile_is_told() -> None:
    assert wait(Cluster([], [workload(status=UP)]), workload())[1] == "Deployment home/web: somebody deleted it"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("DaemonSet", {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3,
                       "currentNumberScheduled": 3}),
        ("StatefulSet", UP),
    ],
)  # fmt: skip
def test_every_kind_of_workload_is_waited_for(kind: str, status: dict[str, Any]) -> None:
    late = {**status, "observedGeneration": 1, "numberAvailable": 1, "availableReplicas": 1}
    done = workload(kind=kind, status={**status, "observedGeneration": 1})
    lines = wait(Cluster([workload(kind=kind, status=late)], [done]), done)
    assert lines[1].endswith("pods ready")
    assert lines[-1] == f"{kind} home/web is up"
