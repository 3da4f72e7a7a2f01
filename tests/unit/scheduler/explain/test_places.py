"""Where in the network a job may go, and what its hypernodes lack."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import run_cycle
from scheduler.explain.report import CauseKind
from scheduler.state.subjob import grouping_of
from tests.unit.scheduler.build import World, binds, memory_of, shape
from tests.unit.scheduler.explain.explaining import explained, kinds
from tests.unit.scheduler.hypernodes import CONFIGURATION, divide, grow, hard, labelled, limit, policy


def racks(*cpus: float) -> World:
    """Racks of two nodes each with so many millicores a node, below one spine."""
    world = World()
    tree: dict[str, tuple[int, list[str]]] = {}
    for rack, cpu in enumerate(cpus):
        names = [f"n{rack}{number}" for number in range(2)]
        for name in names:
            world.node(name, cpu=cpu)
        tree[f"s{rack}"] = (1, names)
    tree["top"] = (2, list(tree))
    grow(world, tree)
    return world


def test_the_best_domains_are_told_with_what_they_lack() -> None:
    world = racks(1000.0, 3000.0)
    world.gang("a", [("w", 4, shape(cpu=2000.0))])
    limit(world.cluster.jobs["ns/a"], tier=1)
    answer = explained(world, "a", text=CONFIGURATION)
    found = answer.topology
    assert found is not None
    assert (found.mode, found.highest_tier, found.domains) == ("hard", 1, 2)
    assert [(room.name, room.tier, room.nodes) for room in found.best] == [("s1", 1, 2), ("s0", 1, 2)]
    assert [(lack.resource, lack.needs, lack.free, lack.missing) for lack in found.best[0].lacks] == [
        ("cpu", "8", "6", "2")
    ]
    assert not answer.can_start
    assert answer.causes


REMEDY = "so no waiting helps: allow a higher tier in networkTopology, ask for less, or add nodes to a hypernode"
ROOM = "a hypernode within its limit with room for its missing pods"


@pytest.mark.parametrize(
    ("pods", "cpu", "resources", "need"),
    [
        (4, 2000.0, None, f"no hypernode of tier 1 or lower is large enough even when empty (the largest, s1, has 6 cpu of 8 cpu), {REMEDY}"),
        (3, 2000.0, None, f"no hypernode of tier 1 or lower is large enough even when empty (s1 holds 2 of 3 pods), {REMEDY}"),
        (1, 2000.0, "7", f"no hypernode of tier 1 or lower is large enough even when empty (the largest, s1, has 6 cpu of 7 cpu), {REMEDY}"),
        (2, 2000.0, None, ROOM),
    ],
    ids=["by its totals", "by its nodes", "by its minResources", "it is only taken"],
)  # fmt: skip
def test_where_no_hypernode_is_large_enough_no_waiting_helps(
    pods: int, cpu: float, resources: str | None, need: str
) -> None:
    world = racks(1000.0, 3000.0)
    for node in ("n10", "n11"):
        world.running(f"old-{node}", node, shape(cpu=2000.0))
    world.gang("a", [("w", pods, shape(cpu=cpu))], resources={"cpu": resources} if resources else None)
    limit(world.cluster.jobs["ns/a"], tier=1)
    assert explained(world, "a", text=CONFIGURATION).needs[0] == need


def test_a_limit_that_excludes_no_node_is_never_too_narrow() -> None:
    world = racks(1000.0, 3000.0)
    world.gang("a", [("w", 4, shape(cpu=3000.0))])
    limit(world.cluster.jobs["ns/a"], tier=3)
    assert not any("tier" in need for need in explained(world, "a", text=CONFIGURATION).needs)


@pytest.mark.parametrize(("size", "is_told"), [(2, False), (4, True)])
def test_a_sub_group_that_no_hypernode_holds_is_told_so(size: int, is_told: bool) -> None:
    world = racks(1000.0, 3000.0)
    for node in ("n10", "n11"):
        world.running(f"old-{node}", node, shape(cpu=2000.0))
    world.gang("a", [], minimum=4)
    job = world.cluster.jobs["ns/a"]
    for number in range(4):
        labelled(world, "a", f"p{number}", shape(cpu=2000.0), app="w", part=str(number // size))
    divide(job, policy("p", "part", size=size, labels={"app": "w"}, topology=hard(1)))
    answer = explained(world, "a", text=CONFIGURATION)
    assert not answer.can_start
    assert any(REMEDY in need for need in answer.needs) is is_told


def test_a_tier_that_nobody_has_is_the_cause() -> None:
    world = racks(4000.0)
    world.gang("a", [("w", 1, shape())])
    limit(world.cluster.jobs["ns/a"], tier_name="nowhere")
    answer = explained(world, "a", text=CONFIGURATION)
    assert kinds(answer)[0] == CauseKind.TOPOLOGY
    assert answer.summary == "failed to find hypernode tier name nowhere"
    assert answer.needs == ["a tier in networkTopology that the hypernodes of this cluster have"]


@pytest.mark.parametrize(
    ("listed", "need"),
    [
        ("", "plugin network-topology-aware in the scheduler's configuration, or mode soft in networkTopology"),
        (
            ", {name: network-topology-aware, enabledHyperNodeGradient: false}",
            "enabledHyperNodeGradient of plugin network-topology-aware switched on in the scheduler's configuration",
        ),
    ],
    ids=["not listed", "switched off"],
)
@pytest.mark.parametrize("pods", [0, 1])
def test_the_plugin_that_a_hard_limit_needs_is_named_in_the_advice(listed: str, need: str, pods: int) -> None:
    world = racks(4000.0, 4000.0)
    world.gang("a", [("w", pods, shape())], minimum=1)
    limit(world.cluster.jobs["ns/a"], tier=1)
    answer = explained(world, "a", text=CONFIGURATION.replace(", {name: network-topology-aware}", listed))
    assert CauseKind.TOPOLOGY in kinds(answer)
    assert need in answer.needs
    assert not any("with room" in told for told in answer.needs)


def test_a_soft_wish_excludes_nothing_and_a_job_without_one_has_no_topology() -> None:
    world = racks(4000.0, 4000.0)
    for name in ("a", "b"):
        world.gang(name, [("w", 1, shape())])
    limit(world.cluster.jobs["ns/a"], mode="soft")
    soft = explained(world, "a", text=CONFIGURATION)
    assert soft.topology is not None
    assert (soft.topology.mode, soft.topology.highest_tier, soft.topology.domains) == ("soft", None, 3)
    assert soft.can_start
    assert explained(world, "b", text=CONFIGURATION).topology is None


def test_a_trial_leaves_no_place_behind() -> None:
    world = racks(4000.0, 4000.0)
    world.gang("a", [("w", 2, shape())])
    job = world.cluster.jobs["ns/a"]
    limit(job, tier=1)
    answer = explained(world, "a", text=CONFIGURATION)
    assert answer.can_start
    grouping = grouping_of(job)
    assert [(each.allocated, each.nominated) for each in grouping.sub_jobs.values()] == [("", "")]
    assert grouping.allocated == ""
    assert all(task.node is None for task in job.tasks.values())


@pytest.mark.parametrize("mode", ["hard", "soft"])
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([1000.0, 2000.0, 4000.0]), min_size=1, max_size=4), st.integers(1, 6), st.integers(1, 2)
)
def test_a_job_can_start_just_when_the_next_cycle_starts_it(mode: str, cpus: list[float], pods: int, tier: int) -> None:
    world = racks(*cpus)
    world.gang("a", [("w", pods, shape(cpu=1000.0))])
    limit(world.cluster.jobs["ns/a"], mode=mode, tier=tier if mode == "hard" else None)
    memory = memory_of(world.cluster, CONFIGURATION)
    answer = explained(world, "a", memory=memory)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1.0)
    assert answer.can_start == bool(binds(result)), answer.summary
    assert answer.can_start or answer.causes
