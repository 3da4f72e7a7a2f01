"""What a session leaves to be told (scheduler.md 14)."""

from __future__ import annotations

import pytest

from scheduler.outcome import JobOutcome
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
    assert found.event.startswith("2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable")
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
        world.cluster.add_task(task, "n")
    assert told(world).phase == phase


def test_a_job_that_nothing_happened_to_is_not_looked_at_again() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 1, shape())])
    memory = memory_of(world.cluster)
    cycle(world, memory)
    assert cycle(world, memory, uid="session-2").outcome.jobs == ()
