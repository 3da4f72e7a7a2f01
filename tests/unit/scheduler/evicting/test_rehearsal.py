"""Topology-aware preemption: how many nodes are examined, which is taken, and the part of the plugins' simulations."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Pod, PodStatus
from scheduler.contract.arguments import Arguments
from scheduler.evicting.rehearsal import Rehearsal, harm
from scheduler.plugin import Plugin
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.evictions import configured, evicted, nominated, run, victim_job


def pod(cpu: float, **spec: Any) -> Shape:
    return shape(cpu * 1000.0, 0.0, **spec)


@pytest.mark.parametrize(
    ("arguments", "nodes", "wanted"),
    [
        ({}, 5000, 100),
        ({}, 500, 50),
        ({}, 5, 1),
        ({"minCandidateNodesAbsolute": 10}, 5, 5),
        ({"minCandidateNodesAbsolute": 10}, 50, 10),
        ({"minCandidateNodesPercentage": 50}, 100, 50),
        ({"minCandidateNodesPercentage": "20"}, 100, 10),  # not a number: the default counts
        ({"maxCandidateNodesAbsolute": 0}, 100, 0),
        ({"minCandidateNodesAbsolute": 0, "minCandidateNodesPercentage": 0}, 100, 0),
        ({"topologyAwarePreemptWorkerNum": 0}, 100, 0),
    ],
)
def test_so_many_candidates_are_enough(arguments: dict[str, Any], nodes: int, wanted: int) -> None:
    assert Rehearsal.of(Arguments(arguments)).wanted(nodes) == wanted


def victim(priority: int | None, started: str = "") -> Task:
    raw = Pod(status=PodStatus(start_time=started or None))
    made = pod(1, priority=priority)
    return Task(uid="u", namespace="ns", name="v", job="ns/v", shape=made, pod=raw)


@pytest.mark.parametrize(
    ("case", "better", "worse"),
    [
        ("a lower highest priority", [victim(1), victim(1)], [victim(2)]),
        ("none counts as 0", [victim(None)], [victim(1)]),
        ("a lower sum", [victim(5), victim(-3)], [victim(5), victim(2)]),
        ("fewer of them", [victim(5)], [victim(5), victim(-(2**31))]),
        (
            "the latest start among the highest",
            [victim(5, "2026-01-01T00:00:09Z")],
            [victim(5, "2026-01-01T00:00:08Z")],
        ),
        ("one that did not start is the latest", [victim(5)], [victim(5, "2026-01-01T00:00:08Z")]),
        (
            "the start of lower ones doesn't count",
            [victim(5, "2026-01-01T00:00:09Z"), victim(1, "2026-01-01T00:00:00Z")],
            [victim(5, "2026-01-01T00:00:08Z"), victim(1, "2026-01-01T00:00:09Z")],
        ),
    ],
)
def test_what_matters_less_goes(case: str, better: list[Task], worse: list[Task]) -> None:
    now = 1.8e9
    assert harm(better, now) < harm(worse, now), case


ON = "configurations:\n- name: preempt\n  arguments: {enableTopologyAwarePreemption: true%s}"


def served(world: World, more: str = "", arguments: str = "", plugins: dict[str, Any] | None = None) -> Any:
    return run(world, configured("preempt", more=more + ON % arguments, plugins=plugins, world=world))


def test_the_node_whose_victims_matter_least_is_cleared() -> None:
    world = World()
    for name, priority in (("a", 7), ("b", 3), ("c", 5)):
        world.node(name)
        victim_job(world, f"low-{name}", {name: 4}, each=pod(1, priority=priority))
    world.gang("high", [("w", 1, pod(2))], priority=10)
    result = served(world, arguments=", minCandidateNodesAbsolute: 3")
    assert nominated(result) == {"high-w-0": "b"}
    assert len(evicted(result)) == 2


def test_a_node_that_fits_without_victims_is_the_best_candidate() -> None:
    world = World()
    world.node("a", cpu=8000.0)
    world.node("b")
    victim_job(world, "low", {"a": 8})
    world.gang("high", [("w", 2, pod(4))], priority=10)
    result = served(world)
    assert len(evicted(result)) == 4


def test_without_workers_nothing_is_examined() -> None:
    world = World()
    world.node("a")
    victim_job(world, "low", {"a": 4})
    world.gang("high", [("w", 1, pod(2))], priority=10)
    assert evicted(served(world, arguments=", topologyAwarePreemptWorkerNum: 0")) == []


class Paired(Plugin):
    """Keeps books of its own: the pod named in its arguments must be gone, and errors end a node's trial."""

    name = "paired"

    def on_session_open(self, session: Any) -> None:
        wanted = self.arguments.text("gone", "")

        def remove(trial: Any, task: Task, node: Any) -> str | None:
            if self.arguments.bool("fails", False):
                return "books closed"
            trial.state.setdefault(self.name, set()).add(task.name)
            return None

        def add(trial: Any, task: Task, node: Any) -> str | None:
            trial.state[self.name].discard(task.name)
            return None

        session.add_simulate_remove_task(self.name, remove)
        session.add_simulate_add_task(self.name, add)
        session.add_simulate_predicate(
            self.name, lambda trial, node: None if wanted in trial.state.get(self.name, ()) else "still there"
        )
        session.add_simulate_allocatable(self.name, lambda trial, queue: not self.arguments.bool("full", False))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("gone: low-w-1", ["low-w-1"]),  # those before it are put back
        ("gone: nobody", []),
        ("gone: low-w-1, fails: true", []),
        ("gone: low-w-1, full: true", []),
    ],
)
def test_the_simulations_of_plugins_have_their_say(arguments: str, expected: list[str]) -> None:
    world = World()
    world.node("a")
    victim_job(world, "low", {"a": 4})
    world.gang("high", [("w", 1, pod(1))], priority=10)
    more = f"  - name: paired\n    arguments: {{{arguments}}}\n"
    result = served(world, more, plugins={"paired": Paired})
    assert evicted(result) == expected


def test_pods_with_equal_standing_are_chosen_alike_each_time() -> None:
    def world() -> World:
        made = World()
        for number in range(6):
            made.node(f"n{number}")
        victim_job(made, "low", {f"n{number}": 4 for number in range(6)})
        made.gang("high", [("w", 3, pod(2))], priority=10)
        return made

    assert evicted(served(world())) == evicted(served(world()))
