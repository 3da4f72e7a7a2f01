"""Who is not asked about again at the door of a queue, and when it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cycle import Result, run_cycle
from scheduler.memory import Memory
from scheduler.plugins.overcommit import Overcommit
from scheduler.reporting.messages import PATIENCE
from scheduler.state.job import Job
from tests.unit.scheduler.build import FIVE_PLUGINS, World, memory_of, shape

SHARING = FIVE_PLUGINS.replace("  - name: binpack", "  - name: overcommit\n  - name: proportion")
MINIMUM = {"cpu": "8", "memory": "1Gi"}
TOLD = "overcommit: resource in cluster is overused: insufficient cpu (asked 8000.00, taken {} of {})"


def crowd(*, jobs: int = 3) -> World:
    """Jobs `ns/j0` and so on, each of which asks for more than the cluster has."""
    world = World()
    world.node("n", cpu=4000.0)
    for number in range(jobs):
        world.gang(f"j{number}", [("w", 2, shape(cpu=4000.0))], phase="Pending", resources=MINIMUM)
    return world


def run(world: World, memory: Memory, now: float = 1000.0) -> Result:
    return run_cycle(world.cluster, memory, ACTIONS, uid="session", now=now)


def told(result: Result) -> dict[str, str]:
    """By job: the cause that its condition names."""
    return {
        each.job.name: each.condition.message.partition("Origin reason is: ")[2]
        for each in result.outcome.jobs
        if each.condition is not None
    }


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of jobs that the plugin is asked about from now on."""
    names: list[str] = []
    vote = Overcommit._vote

    def noting(self: Overcommit, job: Job) -> int:
        names.append(job.name)
        return vote(self, job)

    monkeypatch.setattr(Overcommit, "_vote", noting)
    return names


def test_of_like_jobs_one_is_asked_about_and_all_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, names = crowd(), asked(monkeypatch)
    memory = memory_of(world.cluster, SHARING)
    first = run(world, memory)
    assert told(first) == dict.fromkeys(["j0", "j1", "j2"], TOLD.format("0.00", "4800.00"))
    assert {each.refusal for each in first.outcome.jobs} == {"resource in cluster is overused: overused cpu"}
    assert names == ["j0"]
    second = run(world, memory, now=1001.0)
    assert (told(second), second.outcome.asleep) == ({}, frozenset({"ns/j0", "ns/j1", "ns/j2"}))
    assert len(names) == 2


def _grow(world: World) -> None:
    world.node("m", cpu=12_000.0)


def _lack_memory(world: World) -> None:
    world.node("n", cpu=4000.0, memory=1.0)


@pytest.mark.parametrize(("change", "expected"), [
    pytest.param(_grow, {"j0": "Inqueue", "j1": "Inqueue", "j2": "Pending"}, id="there is room for two of them"),
    pytest.param(_lack_memory, dict.fromkeys(["j0", "j1", "j2"], "Pending"), id="another reason"),
])  # fmt: skip
def test_all_are_asked_about_again_when_the_answer_is_another(
    change: Callable[[World], None], expected: dict[str, str]
) -> None:
    world = crowd()
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    change(world)
    result = run(world, memory, now=1001.0)
    assert {each.job.name: each.phase for each in result.outcome.jobs} == expected
    assert result.outcome.asleep == frozenset()


def test_one_that_changes_is_asked_about_and_told_again() -> None:
    world = crowd()
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    world.cluster.changed_jobs.add("ns/j1")
    result = run(world, memory, now=1001.0)
    assert list(told(result)) == ["j1"]
    assert result.outcome.asleep == {"ns/j0", "ns/j2"}


def test_other_numbers_are_told_when_the_old_ones_are_30_seconds_old() -> None:
    world = crowd()
    memory = memory_of(world.cluster, SHARING)
    run(world, memory)
    world.node("m", cpu=1000.0)
    assert told(run(world, memory, now=1000.0 + PATIENCE - 1.0)) == {}
    assert not memory.refused.is_due(1000.0 + PATIENCE - 0.5)
    assert memory.refused.is_due(1000.0 + PATIENCE)
    assert told(run(world, memory, now=1000.0 + PATIENCE))["j2"] == TOLD.format("0.00", "6000.00")
    assert not memory.refused.is_due(1e9)


def test_jobs_of_other_priority_minimum_or_queue_get_an_answer_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    world, names = crowd(jobs=1), asked(monkeypatch)
    world.queue("other")
    world.gang("urgent", [("w", 1, shape())], phase="Pending", resources=MINIMUM, priority=5)
    world.gang("larger", [("w", 1, shape())], phase="Pending", resources={"cpu": "9"})
    world.gang("beside", [("w", 1, shape())], phase="Pending", resources=MINIMUM, queue="other")
    run(world, memory_of(world.cluster, SHARING))
    assert sorted(names) == ["beside", "j0", "larger", "urgent"]


def test_each_is_asked_about_where_a_plugin_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overcommit, "lets_jobs_sleep", False)
    world, names = crowd(), asked(monkeypatch)
    memory = memory_of(world.cluster, SHARING)
    for now in (1000.0, 1001.0):
        run(world, memory, now)
    assert names == ["j0", "j1", "j2"] * 2


def test_where_enqueue_has_two_turns_all_are_told() -> None:
    world = crowd()
    memory = memory_of(world.cluster, SHARING.replace("backfill", "backfill, enqueue"))
    first = run(world, memory)
    assert told(first) == dict.fromkeys(["j0", "j1", "j2"], TOLD.format("0.00", "4800.00"))
    assert run(world, memory, now=1001.0).outcome.asleep == {"ns/j0", "ns/j1", "ns/j2"}
