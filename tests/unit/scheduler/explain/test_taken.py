"""What is taken of a queue or cluster is told by who has it."""

from __future__ import annotations

import msgspec
import pytest

from api.explanations import lines
from tests.unit.scheduler.build import World, cycle, memory_of, shape
from tests.unit.scheduler.explain.explaining import DEFAULT, explained


def letting_in(count: int) -> World:
    """A queue with a running job of two cpu, and jobs that were let in: the first keeps one cpu, the next two, ..."""
    world = World()
    world.node("n-1", cpu=100000.0)
    world.queue("q", capability={"cpu": "30"})
    world.gang("runs", [("w", 2, shape())], queue="q", phase="Inqueue", resources={"cpu": "2"})
    cycle(world, memory_of(world.cluster, DEFAULT))
    for number in range(1, count + 1):
        world.gang(f"j{number}", [], minimum=1, queue="q", phase="Inqueue", resources={"cpu": str(number)})
    world.gang("a", [("w", 4, shape())], queue="q", resources={"cpu": "20"})
    return world


@pytest.mark.parametrize(
    "divider", ["{name: proportion}", "{name: capacity}", "{name: capacity, enableHierarchy: true}"]
)
def test_what_is_taken_is_told_by_what_runs_and_for_whom_it_is_kept(divider: str) -> None:
    world = letting_in(6)
    world.queue("root")
    answer = explained(world, "a", text=DEFAULT.replace("{name: proportion}", divider))
    assert "insufficient cpu (asked 20000.00, taken 23000.00 of 30000.00)" in answer.causes[0].text
    (taken,) = answer.causes[0].taken
    assert (taken.resource, taken.used, taken.kept, taken.kept_jobs) == ("cpu", "2", "21", 6)
    assert [(job.name, job.amount) for job in taken.jobs] == [
        ("ns/j6", "6"), ("ns/j5", "5"), ("ns/j4", "4"), ("ns/j3", "3"), ("ns/j2", "2"),
    ]  # fmt: skip
    assert (
        "Taken of cpu: 2 used, 21 kept for jobs that were let in and have not started:"
        " ns/j6 6, ns/j5 5, ns/j4 4, ns/j3 3, ns/j2 2, 1 more"
    ) in list(lines(msgspec.to_builtins(answer)))


def test_for_a_queue_above_that_is_full_the_jobs_of_all_queues_below_it_are_named() -> None:
    text = DEFAULT.replace("{name: proportion}", "{name: capacity, enableHierarchy: true}")
    world = World()
    world.node("n-1", cpu=64000.0)
    world.queue("root")
    world.queue("team", parent="root", capability={"cpu": "8"})
    world.queue("leaf", parent="team")
    world.queue("twig", parent="team")
    world.queue("far", parent="root")
    for name, cpu in (("twig", "6"), ("far", "9")):
        world.gang(name, [], minimum=1, queue=name, phase="Inqueue", resources={"cpu": cpu})
    world.gang("a", [("w", 4, shape())], queue="leaf", resources={"cpu": "4"})
    answer = explained(world, "a", text=text)
    assert "queue team resource quota insufficient" in answer.causes[0].text
    (taken,) = answer.causes[0].taken
    assert (taken.used, taken.kept, [job.name for job in taken.jobs]) == ("0", "6", ["ns/twig"])


def test_in_a_cluster_that_is_promised_all_that_is_taken_is_kept() -> None:
    world = World()
    world.node("n-1", cpu=10000.0)
    world.running("old", "n-1", shape(cpu=2000.0))
    world.gang("b", [], minimum=1, phase="Inqueue", resources={"cpu": "8"}, queue="other")
    world.gang("a", [("w", 4, shape())], resources={"cpu": "4"})
    answer = explained(world, "a")
    assert answer.causes[0].plugin == "overcommit"
    assert "taken 8000.00 of 10000.00" in answer.causes[0].text
    (taken,) = answer.causes[0].taken
    assert (taken.used, taken.kept, [job.name for job in taken.jobs]) == ("0", "8", ["ns/b"])
