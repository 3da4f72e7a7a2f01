"""Accounts of jobs and queues stay the sums over their pods, whatever comes, goes and is taken back."""

from __future__ import annotations

import random

import numpy as np
import pytest

from generated.core.v1 import PodSchedulingGate
from scheduler.session import Session
from scheduler.state.account import Entry
from scheduler.state.cluster import Cluster
from scheduler.state.limits import Limits, limits_of
from scheduler.state.reservation import settle
from scheduler.state.status import ALLOCATED, Status
from tests.unit.scheduler.build import GIB, World, memory_of, random_world, shape


def summed(cluster: Cluster, job_id: str) -> np.ndarray:
    """The live entries of a job's account, over its pods."""
    account = np.zeros((5, len(cluster.dimensions)))
    for task in cluster.jobs[job_id].tasks.values():
        row = task.request.row(cluster.dimensions)
        account[Entry.ALLOCATED] += row * (task.status in ALLOCATED)
        account[Entry.CLAIMED] += row * (task.status in ALLOCATED or task.status is Status.PIPELINED)
        account[Entry.WANTED] += row * (task.status in ALLOCATED or task.status is Status.PENDING)
        account[Entry.TOTAL] += row
        account[Entry.GATED] += row * task.is_gated
    return account


def check(cluster: Cluster) -> None:
    for job_id, job in cluster.jobs.items():
        assert np.array_equal(job.account[:5], summed(cluster, job_id)), job_id
    for queue in cluster.queues.values():
        expected = sum((job.account for job in queue.jobs.values()), start=np.zeros_like(queue.account))
        assert np.array_equal(queue.account, expected), queue.name


@pytest.mark.parametrize("seed", range(12))
def test_accounts_are_the_sums_over_pods(seed: int) -> None:
    rng = random.Random(seed)
    world = random_world(seed)
    cluster = world.cluster
    gated = shape(500.0, GIB, scheduling_gates=(PodSchedulingGate(name="example.com/wait"),))
    world.gang("gated", [("w", 2, gated)], queue="other")
    memory = memory_of(cluster)
    check(cluster)
    session = Session(cluster, memory.configuration, memory, uid="s", now=0.0)
    session.open()
    before = {job_id: job.account.tobytes() for job_id, job in cluster.jobs.items()}
    statement = session.statement()
    for job in list(cluster.jobs.values()):
        for task in list(job.pending.values())[: rng.randint(0, 3)]:
            node = rng.choice(session.nodes)
            statement.place([task], [node], rng.choice([Status.ALLOCATED, Status.PIPELINED]))
            check(cluster)
            if task.status is Status.ALLOCATED and rng.random() < 0.5:
                statement.evict(task, "test")
                check(cluster)
    statement.discard()
    assert {job_id: job.account.tobytes() for job_id, job in cluster.jobs.items()} == before
    session.close()
    cluster.set_job_queue(cluster.jobs["ns/gated"], "third")
    check(cluster)
    for uid in list(cluster.tasks)[::2]:
        cluster.remove_task(uid)
    check(cluster)


def test_a_resource_met_later_widens_every_account() -> None:
    world = World()
    world.node("n")
    world.gang("a", [("w", 1, shape())])
    world.gang("b", [("w", 1, shape(scalars={"nvidia.com/gpu": 1000.0}))])
    assert world.cluster.jobs["ns/a"].account.shape == world.cluster.queues["default"].account.shape
    check(world.cluster)


@pytest.mark.parametrize(
    ("phase", "statuses", "minimum", "reserved"),
    [
        ("", [], 2, 0),
        ("Pending", [], 2, 0),
        ("Inqueue", [], 2, 3000),
        ("Inqueue", [Status.BINDING], 2, 2000),
        ("Inqueue", [Status.RUNNING, Status.RUNNING], 2, 1000),
        ("Running", [Status.RUNNING, Status.RUNNING], 2, 1000),
        ("Inqueue", [Status.RUNNING], 2, 0),
        ("Running", [Status.RUNNING, Status.SUCCEEDED], 2, 0),
        ("Inqueue", [Status.SUCCEEDED, Status.SUCCEEDED], 2, 0),
        ("Inqueue", [Status.RUNNING] * 4, 2, 0),
    ],
    ids=["new", "pending", "let in", "binding", "runs", "runs by its phase", "broken up", "half done", "done", "over"],
)
def test_a_job_keeps_free_what_its_minimum_still_lacks(
    phase: str, statuses: list[Status], minimum: int, reserved: float
) -> None:
    world = World()
    world.node("n")
    world.gang("a", [], minimum=minimum, phase=phase, resources={"cpu": "3", "ephemeral-storage": "1Gi"})
    for number, status in enumerate(statuses):
        world.member("a", f"a-{number}", "n", shape(), status)
    job = world.cluster.jobs["ns/a"]
    settle(world.cluster, job)
    assert job.reserved[0] == reserved
    assert job.reserved.sum() == reserved
    assert job.elastic[0] == max(0.0, job.allocated[0] - 3000)
    assert np.array_equal(world.cluster.queues["default"].account, job.account)


def test_settling_again_changes_nothing_and_follows_what_changed() -> None:
    world = World()
    world.node("n")
    world.gang("a", [], minimum=1, phase="Inqueue", resources={"cpu": "3"})
    job = world.cluster.jobs["ns/a"]
    settle(world.cluster, job)
    settle(world.cluster, job)
    assert world.cluster.queues["default"].reserved[0] == 3000
    world.member("a", "a-0", "n", shape(4000.0), Status.BOUND)
    settle(world.cluster, job)
    queue = world.cluster.queues["default"]
    assert (queue.reserved[0], queue.elastic[0]) == (0, 1000)


def test_an_unreadable_amount_is_left_out() -> None:
    world = World()
    world.queue("q", capability={"cpu": "much", "memory": "1Gi"}, deserved={"cpu": "2", "gpu": "3"}, priority=7)
    assert world.cluster.queues["q"].limits == Limits(priority=7, capability={"memory": GIB}, deserved={"cpu": 2000.0})


def test_limits_follow_the_queue_object() -> None:
    world = World()
    world.queue("q", weight=3)
    queue = world.cluster.queues["q"]
    assert queue.limits.weight == 3
    world.queue("q", weight=0)
    assert queue.limits.weight == 0
    queue.object = None
    assert queue.limits == Limits()


@pytest.mark.parametrize(("state", "is_open"), [("", True), ("Open", True), ("Closing", False), ("Closed", False)])
def test_a_queue_is_open_until_it_says_otherwise(state: str, is_open: bool) -> None:
    world = World()
    world.queue("q", state=state)
    queue_object = world.cluster.queues["q"].object
    assert queue_object is not None
    assert limits_of(queue_object).is_open is is_open
