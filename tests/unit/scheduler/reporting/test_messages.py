"""The texts of scheduler.md 12.2, literally."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.placing.fiterrors import FitErrors, everywhere, examine
from scheduler.reporting import messages
from scheduler.session import Session
from scheduler.state.status import Status
from scheduler.state.task import Transaction
from tests.unit.scheduler.build import World, binds, cycle, memory_of, require, shape


def opened(world: World) -> Session:
    memory = memory_of(world.cluster)
    session = Session(world.cluster, memory.configuration, memory, uid="s", now=0.0)
    session.open()
    return session


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        (FitErrors(), "0/0 nodes are unavailable"),
        (
            FitErrors({"node(s) pod number exceeded": 1}, 1, base="fit failed"),
            "fit failed: 1 node(s) pod number exceeded.",
        ),
        (FitErrors({"predicate failed": 2}, 2), "0/2 nodes are unavailable: 2 predicate failed."),
        (
            FitErrors({"node(s) pod number exceeded": 1}, 1, hyper_node="hyperNode1"),
            "In hyperNode hyperNode1: 0/1 nodes are unavailable: 1 node(s) pod number exceeded.",
        ),
        (FitErrors({"y": 2, "x": 10}, 12), "0/12 nodes are unavailable: 10 x, 2 y."),
        (FitErrors(hyper_node="h", base="b"), "b"),
        (everywhere("no claim", 3), "0/3 nodes are unavailable: 3 no claim."),
        (everywhere("no claim", 0), "no claim"),
    ],
)
def test_fit_errors_read_as_users_and_autoscalers_expect(errors: FitErrors, text: str) -> None:
    assert str(errors) == text


def test_the_reasons_of_nodes_are_counted_by_what_each_node_says_first() -> None:
    world = World()
    world.node("small", cpu=500.0)
    world.node("full", pods=1.0)
    world.node("wrong", labels={"disk": "hdd"})
    world.node("cordoned", labels={"disk": "ssd"}, cordoned=True)
    world.running("old", "full", shape(cpu=0.0, memory=0.0))
    world.gang("g", [("w", 1, shape(affinity=require("disk", "ssd")))])
    session = opened(world)
    task = next(iter(world.cluster.jobs["ns/g"].tasks.values()))
    template = session.template(task)
    template.refresh()
    found = examine(template, task, np.arange(4))
    assert str(found) == (
        "0/4 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient pods, 1 node(s) didn't match Pod's node "
        "affinity/selector, 1 node(s) were unschedulable."
    )


def test_a_job_says_how_many_tasks_stand_where_and_why_the_first_failed() -> None:
    world = World()
    world.node("n")
    world.gang("job", [("task", 6, shape())])
    session = opened(world)
    tasks = list(world.cluster.jobs["ns/job"].tasks.values())
    for task in tasks[:3]:
        task.transaction = Transaction(Status.ALLOCATED, "n", eviction=False)
    reasons = {"node(s) pod number exceeded": 1, "node(s) resource fit failed": 2}
    session.set_fit_error(tasks[5], FitErrors(reasons, 3))
    assert messages.job_text(session, world.cluster.jobs["ns/job"]) == (
        "pod group is not ready, 6 Pending, 6 minAvailable; Pending: 3 Schedulable, 3 Unschedulable. "
        "Origin reason is job-task-5: 0/3 nodes are unavailable: 1 node(s) pod number exceeded, "
        "2 node(s) resource fit failed."
    )
    assert messages.gang_text(session, world.cluster.jobs["ns/job"]).startswith(
        "3/6 tasks in gang unschedulable: pod group is not ready, 6 Pending"
    )


def test_a_task_says_where_it_could_go() -> None:
    world = World()
    world.node("n")
    world.gang("job", [("task", 1, shape())])
    session = opened(world)
    task = next(iter(world.cluster.tasks.values()))
    cases = [
        (Transaction(Status.ALLOCATED, "n", eviction=False), "Schedulable", "minAvailable is satisfied", ""),
        (
            Transaction(Status.PIPELINED, "n", eviction=True),
            "Unschedulable",
            "resource is released and minAvailable is satisfied",
            "",  # the plan was taken back, and no room is kept
        ),
    ]
    for transaction, reason, end, nominated in cases:
        task.transaction = transaction
        found = messages.task_reason(session, task)
        assert (found.reason, found.nominated) == (reason, nominated)
        assert found.message == f"Pod ns/job-task-0 can possibly be assigned to n, once {end}"


@pytest.mark.parametrize(("eviction", "nominated"), [(True, "n"), (False, "")])
def test_a_node_is_named_for_a_task_that_waits_there_for_evictions(eviction: bool, nominated: str) -> None:
    world = World()
    world.node("n")
    world.gang("job", [("task", 1, shape())])
    session = opened(world)
    task = next(iter(world.cluster.tasks.values()))
    task.transaction = Transaction(Status.PIPELINED, "elsewhere", eviction=True)
    statement = session.statement()
    assert statement.place((task,), (session.nodes[0],), Status.PIPELINED, eviction=eviction) is None
    found = messages.task_reason(session, task)
    assert found.nominated == nominated
    assert found.message.startswith("Pod ns/job-task-0 can possibly be assigned to n, once resource is released")


def left_partly_bound(world: World, bound: int, status: Status = Status.BOUND) -> None:
    """Gang g of 4 pods of 1 cpu and 1 GPU, as a scheduler leaves it that is killed between two binds."""
    world.gang("g", [("w", 4, shape(cpu=1000.0, memory=2.0**30, scalars={"nvidia.com/gpu": 1000.0}))])
    for ordinal in range(bound):
        task = world.cluster.tasks[f"uid-g-w-{ordinal}"]
        world.cluster.remove_task(task.uid)
        task.status = status
        world.cluster.add_task(task, "old")


@pytest.mark.parametrize(
    ("bound", "status", "text"),
    [
        (0, Status.BOUND, ""),
        (
            1,
            Status.BOUND,
            "; partially bound: 3 missing, which need cpu 3000.00, memory 3221225472.00, nvidia.com/gpu 3000.00",
        ),
        (
            3,
            Status.RUNNING,
            "; partially bound: 1 missing, which need cpu 1000.00, memory 1073741824.00, nvidia.com/gpu 1000.00",
        ),
        (2, Status.SUCCEEDED, ""),
        (2, Status.FAILED, ""),
    ],
)
def test_a_gang_that_is_partly_bound_says_how_many_are_missing_and_what_they_need(
    bound: int, status: Status, text: str
) -> None:
    world = World()
    world.node("old", cpu=0.0, scalars={"nvidia.com/gpu": 0.0})
    left_partly_bound(world, bound, status)
    found = cycle(world).outcome.jobs[0]
    message = found.condition.message if found.condition is not None else ""
    assert ("partially bound" in message) == bool(text)
    assert text in message
    assert text in found.event
    if text:
        # Between the counts and the origin, so that what others look for at either end stays there.
        assert (
            message.index("; Pending: ") < message.index("; partially bound: ") < message.index(". Origin reason is ")
        )


def test_missing_pods_that_do_not_exist_are_told_apart() -> None:
    world = World()
    world.node("old", cpu=0.0, scalars={"nvidia.com/gpu": 0.0})
    left_partly_bound(world, 2)
    world.cluster.remove_task("uid-g-w-3")
    found = cycle(world).outcome.jobs[0]
    assert found.condition is not None
    assert (
        "; partially bound: 2 missing, which need cpu 1000.00, memory 1073741824.00, nvidia.com/gpu 1000.00; "
        "1 of them have no pod that waits"
    ) in found.condition.message


@pytest.mark.parametrize("phase", ["", "Pending", "Inqueue", "Running", "Unknown"])
def test_a_gang_that_is_partly_bound_is_completed_in_the_next_cycle_when_there_is_room(phase: str) -> None:
    world = World()
    world.node("old", cpu=0.0, scalars={"nvidia.com/gpu": 0.0})
    left_partly_bound(world, 2, Status.RUNNING)
    world.cluster.jobs["ns/g"].phase = phase
    world.node("new", cpu=8000.0, scalars={"nvidia.com/gpu": 8000.0})
    result = cycle(world)
    assert [name for name, _ in binds(result)] == ["g-w-2", "g-w-3"]
    assert result.outcome.jobs[0].event == ""
