"""backfill: pods that ask for nothing find a place whatever other actions thought of them before."""

from __future__ import annotations

import pytest

from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, shape
from tests.unit.scheduler.evictions import configured, evicted, nominated, run, victim_job

FREE = shape(0.0, 0.0)
ACTIONS = "allocate, {}, backfill"


def full() -> World:
    """A node of 4 cpu with nothing left."""
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, queue="other")
    return world


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim", "preempt, reclaim"])
def test_a_gang_that_asks_for_nothing_starts_although_an_action_saw_it_starve(action: str) -> None:
    world = full()
    world.gang("free", [("w", 3, FREE)], priority=10)
    result = run(world, configured(ACTIONS.format(action), world=world))
    assert binds(result) == [(f"free-w-{number}", "n0") for number in range(3)]
    assert evicted(result) == []


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_pods_that_ask_for_nothing_start_beside_siblings_that_wait(action: str) -> None:
    world = full()
    world.gang("mixed", [("free", 2, FREE), ("w", 1, shape(5000.0, 0.0))], minimum=2, priority=10)
    result = run(world, configured(ACTIONS.format(action), world=world))
    assert sorted(binds(result)) == [("mixed-free-0", "n0"), ("mixed-free-1", "n0")]


def test_a_gang_without_room_for_all_is_not_begun_with_those_that_ask_for_nothing() -> None:
    world = full()
    world.gang("mixed", [("free", 1, FREE), ("w", 1, shape(5000.0, 0.0))], priority=10)
    result = run(world, configured(ACTIONS.format("preempt, reclaim"), world=world))
    assert (binds(result), evicted(result)) == ([], [])


def test_a_place_that_was_cleared_for_a_pod_that_asks_for_nothing_stays_its_own() -> None:
    world = World()
    world.node("n0", pods=1.0)
    victim_job(world, "low", {"n0": 1}, each=FREE)
    world.gang("free", [("w", 1, FREE)], priority=10)
    memory = configured(ACTIONS.format("preempt"), world=world)
    result = run(world, memory)
    assert (evicted(result), binds(result)) == (["low-w-0"], [])
    assert memory.nominations.node_of(world.cluster.tasks["uid-free-w-0"]) == "n0"
    assert nominated(result) == {}
    world.cluster.remove_task("uid-low-w-0")
    assert binds(run(world, memory)) == [("free-w-0", "n0")]
    assert world.cluster.tasks["uid-free-w-0"].status is Status.BINDING
