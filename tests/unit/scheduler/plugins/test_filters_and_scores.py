"""The arguments of predicates, nodeorder and binpack."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.contract.arguments import Arguments, checked
from scheduler.contract.view import View
from scheduler.kube import filters
from scheduler.plugins.binpack import BinPack
from scheduler.plugins.nodeorder import NodeOrder
from scheduler.plugins.predicates import Predicates
from scheduler.state.status import Status
from tests.unit.scheduler.build import GIB, World, binds, cycle, memory_of, shape
from tests.unit.scheduler.sociable import pod_task

ORDER = [
    "PodNumber", "NodeUnschedulable", "VolumeBinding", "NodeAffinity terms", "NodeAffinity", "TaintToleration",
    "NodePorts", "InterPodAffinity", "PodTopologySpread",
]  # fmt: skip


def names(arguments: dict[str, Any]) -> list[str]:
    return [function.name for function in Predicates(Arguments(arguments)).filters]


def test_the_filters_come_in_their_fixed_order() -> None:
    assert names({}) == ORDER


@pytest.mark.parametrize(
    ("switch", "gone"),
    [
        ("NodeAffinity", {"NodeAffinity", "NodeAffinity terms"}),
        ("NodePorts", {"NodePorts"}),
        ("TaintToleration", {"TaintToleration"}),
        ("PodAffinity", {"InterPodAffinity"}),
        ("PodTopologySpread", {"PodTopologySpread"}),
        ("NodeVolumeLimits", set()),
        ("VolumeZone", set()),
    ],
)
@pytest.mark.parametrize("off", [False, "false", "F"])
def test_a_switch_takes_its_filter_out(switch: str, gone: set[str], off: Any) -> None:
    assert names({f"predicate.{switch}Enable": off}) == [name for name in ORDER if name not in gone]


UNUSED = {
    "predicate.NodeVolumeLimitsEnable": True, "predicate.VolumeZoneEnable": False,
    "volumebinding.bindTimeoutSeconds": 600, "volumebinding.weight": 1,
    "volumebinding.shape": [{"utilization": 0, "score": 10}], "dynamicresources.filterTimeoutSeconds": 10,
}  # fmt: skip


def test_arguments_about_what_is_not_done_are_told_of() -> None:
    assert Predicates.declares is not None
    kept, warnings = checked("predicates", {**UNUSED, "predicate.CacheEnable": "true"}, Predicates.declares)
    assert kept == {"predicate.CacheEnable": "true"}
    assert warnings == [f"predicates.{key}: has no effect, what it is about isn't done" for key in UNUSED]


@pytest.mark.parametrize(
    ("plugin", "key", "value", "said"),
    [
        (Predicates, "predicate.PodAffinityEnabled", True, "did you mean predicate.PodAffinityEnable?"),
        (Predicates, "predicate.NodePortsEnable", 1, "to bool"),
        (NodeOrder, "nodeaffinity.weight", "2", "to int"),
        (NodeOrder, "podaffinty.weight", 2, "did you mean podaffinity.weight?"),
        (BinPack, "binpack.resources.nvidia.com/gpu", 1.5, "to int"),
    ],
)
def test_an_argument_that_is_misspelt_or_of_another_type_is_warned_of(
    plugin: Any, key: str, value: Any, said: str
) -> None:
    _, warnings = checked("x", {key: value}, plugin.declares)
    assert len(warnings) == 1
    assert said in warnings[0]


def test_every_score_has_a_declared_weight() -> None:
    assert NodeOrder.declares is not None
    assert {f"{score.name}.weight" for score in NodeOrder(Arguments({"mostrequested.weight": 1})).scores} == {
        key for key in NodeOrder.declares if key.endswith(".weight")
    }


def pinned(*terms: tuple[str, ...]) -> Affinity:
    """Required terms, each of which wants the node to have all of some names."""
    made = tuple(
        NodeSelectorTerm(
            match_fields=tuple(
                NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,)) for name in term
            )
        )
        for term in terms
    )
    selector = NodeSelector(node_selector_terms=made)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


@pytest.mark.parametrize(
    ("affinity", "conflicts"),
    [
        (pinned(("a", "b")), True),
        (pinned(("a", "b"), ("b", "c")), True),
        (pinned(("a", "b"), ("b",)), False),
        (pinned(("a",)), False),
        (pinned(), False),
        (None, False),
    ],
)
def test_terms_that_want_two_names_at_once_conflict(affinity: Affinity | None, conflicts: bool) -> None:
    assert filters.names_conflict(pod_task("p", "ns", {}, shape(affinity=affinity), job="")) is conflicts


def test_a_conflict_is_told_before_any_node_is_looked_at() -> None:
    world = World()
    world.node("a", cpu=1.0)
    world.node("b")
    world.gang("job", [("w", 1, shape(affinity=pinned(("a", "b"))))])
    result = cycle(world)
    reason = "plugin NodeAffinity pre-predicates failed pod affinity terms conflict"
    assert [task.message for task in result.outcome.tasks] == [f"0/2 nodes are unavailable: 2 {reason}."]


@pytest.mark.parametrize(
    ("weight", "used", "is_refused"), [(0, 0, False), (7, 7, False), (-1, 0, True), (101, 0, True)]
)
def test_the_weight_of_hard_affinity_is_within_bounds(
    weight: int, used: int, is_refused: bool, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = NodeOrder(Arguments({"interpodaffinity.hardPodAffinityWeight": weight}))
    assert plugin._hard_weight() == used
    assert ("hardPodAffinityWeight" in caplog.text) is is_refused


def test_each_score_has_its_default_weight() -> None:
    weights = {score.name: score.weight for score in NodeOrder(Arguments({})).scores}
    assert weights == {
        "imagelocality": 1, "leastrequested": 1, "balancedresource": 1, "nodeaffinity": 2, "tainttoleration": 3,
        "podtopologyspread": 2, "podaffinity": 2,
    }  # fmt: skip


def test_a_listed_resource_that_no_node_has_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.node("a", scalars={"example.com/here": 1.0})
    world.gang("job", [("w", 1, shape(scalars={"example.com/asked": 1.0}))])
    text = """
actions: "allocate"
tiers:
- plugins:
  - name: binpack
    arguments: {binpack.resources: "example.com/here, example.com/asked, example.com/never"}
"""
    memory = memory_of(world.cluster, text)
    for uid in ("session-1", "session-2"):
        cycle(world, memory, uid=uid)
    warned = [record.getMessage() for record in caplog.records if "resource unknown" in record.getMessage()]
    assert warned == [
        f"resource unknown plugin=binpack binpack.resources=example.com/{name}: no node has it"
        for name in ("asked", "never")
    ]


def test_binpack_leaves_out_what_is_being_released_when_a_pod_waits_for_it() -> None:
    world = World()
    for name, status in (("leaving", Status.RELEASING), ("staying", Status.RUNNING)):
        world.node(name, cpu=4000.0, memory=4 * GIB)
        world.running(f"pod-{name}", name, shape(2000.0, 0.0), status)
    world.cluster.settle()
    task = pod_task("p", "ns", {}, shape(1000.0, 0.0), job="")
    plugin, view = BinPack(Arguments({})), View.all(world.cluster)
    assert plugin.rate(task, view).tolist() == [75.0, 75.0]
    assert plugin.rate(task, View(world.cluster, view.rows, is_future=True)).tolist() == [25.0, 75.0]


def test_a_pod_that_waits_for_room_is_packed_by_what_stays() -> None:
    world = World()
    for name, small in (("one", 1500.0), ("two", 500.0)):
        world.node(name, cpu=4000.0, memory=64 * GIB)
        world.running(f"leaving-{name}", name, shape(4000.0 - small, 0.0), Status.RELEASING)
        world.running(f"staying-{name}", name, shape(small, 0.0))
    world.gang("job", [("w", 1, shape(1000.0, 0.0))])
    text = """
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: binpack
"""
    result = cycle(world, memory_of(world.cluster, text))
    assert not binds(result)
    assert "to one, once resource is released" in result.outcome.tasks[0].message
