"""network-topology-aware by itself: the figures of plugins.md 24."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler.contract.arguments import Arguments
from scheduler.contract.contexts import Purpose
from scheduler.contract.view import View
from scheduler.plugins.network_topology_aware import NetworkTopologyAware
from scheduler.session import Session
from scheduler.state.hypernode_view import ROOT
from scheduler.state.status import Status
from scheduler.state.subjob import SubJob, grouping_of
from scheduler.topology.fullness import NormalPods
from tests.unit.scheduler.build import GIB, World, memory_of, shape
from tests.unit.scheduler.hypernodes import grow, limit

TREE = {
    "s3": (1, ["a0", "a1"]),
    "s4": (1, ["b0", "b1"]),
    "s5": (1, ["c0", "c1"]),
    "s6": (1, ["d0", "d1"]),
    "s1": (2, ["s3", "s4"]),
    "s2": (2, ["s5", "s6"]),
    "s0": (3, ["s1", "s2"]),
}
SIZES = {"a": (2000.0, 4 * GIB), "b": (4000.0, 4 * GIB), "c": (2000.0, 8 * GIB), "d": (4000.0, 8 * GIB)}
BARE = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: network-topology-aware}]
"""


def world() -> World:
    made = World()
    for letter, (cpu, memory) in SIZES.items():
        for number in (0, 1):
            made.node(f"{letter}{number}", cpu=cpu, memory=memory)
    grow(made, TREE)
    return made


def opened(made: World, **arguments: Any) -> tuple[Session, NetworkTopologyAware]:
    session = Session(made.cluster, memory_of(made.cluster, BARE).configuration, memory_of(made.cluster, BARE),
                      uid="s", now=0.0)  # fmt: skip
    session.open()
    plugin = NetworkTopologyAware(Arguments({key.replace("__", "."): value for key, value in arguments.items()}))
    plugin.on_session_open(session)
    return session, plugin


def sub_job(made: World, count: int, cpu: float, memory: float) -> SubJob:
    made.gang("j", [("w", count, shape(cpu, memory))])
    limit(made.cluster.jobs["ns/j"], tier=3)
    return grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"]


def everywhere(session: Session) -> dict[str, Any]:
    return dict.fromkeys(session.topology.view.names, ())


def rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(score, 1) for name, score in scores.items()}


def test_hypernodes_are_ordered_by_how_full_they_would_be() -> None:
    made = world()
    job = sub_job(made, 2, 4000.0, 4 * GIB)
    session, plugin = opened(made)
    assert rounded(plugin.order(job, everywhere(session))) == {
        "s0": 25.0, "s1": 58.3, "s2": 45.8, "s3": 0.0, "s4": 100.0, "s5": 0.0, "s6": 75.0, ROOT: 25.0,
    }  # fmt: skip


def test_hypernodes_that_tie_are_told_apart_by_tasks_already_there() -> None:
    made = world()
    made.node("a2", cpu=2000.0, memory=4 * GIB)
    made.node("a3", cpu=2000.0, memory=4 * GIB)
    grow(made, {"s7": (1, ["a2", "a3"])})
    job = sub_job(made, 2, 500.0, GIB)
    made.member("j", "placed", "a2", shape(0.0, 0.0))
    job = grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"]
    _, plugin = opened(made)
    assert rounded(plugin.order(job, {"s3": (), "s7": ()})) == {"s3": 25.0, "s7": 58.3}
    assert rounded(plugin.order(job, {"s7": ()})) == {"s7": 25.0}


def test_placed_tasks_count_once() -> None:
    made = world()
    job = sub_job(made, 1, 2000.0, 2 * GIB)
    made.member("j", "placed", "a0", shape(2000.0, 2 * GIB))
    job = grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"]
    _, plugin = opened(made)
    assert rounded(plugin.order(job, {"s3": (), ROOT: ()}))["s3"] == 75.0


WEIGHTS: list[tuple[dict[str, Any], float]] = [
    ({"weight": 2}, 200.0),
    ({"weight": -3}, 100.0),
    ({"hypernode__binpack__cpu": 0}, 100.0),
    ({"hypernode__binpack__cpu": 0, "hypernode__binpack__memory": 0}, 0.0),
    ({"hypernode__binpack__resources": "cpu, pods", "hypernode__binpack__resources__cpu": 9}, 66.8),
]


@pytest.mark.parametrize(("arguments", "expected"), WEIGHTS)
def test_weights(arguments: dict[str, Any], expected: float) -> None:
    made = world()
    job = sub_job(made, 2, 4000.0, 4 * GIB)
    _, plugin = opened(made, **arguments)
    # Pods are offered 110 a node: 2 of 220.
    assert plugin.order(job, {"s4": ()})["s4"] == pytest.approx(expected, abs=0.5)


def test_nothing_offered_and_nothing_asked_divides_nothing() -> None:
    made = World()
    made.node("n0", cpu=0.0, memory=0.0)
    grow(made, {"s0": (1, ["n0"])})
    made.gang("j", [("w", 1, shape(0.0, 0.0))])
    job = grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"]
    with np.errstate(all="raise"):
        _, plugin = opened(made)
        assert plugin.order(job, {"s0": ()}) == {"s0": 0.0}


# Pods without a topology.


def normal(plugin: NetworkTopologyAware, made: World, cpu: float, memory: float) -> dict[str, float]:
    made.gang("plain", [("w", 1, shape(cpu, memory))])
    task = next(iter(made.cluster.jobs["ns/plain"].tasks.values()))
    made.cluster.settle()
    domains = made.cluster.hypernodes.view(made.cluster)
    found = NormalPods(domains, plugin.weights, plugin.fading)(task, View.all(made.cluster)) * 100.0
    return {node.name: round(float(score), 1) for node, score in zip(made.cluster.nodes, found, strict=True)}


def test_a_normal_pod_prefers_full_hypernodes() -> None:
    made = world()
    _, plugin = opened(made)
    found = normal(plugin, made, 2000.0, 4 * GIB)
    assert (found["a0"], found["b0"], found["c0"], found["d0"]) == (25.8, 21.6, 19.9, 15.7)


def test_missing_tiers_count_as_full_and_gaps_too() -> None:
    made = World()
    made.node("in", cpu=4000.0, memory=4 * GIB)
    made.node("out", cpu=4000.0, memory=4 * GIB)
    grow(made, {"low": (1, ["in"]), "high": (3, ["low"])})
    _, plugin = opened(made, **{"hypernode__binpack__normal-pod__fading": 1.0})
    found = normal(plugin, made, 2000.0, 2 * GIB)
    # Tiers 1 to 4 weigh the same: low 0.5, none 1, high 0.5, root 0.25; outside only the root counts.
    assert found == {"in": 56.2, "out": 81.2}


def test_fading_0_leaves_the_lowest_tier_alone_and_above_tier_1_nothing() -> None:
    made = world()
    _, plugin = opened(made, **{"hypernode__binpack__normal-pod__fading": 0.0})
    assert normal(plugin, made, 2000.0, 4 * GIB)["a0"] == 50.0
    high = World()
    high.node("n0")
    grow(high, {"x": (2, ["n0"])})
    _, plugin = opened(high, **{"hypernode__binpack__normal-pod__fading": 0.0})
    assert normal(plugin, high, 1000.0, GIB) == {"n0": 0.0}


LEFT_ALONE = [
    ("by argument", "{name: network-topology-aware, arguments: {hypernode.binpack.normal-pod.enable: false}}", True),
    ("by weight", "{name: network-topology-aware, arguments: {weight: 0}}", True),
    ("where there is no tree", "{name: network-topology-aware}", False),
]


@pytest.mark.parametrize(("case", "listing", "has_tree"), LEFT_ALONE, ids=[case for case, _, _ in LEFT_ALONE])
def test_normal_pods_can_be_left_alone(case: str, listing: str, has_tree: bool) -> None:
    del case
    made = world() if has_tree else World()
    text = BARE.replace("{name: network-topology-aware}", listing)
    memory = memory_of(made.cluster, text)
    session = Session(made.cluster, memory.configuration, memory, uid="s", now=0.0)
    session.open()
    assert "network-topology-aware" not in session.scores


def test_what_is_known_of_the_nodes_is_kept_until_the_tree_changes() -> None:
    made = world()
    memory = memory_of(made.cluster, BARE)

    def known() -> object:
        session = Session(made.cluster, memory.configuration, memory, uid="s", now=0.0)
        session.open()
        return session.signatures

    first = known()
    assert known() is first
    grow(made, {"s3": (1, ["a0"])})
    assert known() is not first


# Pods with a topology.


def placed(made: World, *nodes: str, pending: int = 1) -> SubJob:
    made.gang("j", [("w", pending, shape(0.0, 0.0))])
    limit(made.cluster.jobs["ns/j"], tier=3)
    for number, node in enumerate(nodes):
        made.member("j", f"j-p-{number}", node, shape(0.0, 0.0), Status.RUNNING)
    return grouping_of(made.cluster.jobs["ns/j"]).sub_jobs["ns/j"]


def close(made: World, plugin: NetworkTopologyAware, job: SubJob, allocated: str) -> dict[str, float]:
    rows = np.arange(len(made.cluster.nodes))
    found = plugin.rate_closeness(job, allocated, rows)
    return {node.name: round(float(score), 1) for node, score in zip(made.cluster.nodes, found, strict=True)}


CLOSE = [
    ("two tasks, one on s4", ("b0",), 1, "s1", {"b1": 116.7, "a0": 66.7, "c0": 33.3, "d0": 33.3}),
    ("four tasks, two on s3, one on s4", ("a0", "a1", "b0"), 1, "s1", {"a0": 116.7, "b0": 91.7, "c0": 33.3}),
    ("all on s3", ("a0",), 1, "s3", {"a0": 150.0, "b0": 66.7, "c0": 33.3}),
    ("the root", ("a0", "d0"), 2, ROOT, {"a0": 25.0, "b0": 0.0, "c0": 0.0, "d0": 25.0}),
    ("nothing yet", (), 1, "", {"a0": 0.0, "d0": 0.0}),
]


@pytest.mark.parametrize(("case", "nodes", "pending", "allocated", "expected"), CLOSE, ids=[row[0] for row in CLOSE])
def test_nodes_are_rated_by_the_tier_in_which_they_meet_the_others(
    case: str, nodes: tuple[str, ...], pending: int, allocated: str, expected: dict[str, float]
) -> None:
    del case
    made = world()
    job = placed(made, *nodes, pending=pending)
    _, plugin = opened(made)
    found = close(made, plugin, job, allocated)
    assert {name: found[name] for name in expected} == expected


def test_a_single_closest_node_gets_no_share() -> None:
    made = world()
    job = placed(made, "a0")
    _, plugin = opened(made)
    rows = np.array([0, 2, 4])  # a0, b0, c0
    assert [round(float(score), 1) for score in plugin.rate_closeness(job, "s3", rows)] == [100.0, 66.7, 33.3]


def test_a_node_in_no_hypernode_is_far_from_everything() -> None:
    made = world()
    made.node("lonely")
    job = placed(made, "a0")
    _, plugin = opened(made)
    assert close(made, plugin, job, "s3")["lonely"] == 0.0


# Gradients.


def gradients(made: World, tier: int | None, *, purpose: Purpose = Purpose.ALLOCATE, given: str = ROOT,
              allocated: str = "", minimum: dict[str, str] | None = None, **arguments: Any) -> list[list[str]]:  # fmt: skip
    made.gang("j", [("w", 1, shape(1000.0))], resources=minimum)
    job = made.cluster.jobs["ns/j"]
    if tier is not None:
        limit(job, tier=tier)
    session, plugin = opened(made, **arguments)
    session.topology.grouping(job).allocated = allocated
    return plugin.gradients_for_job(job, given, purpose)


GRADIENTS: list[tuple[str, dict[str, Any], list[list[str]]]] = [
    ("no limit", {"tier": None}, [[ROOT]]),
    ("tier by tier", {"tier": 2}, [["s3", "s4", "s5", "s6"], ["s1", "s2"]]),
    ("below what is given", {"tier": 3, "given": "s2"}, [["s5", "s6"], ["s2"]]),
    ("around what is allocated", {"tier": 2, "allocated": "s3"}, [["s3", "s4"], ["s1"]]),
    ("the lower of both", {"tier": 2, "allocated": "s3", "given": "s3"}, [["s3"]]),
    ("nothing in common", {"tier": 2, "allocated": "s3", "given": "s2"}, []),
    ("allocated too widely", {"tier": 1, "allocated": "s1"}, []),
    ("only where the minimum fits", {"tier": 2, "minimum": {"cpu": "7", "memory": "9Gi"}}, [["s6"], ["s1", "s2"]]),
    ("the minimum doesn't count once something is allocated",
     {"tier": 2, "allocated": "s3", "minimum": {"cpu": "99"}}, [["s3", "s4"], ["s1"]]),
    ("nowhere", {"tier": 2, "minimum": {"cpu": "99"}}, []),
    ("a resource that nothing offers", {"tier": 3, "minimum": {"example.com/fpga": "1"}}, []),
    ("tier 0", {"tier": 0}, []),
    ("widest first for evictions", {"tier": 3, "purpose": Purpose.EVICT},
     [["s0"], ["s1", "s2"], ["s3", "s4", "s5", "s6"]]),
    ("no more than so many for evictions, of the last tier its last ones",
     {"tier": 3, "purpose": Purpose.EVICT, "hypernode__gradient__evict__max-hypernodes": 5},
     [["s0"], ["s1", "s2"], ["s5", "s6"]]),
    ("evictions look at what is offered", {"tier": 1, "purpose": Purpose.EVICT, "minimum": {"cpu": "8"}},
     [["s4", "s6"]]),
]  # fmt: skip


@pytest.mark.parametrize(("case", "arguments", "expected"), GRADIENTS, ids=[row[0] for row in GRADIENTS])
def test_gradients(case: str, arguments: dict[str, Any], expected: list[list[str]]) -> None:
    del case
    made = world()
    for number in range(2):
        made.running(f"full{number}", f"b{number}", shape(500.0))
    assert gradients(made, **arguments) == expected


def test_room_that_is_being_released_counts() -> None:
    made = world()
    made.running("going", "a0", shape(2000.0), Status.RELEASING)
    assert gradients(made, 1, minimum={"cpu": "4", "memory": "1Gi"}) == [["s3", "s4", "s5", "s6"]]


def test_a_sub_jobs_minimum_is_what_its_pending_tasks_ask_for() -> None:
    made = world()
    job = sub_job(made, 3, 2000.0, GIB)
    _, plugin = opened(made)
    assert plugin.gradients_for_sub_job(job, ROOT, Purpose.ALLOCATE)[0] == ["s4", "s6"]


def test_figures_follow_what_the_session_places() -> None:
    made = world()
    job = sub_job(made, 3, 2000.0, GIB)
    session, plugin = opened(made)
    made.gang("other", [("w", 1, shape(3000.0))])
    task = next(iter(made.cluster.jobs["ns/other"].tasks.values()))
    statement = session.statement()
    statement.place((task,), (made.cluster.node_by_name["b0"],), Status.ALLOCATED)
    assert plugin.gradients_for_sub_job(job, ROOT, Purpose.ALLOCATE)[0] == ["s6"]
    statement.discard()
    assert plugin.gradients_for_sub_job(job, ROOT, Purpose.ALLOCATE)[0] == ["s4", "s6"]


MESSAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"tier": 1, "minimum": {"cpu": "10"}},
        (
            "no hypernode of tier 1 or lower has enough free resources: "
            "the best, s4, lacks cpu (wants 10000, 2000 more than is free)"
        ),
    ),
    ({"tier": 0}, "there is no hypernode of tier 0 or lower in <cluster-top-hypernode>"),
    ({"tier": 1, "allocated": "s1"}, "tasks stand in hypernode s1, out of which tier 1 doesn't reach"),
]


@pytest.mark.parametrize(("arguments", "message"), MESSAGES)
def test_what_is_missing_is_told(arguments: dict[str, Any], message: str) -> None:
    made = world()
    made.gang("j", [("w", 1, shape(1000.0))], resources=arguments.get("minimum"))
    job = made.cluster.jobs["ns/j"]
    limit(job, tier=arguments["tier"])
    session, plugin = opened(made)
    session.topology.grouping(job).allocated = arguments.get("allocated", "")
    assert not plugin.gradients_for_job(job, ROOT, Purpose.ALLOCATE)
    assert session.job_messages["ns/j"] == message
