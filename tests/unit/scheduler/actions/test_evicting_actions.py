"""The evicting actions under the plugins of the chart, over several cycles: victims come back as pending pods."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.contract.decisions import Bind, Evict
from scheduler.cycle import Result, run_cycle
from scheduler.memory import Memory
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler import life
from tests.unit.scheduler.build import World, memory_of
from tests.unit.scheduler.evictions import evicted, victim_job
from tests.unit.scheduler.life import pod


def text_of(actions: str, gang: str) -> str:
    return life.chart(f"enqueue, allocate, {actions}, backfill", gang=f"enablePreemptable: {gang}")


def chart(world: World, actions: str, *, gang: str = "false") -> Memory:
    return memory_of(world.cluster, text_of(actions, gang))


def step(world: World, memory: Memory, number: int) -> Result:
    """A cycle, after which what was decided comes true: victims are replaced by pending pods, bound pods run."""
    cluster = world.cluster
    result = run_cycle(cluster, memory, ACTIONS, uid=f"session-{number}", now=1000.0 + number)
    for decision in result.decisions:
        old = cluster.remove_task(decision.task.uid)
        assert old is not None
        if isinstance(decision, Evict):
            fresh, node = f"{old.uid}+", ""
        else:
            assert isinstance(decision, Bind)
            fresh, node = old.uid, decision.node
        cluster.add_task(
            Task(
                uid=fresh, namespace=old.namespace, name=old.name, job=old.job, shape=old.shape, role=old.role,
                priority=old.priority, status=Status.RUNNING if node else Status.PENDING,
            ),
            node,
        )  # fmt: skip
    return result


@pytest.mark.parametrize(("switch", "expected"), [("true", ["low-w-0"]), ("false", [])])
def test_between_two_pods_of_a_job_the_one_of_less_priority_goes(switch: str, expected: list[str]) -> None:
    world = World()
    world.node("n0", cpu=6000.0)
    victim_job(world, "low", {"n0": 2}, each=pod(3), priority=100, task_priority=lambda ordinal: 1000 * ordinal)
    world.gang("high", [("w", 1, pod(3))], priority=1000)
    text = text_of("preempt", "false").replace("name: priority", f"name: priority\n    enablePreemptable: {switch}")
    if switch == "false":
        text = text.replace("name: conformance", "name: conformance\n    enablePreemptable: false")
    assert evicted(run_cycle(world.cluster, memory_of(world.cluster, text), ACTIONS, uid="s", now=0.0)) == expected


def test_a_gang_is_not_broken_where_gang_has_a_say() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=3)
    world.gang("high", [("w", 1, pod(2))], priority=10)
    assert evicted(step(world, chart(world, "preempt", gang="true"), 0)) == []
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=3)
    world.gang("high", [("w", 1, pod(1))], priority=10)
    assert evicted(step(world, chart(world, "preempt", gang="true"), 0)) == ["low-w-3"]


def test_a_queue_takes_back_its_half_of_the_cluster_and_no_more() -> None:
    world = World()
    world.node("n0", cpu=8000.0)
    victim_job(world, "rich", {"n0": 8}, queue="rich")
    world.gang("poor", [("w", 8, pod(1))], queue="poor", minimum=1)
    memory = chart(world, "reclaim")
    for number in range(12):
        step(world, memory, number)
    held = {
        name: sum(task.status is Status.RUNNING for task in world.cluster.jobs[f"ns/{name}"].tasks.values())
        for name in ("rich", "poor")
    }
    assert held["poor"] >= 1
    assert sum(held.values()) == 8


@pytest.mark.parametrize("actions", ["preempt", "reclaim", "preempt, reclaim", "gangpreempt, gangreclaim"])
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_evictions_come_to_an_end(actions: str, seed: int) -> None:
    rng = random.Random(seed)
    world = World()
    for number in range(rng.randint(1, 3)):
        world.node(f"n{number}", cpu=4000.0)
    for number in range(rng.randint(1, 5)):
        count = rng.randint(1, 5)
        world.gang(
            f"job-{number}", [("w", count, pod(rng.choice([1, 2])))], priority=rng.choice([0, 5, 10]),
            queue=rng.choice(["one", "two"]), minimum=rng.choice([1, count]),
        )  # fmt: skip
    memory = chart(world, actions, gang=rng.choice(["true", "false"]))
    last = 0
    for number in range(30):
        result = step(world, memory, number)
        if any(isinstance(decision, (Bind, Evict)) for decision in result.decisions):
            last = number
        world.cluster.version += 1
        world.cluster.changed_jobs.update(world.cluster.jobs)
    assert last < 25, "pods are moved in circles"
