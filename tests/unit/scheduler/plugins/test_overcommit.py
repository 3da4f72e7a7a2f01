"""overcommit: the cases of plugins.md 8."""

from __future__ import annotations

import logging

import pytest

from scheduler.plugins.overcommit import Overcommit
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import opened, plugin_of, tiers


def world_of(cpu: float = 10_000.0) -> World:
    world = World()
    world.node("n1", cpu=cpu)
    return world


def admitted(world: World, name: str, arguments: str = "") -> bool:
    plugin = f"{{name: overcommit, arguments: {{{arguments}}}}}"
    cycle(world, memory_of(world.cluster, tiers(plugin)))
    return world.cluster.jobs[f"ns/{name}"].phase == "Inqueue"


@pytest.mark.parametrize(
    ("resources", "arguments", "expected"),
    [
        ({"cpu": "12"}, "", True),
        ({"cpu": "12001m"}, "", False),
        ({"cpu": "12"}, "overcommit-factor: 0.8", True),
        ({"cpu": "15"}, "overcommit-factor: 1.5", True),
        ({"cpu": "11"}, "overcommit-factor: 1", False),
        ({"cpu": "1000000"}, "", False),
        (None, "", True),
        ({}, "", True),
        ({"nvidia.com/gpu": "1"}, "", False),
    ],
)
def test_jobs_are_let_in_up_to_the_stretched_cluster(
    resources: dict[str, str] | None, arguments: str, expected: bool
) -> None:
    world = world_of()
    world.gang("new", [], minimum=1, resources=resources)
    assert admitted(world, "new", arguments) is expected


def test_a_factor_below_one_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of()
    with (
        caplog.at_level(logging.WARNING),
        opened(world, "{name: overcommit, arguments: {overcommit-factor: 0.5}}") as session,
    ):
        assert plugin_of(session, Overcommit).factor == 1.2
    assert "overcommit-factor 0.5 is below 1, 1.2 counts" in caplog.text


def test_what_is_in_use_and_what_is_let_in_counts_once() -> None:
    world = world_of()
    world.gang("runs", [], minimum=6, phase="Inqueue", resources={"cpu": "6"})
    for number in range(6):
        world.member("runs", f"runs-{number}", "n1", shape(), Status.BINDING)
    world.gang("new", [], minimum=6, resources={"cpu": "6"})
    world.gang("more", [], minimum=1, resources={"cpu": "1"})
    assert admitted(world, "new")
    assert world.cluster.jobs["ns/more"].phase == "Pending"


def test_a_waiting_job_keeps_its_minimum_free() -> None:
    world = world_of()
    world.gang("waits", [], minimum=1, phase="Inqueue", resources={"cpu": "8"})
    world.gang("new", [], minimum=1, resources={"cpu": "5"})
    assert not admitted(world, "new")


def test_a_finished_job_keeps_nothing_free() -> None:
    world = world_of()
    world.gang("done", [], minimum=1, phase="Inqueue", resources={"cpu": "8"})
    world.member("done", "done-0", "n1", shape(), Status.SUCCEEDED)
    world.gang("new", [], minimum=1, resources={"cpu": "12"})
    assert admitted(world, "new")


def test_the_user_hears_what_is_overused_and_by_how_much() -> None:
    world = world_of()
    world.gang("new", [], minimum=1, resources={"cpu": "13", "memory": "1Ti"})
    result = cycle(world, memory_of(world.cluster, tiers("overcommit")))
    told = result.outcome.jobs[0]
    assert told.refusal == "resource in cluster is overused: overused cpu, overused memory"
    assert (
        "overcommit: resource in cluster is overused: insufficient cpu (asked 13000.00, taken 0.00 of 12000.00)"
        in told.event
    )
