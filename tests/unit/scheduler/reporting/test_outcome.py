"""What a session leaves to be told (scheduler.md 14)."""

from __future__ import annotations

import pytest

from generated.core.v1 import PodSchedulingGate
from scheduler.reporting.outcome import JobOutcome
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, cycle, memory_of, shape


def told(world: World) -> JobOutcome:
    return cycle(world).outcome.jobs[0]


def test_a_gang_that_waits_says_so_with_its_tasks_and_they_with_theirs() -> None:
    world = World()
    world.node("n", cpu=1000.0)
    world.gang("g", [("w", 2, shape(cpu=1000.0))])
    result = cycle(world)
    found = result.outcome.jobs[0]
    assert (found.phase, found.condition and found.condition.type) == ("Inqueue", "Unschedulable")
    assert found.condition
    assert found.event == found.condition.message
    assert found.event.startswith("1/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable")
    assert [(task.task.name, task.reason) for task in result.outcome.tasks] == [
        ("g-w-0", "Schedulable"),
        ("g-w-1", "Unschedulable"),
    ]


def test_a_gang_bound_in_this_session_is_scheduled_and_nobody_complains() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 2, shape())])
    result = cycle(world)
    found = result.outcome.jobs[0]
    assert (found.condition and found.condition.type, found.event, result.outcome.tasks) == ("Scheduled", "", ())


def test_a_pod_beyond_the_minimum_that_finds_no_node_hears_why_though_its_gang_runs() -> None:
    world = World()
    world.node("n", cpu=1000.0)
    world.gang("g", [("w", 2, shape(cpu=1000.0))], minimum=1)
    result = cycle(world)
    assert result.outcome.jobs[0].event == ""
    assert [(task.task.name, task.message) for task in result.outcome.tasks] == [
        ("g-w-1", "0/1 nodes are unavailable: 1 Insufficient cpu.")
    ]


@pytest.mark.parametrize(
    ("minimum", "statuses", "phase"),
    [
        (1, [Status.RUNNING], "Running"),
        (2, [Status.SUCCEEDED, Status.SUCCEEDED], "Completed"),
        (1, [Status.SUCCEEDED, Status.PENDING], "Running"),
        (1, [Status.SUCCEEDED, Status.BINDING], "Running"),
        (2, [Status.BOUND, Status.BOUND], "Running"),
        (2, [Status.RUNNING, Status.RELEASING], "Running"),
        (2, [Status.RELEASING], "Inqueue"),
        (2, [Status.RUNNING], "Unknown"),
        (0, [], "Completed"),
    ],
)
def test_the_phase_follows_the_tasks(minimum: int, statuses: list[Status], phase: str) -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", len(statuses), shape())], minimum=minimum, phase="Inqueue")
    job = world.cluster.jobs["ns/g"]
    for task, status in zip(list(job.tasks.values()), statuses, strict=True):
        world.cluster.remove_task(task.uid)
        task.status = status
        world.cluster.add_task(task, "" if status is Status.PENDING else "n")
    assert told(world).phase == phase


def test_a_job_that_nothing_happened_to_is_not_looked_at_again() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 1, shape())])
    memory = memory_of(world.cluster)
    cycle(world, memory)
    assert cycle(world, memory, uid="session-2").outcome.jobs == ()


def test_a_job_whose_queue_does_not_exist_hears_so_and_keeps_its_phase() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 1, shape())], queue="gone", phase="Inqueue")
    world.cluster.queues["gone"].object = None
    found = told(world)
    assert (found.phase, found.condition and found.condition.reason) == ("Inqueue", "NotEnoughResources")
    assert found.event == (
        "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable. "
        "Origin reason is: queue gone does not exist; create it, or name another in spec.queue"
    )


def test_a_job_without_enough_pods_names_the_check_that_it_fails() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 1, shape())], minimum=2)
    found = told(world)
    assert found.condition
    assert found.condition.reason == "NotEnoughTasks"
    assert found.condition.message == (
        "2/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 2 minAvailable; Pending: 1 Unschedulable. "
        "Origin reason is: Not enough valid tasks for gang-scheduling, valid: 1, min: 2"
    )


def test_a_group_without_pods_counts_none() -> None:
    world = World()
    world.node("n")
    world.gang("g", [], minimum=2)
    assert told(world).event == "0/0 tasks in gang unschedulable: pod group is not ready, 2 minAvailable"


def test_a_group_without_pods_that_its_queue_keeps_out_has_the_reason_in_a_condition() -> None:
    world = World()
    world.node("n", cpu=1000.0)
    world.gang("g", [], minimum=2, resources={"cpu": "2"})
    configuration = 'actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}, {name: proportion}]}]'
    found = cycle(world, memory_of(world.cluster, configuration)).outcome.jobs[0]
    assert found.condition is not None
    assert (found.condition.type, found.condition.message) == ("Unschedulable", found.event)
    assert "Origin reason is: proportion: queue default resource quota insufficient: insufficient cpu" in found.event


def test_a_gang_that_gates_keep_back_says_so() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 2, shape(scheduling_gates=(PodSchedulingGate(name="example.com/wait"),)))])
    assert told(world).event.endswith("Origin reason is: 2 pods are kept back by scheduling gates")


def test_a_gang_whose_roles_are_not_whole_is_not_told_to_be_ready() -> None:
    world = World()
    world.node("n", cpu=2000.0)
    small, large = shape(cpu=1000.0), shape(cpu=9000.0)
    world.gang("g", [("a", 2, small), ("b", 1, large)], minimum=2, role_minimum={"a": 1, "b": 1})
    job = world.cluster.jobs["ns/g"]
    for task in [task for task in job.tasks.values() if task.role == "a"]:
        world.cluster.remove_task(task.uid)
        task.status = Status.RUNNING
        world.cluster.add_task(task, "n")
    found = told(world)
    assert (found.condition and found.condition.type) == "Unschedulable"
    assert "pod group is not ready" in found.event


def test_without_the_gang_plugin_a_group_that_has_begun_is_not_broken() -> None:
    world = World()
    world.node("n", cpu=1000.0)
    world.gang("g", [("w", 2, shape(cpu=1000.0))], minimum=3)
    world.member("g", "g-w-9", "n", shape(0.0, 0.0, {}), Status.RUNNING)
    memory = memory_of(world.cluster, 'actions: "allocate"\ntiers:\n- plugins:\n  - name: predicates\n')
    found = cycle(world, memory).outcome.jobs[0]
    assert found.phase != "Unknown"
    assert found.event
