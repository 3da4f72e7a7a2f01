"""What no waiting will bring is told with what to raise."""

from __future__ import annotations

import pytest

from generated.scheduling.v1beta1 import Guarantee
from tests.unit.scheduler.build import World, cycle, memory_of, shape
from tests.unit.scheduler.explain.explaining import DEFAULT, explained


@pytest.mark.parametrize("phase", ["", "Inqueue"])
def test_more_than_the_queue_may_ever_hold_is_told_with_what_to_raise(phase: str) -> None:
    world = World()
    world.node("n-1", cpu=64000.0)
    world.queue("q", capability={"cpu": "8"})
    world.gang("a", [("w", 5, shape(cpu=2000.0))], queue="q", phase=phase, resources={"cpu": "10"})
    needs = explained(world, "a").needs
    tail = "ask for 10 cpu, more than queue q may ever hold (8 cpu): raise cpu in spec.capability of queue q, or ask for less"
    assert needs[0] == f"{'the pods that it needs' if phase else 'its minResources'} {tail}"
    assert len([need for need in needs if "may ever hold" in need]) == 1
    assert not [need for need in needs if need.startswith(("room for its minResources", "pods of queue"))]


def test_a_queues_limit_is_told_also_where_the_cluster_is_full_just_now() -> None:
    world = World()
    world.node("n-1", cpu=16000.0)
    world.running("old", "n-1", shape(cpu=15000.0))
    world.queue("q", capability={"cpu": "8"})
    world.gang("a", [("w", 5, shape(cpu=2000.0))], queue="q", resources={"cpu": "10"})
    answer = explained(world, "a")
    assert answer.causes[0].plugin == "overcommit"
    assert "raise cpu in spec.capability of queue q" in answer.needs[0]


def test_a_queue_above_that_is_too_small_is_the_one_to_raise() -> None:
    text = DEFAULT.replace("{name: proportion}", "{name: capacity, enableHierarchy: true}")
    world = World()
    world.node("n-1", cpu=64000.0)
    world.queue("root")
    world.queue("team", parent="root", capability={"cpu": "8"})
    world.queue("leaf", parent="team")
    world.gang("a", [("w", 5, shape(cpu=2000.0))], queue="leaf", resources={"cpu": "10"})
    (first, *_) = explained(world, "a", text=text).needs
    assert "10 cpu" in first
    assert "may ever hold (8 cpu)" in first
    assert first.endswith(
        "more than queue team may ever hold (8 cpu): raise cpu in spec.capability of queue team, or ask for less"
    )


def test_a_queue_above_is_no_limit_where_the_plugin_has_no_tree() -> None:
    text = DEFAULT.replace("{name: proportion}", "{name: capacity}")
    world = World()
    world.node("n-1", cpu=8000.0)
    world.running("old", "n-1", shape(cpu=7000.0))
    world.queue("root")
    world.queue("team", parent="root", capability={"cpu": "1"})
    world.queue("leaf", parent="team")
    world.gang("a", [("w", 4, shape())], queue="leaf", resources={"cpu": "4"})
    assert explained(world, "a", text=text).needs[0] == "room for its minResources (4 cpu) as overcommit counts it"


def test_what_others_are_guaranteed_is_told_as_what_is_in_the_way() -> None:
    world = World()
    world.node("n-1", cpu=8000.0)
    world.queue("other", guarantee=Guarantee(resource={"cpu": "4"}))
    world.queue("q")
    world.gang("a", [("w", 1, shape())], queue="q", resources={"cpu": "6"})
    (first, *_) = explained(world, "a").needs
    assert first.startswith("its minResources ask for 6 cpu, more than queue q may ever hold (4 cpu): ")
    assert "guaranteed" in first


def test_more_than_the_cluster_is_let_in_for_needs_nodes() -> None:
    world = World()
    world.node("n-1", cpu=8000.0)
    world.gang("a", [("w", 10, shape())], resources={"cpu": "10"})
    (first, *_) = explained(world, "a").needs
    tail = "add nodes, or ask for less"
    assert first == f"its minResources ask for 10 cpu, more than queue default may ever hold (8 cpu): {tail}"
    (first, *_) = explained(world, "a", text=DEFAULT.replace(", {name: proportion}", "")).needs
    assert first == (
        "its minResources ask for 10 cpu, more than the cluster, counted 1.2 times by overcommit, may ever hold"
        " (9600m cpu): add nodes, or ask for less"
    )


def test_what_will_be_free_one_day_is_waited_for() -> None:
    world = World()
    world.node("n-1", cpu=8000.0)
    world.queue("q", capability={"cpu": "8"})
    world.gang("old", [("w", 6, shape())], queue="q", phase="Inqueue")
    cycle(world, memory_of(world.cluster, DEFAULT))
    world.gang("a", [("w", 4, shape())], queue="q", resources={"cpu": "4"})
    needs = explained(world, "a").needs
    assert needs[0] == "room for its minResources (4 cpu) as overcommit counts it"
