"""plugins.md 18.4 as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from generated.core.v1 import Taint, TopologySpreadConstraint
from generated.meta.v1 import LabelSelector, OwnerReference
from scheduler.contract.view import View
from scheduler.kube import constraints, spread
from scheduler.kube.spread import SpreadNormaliser
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from scheduler.state.terms import read_selector
from tests.unit.scheduler.build import World, require, shape
from tests.unit.scheduler.sociable import HOST, ZONE, pod_task

WEB = {"app": "web"}
SELECTOR = LabelSelector(match_labels=WEB)


def wanting(when: str = "DoNotSchedule", key: str = ZONE, skew: int = 1, **more: Any) -> Shape:
    pod_spec = more.pop("pod_spec", {})
    constraint = TopologySpreadConstraint(
        topology_key=key, max_skew=skew, when_unsatisfiable=when, **({"label_selector": SELECTOR} | more)
    )
    return shape(topology_spread_constraints=(constraint,), **pod_spec)


def world(*standing: str, **statuses: Status) -> World:
    """Nodes a, b (zone 1), c (zone 2), t (zone 3, tainted), d (no labels); a pod of `web` on each node named."""
    made = World()
    for name, zone in (("a", "1"), ("b", "1"), ("c", "2")):
        made.node(name, labels={HOST: name, ZONE: zone, "disk": "ssd"})
    made.node("d")
    made.node("t", labels={HOST: "t", ZONE: "3"}, taints=(Taint(key="x", effect="NoSchedule"),))
    for number, node in enumerate(standing):
        status = statuses.get(node, Status.RUNNING)
        made.cluster.add_task(pod_task(f"old-{number}", "ns", WEB, shape(), job="", status=status), node)
    return made


def incoming(made: World, wanted: Shape, labels: dict[str, str] | None = None) -> Task:
    task = pod_task("new", "ns", WEB if labels is None else labels, wanted, job="")
    made.cluster.add_task(task)
    made.cluster.settle()
    made.cluster.sight.profile(task)
    return task


@pytest.mark.parametrize(
    ("standing", "wanted", "labels", "verdicts"),
    [
        pytest.param("a", wanting(), WEB, [1, 1, 0, 2, 0], id="the fuller zone closes"),
        pytest.param("a", wanting(skew=2), WEB, [0, 0, 0, 2, 0], id="a larger skew"),
        pytest.param("ac", wanting(), WEB, [1, 1, 1, 2, 0], id="the tainted node counts"),
        pytest.param("ac", wanting(node_taints_policy="Honor"), WEB, [0, 0, 0, 2, 0], id="unless taints are honoured"),
        pytest.param("a", wanting(), {}, [0, 0, 0, 2, 0], id="a pod that is not meant itself"),
        pytest.param("aa", wanting(), {}, [1, 1, 0, 2, 0], id="is bound all the same"),
        pytest.param("a", wanting(key=HOST), WEB, [1, 0, 0, 2, 0], id="hosts"),
        pytest.param("act", wanting(min_domains=5), WEB, [1, 1, 1, 2, 1], id="too few domains: the least is none"),
        pytest.param("a", wanting(label_selector=None), WEB, [0, 0, 0, 2, 0], id="no selector means no pod"),
        pytest.param("aa", wanting(label_selector=LabelSelector()), WEB, [0, 0, 0, 2, 0], id="nor does an empty one"),
        pytest.param(
            "ac",
            wanting(pod_spec={"affinity": require("disk", "ssd")}),
            WEB,
            [0, 0, 0, 2, 0],
            id="nodes that affinity rules out don't count",
        ),
        pytest.param(
            "ac",
            wanting(node_affinity_policy="Ignore", pod_spec={"affinity": require("disk", "ssd")}),
            WEB,
            [1, 1, 1, 2, 0],
            id="unless the policy says so",
        ),
        pytest.param(
            "a", wanting(match_label_keys=("version",)), WEB | {"version": "2"}, [0, 0, 0, 2, 0], id="other version"
        ),
    ],
)
def test_constraints_that_forbid(standing: str, wanted: Shape, labels: dict[str, str], verdicts: list[int]) -> None:
    made = world(*standing)
    task = incoming(made, wanted, labels)
    assert spread.has_hard(task)
    assert spread.forbidden(task, View.all(made.cluster)).tolist() == verdicts


def test_pods_that_are_being_deleted_do_not_count() -> None:
    made = world("a", a=Status.RELEASING)
    assert spread.forbidden(incoming(made, wanting()), View.all(made.cluster)).tolist() == [0, 0, 0, 2, 0]


def test_each_level_has_its_own_refusal() -> None:
    texts = [refusal.reason for refusal in spread.REFUSALS]
    assert texts == [
        "node(s) didn't match pod topology spread constraints",
        "node(s) didn't match pod topology spread constraints (missing required label)",
    ]
    assert [int(refusal.code) for refusal in spread.REFUSALS] == [2, 3]


def test_the_wish_to_spread_rates_by_pods_in_the_domain() -> None:
    made = world("a", "a", "c")
    task = incoming(made, wanting("ScheduleAnyway"))
    # Three domains: 2 * ln 5 = 3.2, 1 * ln 5 = 1.6, 0.
    raw = spread.rate(task, View.all(made.cluster))
    assert raw.tolist() == [3.0, 3.0, 2.0, constraints.IGNORED, 0.0]
    normaliser = SpreadNormaliser()
    assert normaliser.scale(raw, normaliser.bounds(raw)).tolist() == [0.0, 0.0, 33.0, 0.0, 100.0]


def test_the_number_of_domains_is_that_of_the_candidates() -> None:
    made = world("a", "a", "c")
    task = incoming(made, wanting("ScheduleAnyway"))
    rows = np.array([0, 2], dtype=np.intp)
    # Two domains: 2 * ln 4 = 2.8, ln 4 = 1.4.
    assert spread.rate(task, View(made.cluster, rows)).tolist() == [3.0, 1.0]


def test_on_hosts_the_node_itself_counts_whatever_the_policies_say() -> None:
    made = world("t")
    task = incoming(made, wanting("ScheduleAnyway", HOST, node_taints_policy="Honor"))
    assert spread.rate(task, View.all(made.cluster)).tolist() == [0.0, 0.0, 0.0, constraints.IGNORED, 2.0]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [([0, 0], [100, 100]), ([-1, -1], [0, 0]), ([1, 3, -1], [100, 33, 0]), ([2, 2], [100, 100]), ([], [])],
)
def test_fewer_pods_are_better(raw: list[float], expected: list[float]) -> None:
    normaliser, values = SpreadNormaliser(), np.array(raw, dtype=np.float64)
    assert normaliser.scale(values, normaliser.bounds(values)).tolist() == expected


# The system's own constraints.


def test_pods_of_a_service_are_spread_over_hosts_and_zones_by_default() -> None:
    made = world("a", "a", "c")
    made.cluster.workloads.set_service("ns", "web", WEB)
    made.cluster.sight.regroup()
    task = incoming(made, shape())
    assert spread.has_soft(task)
    # hosts: 5 candidates, ln 7 = 1.95, skew 3; zones: three values and none, ln 6 = 1.79, skew 5.
    raw = spread.rate(task, View.all(made.cluster))
    assert raw.tolist() == [13.0, 10.0, 10.0, 0.0, 6.0]


@pytest.mark.parametrize(
    ("service", "owner", "spec", "is_spread"),
    [
        pytest.param({"app": "db"}, None, {}, False, id="another service"),
        pytest.param({}, None, {}, False, id="a service without selector"),
        pytest.param({}, ("ReplicaSet", "web-1"), {}, True, id="its replica set"),
        pytest.param({}, ("Job", "web-1"), {}, False, id="an owner that is no such workload"),
        pytest.param(WEB, None, {"when": "DoNotSchedule"}, False, id="constraints of its own"),
    ],
)
def test_what_the_system_spreads(
    service: dict[str, str], owner: tuple[str, str] | None, spec: dict[str, Any], is_spread: bool
) -> None:
    made = world()
    made.cluster.workloads.set_service("ns", "web", service)
    selector = read_selector(SELECTOR)
    made.cluster.workloads.set_owner("ns", ("ReplicaSet", "web-1"), selector)
    made.cluster.sight.regroup()
    task = pod_task("new", "ns", WEB, wanting(**spec) if spec else shape(), job="")
    if owner is not None and task.pod is not None:
        reference = OwnerReference(api_version="v1", kind=owner[0], name=owner[1], uid="u", controller=True)
        task.pod = replace(task.pod, metadata=replace(task.pod.metadata, owner_references=(reference,)))
    made.cluster.add_task(task)
    made.cluster.settle()
    made.cluster.sight.profile(task)
    assert spread.has_soft(task) is is_spread


def test_what_is_noted_of_the_constraints_of_a_shape_goes_with_its_last_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.state.sight._MAX_KEPT", 20)
    made = world("a")
    made.cluster.sight._notes_limit = 20
    for _ in range(100):
        task = incoming(made, wanting(node_taints_policy="Honor"))
        (constraint,) = constraints.hard(task, made.cluster)
        assert constraints.eligible(task, made.cluster, constraint).tolist() == [True, True, True, True, False]
        made.cluster.remove_task(task.uid)
    (profile,) = made.cluster.sight._profiles.values()
    assert len(profile.constraints) <= 22
    assert len(profile.masks) <= 22
