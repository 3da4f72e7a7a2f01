"""
Evictions over random clusters, against the slow way: everything recomputed from the tasks alone.

An eviction is right when its beneficiary fits once the victims are gone (all of its gang does), and when none of the
victims could have stayed.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduler.contract.decisions import Bind, Evict
from scheduler.session import Session
from scheduler.state.node import Node
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, shape
from tests.unit.scheduler.evictions import Lower, configured, gone, run, victim_job
from tests.unit.scheduler.sociable import HOST, RACK, ZONE, pod_task, random_labels, sociable_gang, sociable_shape
from tests.unit.scheduler.test_statement import picture

ACTIONS = {
    "preempt": "",
    "preempt with topology": "configurations:\n- name: preempt\n  arguments: {enableTopologyAwarePreemption: true}",
    "reclaim": "",
    "gangpreempt": "",
    "gangreclaim": "",
}


class Never(Lower):
    """No job will ever be whole."""

    def on_session_open(self, session: Any) -> None:
        super().on_session_open(session)
        session.add_job_ready(self.name, lambda _: False)
        session.add_job_pipelined(self.name, lambda _: -1)


def crowded(rng: random.Random) -> World:
    """Nodes that are mostly full, with victims of several jobs and queues, and gangs that want room."""
    world = World()
    for number in range(rng.randint(1, 5)):
        world.node(f"n{number}", cpu=4000.0, memory=8 * GIB, pods=float(rng.choice([4, 6, 110])))
    sizes = [shape(cpu, memory * GIB) for cpu, memory in ((500.0, 1), (1000.0, 1), (1000.0, 3), (2000.0, 2))]
    for number in range(rng.randint(1, 5)):
        free = {node.name: dict(node.allocatable) for node in world.cluster.node_by_name.values()}
        for task in world.cluster.tasks.values():
            assert task.node is not None
            for name, amount in task.request.amounts.items():
                free[task.node.name][name] -= amount
        size = rng.choice(sizes)
        places = {}
        for name, left in free.items():
            fits = int(min(left[key] // amount for key, amount in size.request.amounts.items()))
            places[name] = rng.randint(0, max(0, fits))
        victim_job(
            world, f"low-{number}", places, each=size, priority=rng.choice([0, 0, 1, 20]),
            minimum=rng.choice([0, 0, sum(places.values())]), queue=rng.choice(["default", "other"]),
            status=rng.choice([Status.RUNNING, Status.RUNNING, Status.BOUND]),
            task_priority=lambda ordinal: ordinal % 3, preemptable=rng.random() < 0.9,
        )  # fmt: skip
    for number in range(rng.randint(1, 3)):
        world.gang(
            f"high-{number}", [("w", rng.randint(1, 4), rng.choice(sizes))], priority=rng.choice([5, 10]),
            queue=rng.choice(["default", "other"]),
        )  # fmt: skip
    return world


def fits(task: Task, node: Node, without: set[str], claims: dict[str, list[Task]]) -> bool:
    """Whether a node has room for a task and for what else is promised there, recomputed from the tasks."""
    there = [other for other in node.tasks.values() if other.uid not in without]
    taken = [*there, *(other for other in claims.get(node.name, ()) if other is not task)]
    return all(
        sum(other.request.amounts.get(name, 0.0) for other in taken) + amount <= node.allocatable.get(name, 0.0)
        for name, amount in task.request.amounts.items()
    )


@pytest.mark.parametrize("action", ACTIONS)
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_eviction_has_a_beneficiary_that_needs_it_and_then_binds(action: str, seed: int) -> None:
    world = crowded(random.Random(seed))
    memory = configured(action.split(maxsplit=1)[0], more=ACTIONS[action], world=world)
    result = run(world, memory)
    evictions = [decision for decision in result.decisions if isinstance(decision, Evict)]
    cluster = world.cluster
    promised = {cluster.tasks[uid]: nomination.node for uid, nomination in memory.nominations.by_task.items()}
    claims: dict[str, list[Task]] = {}
    for task, node in promised.items():
        claims.setdefault(node, []).append(task)
    victims = {decision.task.uid for decision in evictions}
    assert len(victims) == len(evictions), "nobody is evicted twice"
    for task, name in promised.items():
        assert fits(task, cluster.node_by_name[name], victims, claims)
    for decision in evictions:
        if action.startswith("gang") and cluster.jobs[decision.task.job].min_available:
            continue  # its gang goes as a whole
        node = decision.task.node
        assert node is not None
        mine = [task for task in claims.get(node.name, ()) if task.job == decision.beneficiary]
        assert mine, "room was made on a node that nobody of the beneficiary gets"
        served = {task.job for task in claims[node.name]}
        served |= {other.beneficiary for other in evictions if other.task.node is node}
        if len(served) > 1:
            continue  # room made for one job may turn out to do for the next as well
        assert not all(fits(task, node, victims - {decision.task.uid}, claims) for task in mine), "one victim too many"
    gone(world, result)
    bound = {decision.task.uid for decision in run(world, memory).decisions if isinstance(decision, Bind)}
    assert {task.uid for task in promised} <= bound


@pytest.mark.parametrize("action", ACTIONS)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_a_cycle_that_evicts_nobody_leaves_the_state_to_the_bit(action: str, seed: int) -> None:
    world = crowded(random.Random(seed))
    memory = configured(action.split(maxsplit=1)[0], more=ACTIONS[action], plugins={"lower": Never}, world=world)
    session = Session(world.cluster, memory.configuration, memory, uid="before", now=0.0)
    session.open()
    before = picture(session)
    session.close()
    result = run(world, memory)
    assert result.decisions == ()
    session = Session(world.cluster, memory.configuration, memory, uid="after", now=0.0)
    session.open()
    assert picture(session) == before
    session.close()


def neighbourly(rng: random.Random) -> World:
    """Full nodes with labels, whose pods look at each other, and one gang that wants room and looks at them too."""
    world = World()
    for number in range(rng.randint(1, 5)):
        labels = {ZONE: rng.choice("ab"), HOST: f"n{number}", RACK: rng.choice(["r0", "r1"])}
        world.node(f"n{number}", labels=labels, cpu=2000.0, memory=8 * GIB, pods=float(rng.choice([3, 110])))
    shapes = [sociable_shape(rng) for _ in range(4)]
    for number in range(rng.randint(1, 3)):
        world.gang(f"low-{number}", [], minimum=0, priority=rng.choice([0, 1]), phase="Running")
    free = {node.name: node.allocatable["cpu"] for node in world.cluster.node_by_name.values()}
    for number in range(rng.randint(0, 14)):
        wanted, name = rng.choice(shapes), rng.choice(sorted(free))
        cpu = wanted.request.amounts.get("cpu", 0.0)
        if free[name] < cpu:
            continue
        free[name] -= cpu
        task = pod_task(
            f"low-pod-{number}", "ns", random_labels(rng), wanted, status=Status.RUNNING,
            job=f"ns/low-{rng.randrange(sum(job.startswith('ns/low') for job in world.cluster.jobs))}",
        )  # fmt: skip
        world.cluster.add_task(task, name)
    roles = [("w", rng.randint(1, 4), rng.choice(shapes))]
    sociable_gang(world, "high", roles, random_labels(rng), priority=10)
    return world


@pytest.mark.parametrize("action", ["preempt", "preempt with topology", "gangpreempt"])
@settings(max_examples=150, deadline=None)
@example(368)  # a pod that the first of the gang leans on is in the way of the last
@given(st.integers(0, 2**32))
def test_a_beneficiary_binds_where_it_was_promised_whatever_pods_it_looks_at(action: str, seed: int) -> None:
    world = neighbourly(random.Random(seed))
    memory = configured(action.split(maxsplit=1)[0], more=ACTIONS[action], world=world)
    result = run(world, memory)
    promised = {uid: nomination.node for uid, nomination in memory.nominations.by_task.items()}
    gone(world, result)
    after = run(world, memory)
    bound = {decision.task.uid: decision.node for decision in after.decisions if isinstance(decision, Bind)}
    assert promised.items() <= bound.items()
    assert not any(isinstance(decision, Evict) for decision in after.decisions)
