"""When the time of cycles is over too soon: everybody gets a turn, whoever stands before him."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.dump.files import read, write
from scheduler.dump.record import decisions_of
from scheduler.dump.replay import replay
from scheduler.dump.taking import Taking
from scheduler.memory import Memory
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.settings.loading import Catalog, built_in
from tests.unit.scheduler.build import FIVE_PLUGINS, World, binds, memory_of, random_world, shape
from tests.unit.scheduler.evictions import CONFIGURATION, Lower, evicted, victim_job
from tests.unit.scheduler.hypernodes import grow, limit


class Awake(Plugin):
    """Says nothing of jobs that may sleep, so all are visited in each cycle."""

    name = "awake"

    def on_session_open(self, session: Session) -> None:
        pass


AWAKE = FIVE_PLUGINS + "  - name: awake\n"
FRONT = 10


def awake(world: World, text: str = AWAKE) -> Memory:
    return memory_of(world.cluster, text, {"awake": Awake, "lower": Lower})


def step(world: World, memory: Memory, asked: int, actions: Any = ACTIONS, uid: str = "s") -> Result:
    """A cycle whose time is over after that many questions."""
    return run_cycle(world.cluster, memory, actions, uid=uid, now=1000.0, expired=Budget.replayed(asked + 1))


def hopeless(world: World, count: int = FRONT, priority: int = 10, **rest: Any) -> None:
    """Jobs that come first and find no place."""
    for number in range(count):
        world.gang(f"a{number:02d}", [("w", 2, shape(30000.0, 0.0))], priority=priority, **rest)


def until(world: World, memory: Memory, asked: int, done: Callable[[Result], Any], most: int) -> int:
    """The number of cycles until something happens."""
    for number in range(1, most + 1):
        if done(step(world, memory, asked)):
            return number
    raise AssertionError(f"not within {most} cycles")


@pytest.mark.parametrize("asked", [0, 1, 3, 6])
@pytest.mark.parametrize("amount", [100.0, 0.0], ids=["allocate", "backfill"])
@pytest.mark.parametrize("queue", ["default", "later"])
def test_what_waits_behind_jobs_that_use_up_the_time_is_placed(asked: int, amount: float, queue: str) -> None:
    world = World()
    world.node("n")
    hopeless(world)
    world.queue("later")
    world.gang("small", [("w", 1, shape(amount, 0.0))], queue=queue)
    until(world, awake(world), asked, binds, 2 * (FRONT + 2))


@pytest.mark.parametrize("asked", [0, 1, 4])
def test_jobs_with_a_topology_do_not_keep_others_waiting_for_ever(asked: int) -> None:
    world = World()
    world.node("n0")
    world.node("n1")
    grow(world, {"l0": (1, ["n0"]), "l1": (1, ["n1"])})
    for number in range(FRONT):
        world.gang(f"a{number}", [("w", 2, shape(3000.0, 0.0))], priority=10)
        limit(world.cluster.jobs[f"ns/a{number}"], "hard", 1)
    world.gang("small", [("w", 1, shape(100.0, 0.0))])
    memory = memory_of(world.cluster, FIVE_PLUGINS + "  - name: network-topology-aware\n")
    until(world, memory, asked, binds, 2 * (FRONT + 2))


@pytest.mark.parametrize("asked", [0, 1, 2, 5])
@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_the_evicting_actions_reach_everybody_too(action: str, asked: int) -> None:
    world = World()
    world.node("n")
    other = action.endswith("reclaim")
    victim_job(world, "victim", {"n": 4}, queue="rich" if other else "default")
    hopeless(world)
    world.gang("small", [("w", 1, shape(2000.0, 0.0))], priority=5)
    memory = awake(world, CONFIGURATION.format(actions=action, more="  - name: awake"))
    # Each job may have a turn in allocate and two in preempt, and every other cycle is for those who are owed one.
    until(world, memory, asked, evicted, 2 * 3 * (FRONT + 2))


def test_who_comes_first_is_served_first_also_among_those_who_are_owed_a_turn() -> None:
    world = World()
    world.node("n")
    hopeless(world, 3)
    for name, priority in (("low", 1), ("high", 5)):
        world.gang(name, [("w", 1, shape(3000.0, 0.0))], priority=priority)
    memory = awake(world)
    assert until(world, memory, 2, binds, 4) == 2
    assert [task.name for task in world.cluster.jobs["ns/low"].pending.values()] == ["low-w-0"]


def test_a_job_that_comes_anew_and_ranks_higher_waits_for_one_cycle_only() -> None:
    world = World()
    world.node("n")
    hopeless(world, 50)
    memory = awake(world)
    step(world, memory, 1)
    world.gang("urgent", [("w", 1, shape(100.0, 0.0))], priority=99)
    assert [binds(step(world, memory, 1)) for _ in range(2)] == [[], [("urgent-w-0", "n")]]


def test_a_stream_of_new_jobs_that_rank_higher_keeps_nobody_waiting_for_ever() -> None:
    world = World()
    world.node("n")
    hopeless(world, 3)
    world.gang("small", [("w", 1, shape(100.0, 0.0))])
    memory = awake(world)
    for number in range(2 * 5):
        world.gang(f"new{number}", [("w", 2, shape(30000.0, 0.0))], priority=20 + number)
        if binds(step(world, memory, 1)):
            return
    raise AssertionError("small was never reached")


def test_a_job_that_had_its_turn_in_vain_has_another_when_it_changed() -> None:
    world = World()
    world.node("n")
    hopeless(world, 20)
    world.gang("first", [("w", 2, shape(3000.0, 0.0))], priority=99)
    memory = awake(world)
    step(world, memory, 1)
    world.cluster.remove_task("uid-first-w-1")
    world.cluster.jobs["ns/first"].min_available = 1
    assert [len(binds(step(world, memory, 1))) for _ in range(2)] == [0, 1]


def test_what_a_job_got_a_part_of_is_gone_on_with_during_a_round() -> None:
    world = World()
    world.node("n", cpu=20_000.0)
    hopeless(world, 20, priority=1, queue="z")
    world.queue("z", priority=-1)
    # One task a visit, by turns.
    for name in ("b", "c"):
        world.gang(name, [("w", 6, shape(100.0, 0.0))], minimum=1, priority=9)
    memory = awake(world, AWAKE + "  - name: drf\n")
    assert sum(len(binds(step(world, memory, 2))) for _ in range(20)) == 12
    assert memory.round.is_on, "the others still have their turns"


def test_as_long_as_no_time_is_over_there_is_no_round() -> None:
    world = World()
    world.node("n")
    hopeless(world)
    memory = awake(world)
    step(world, memory, 1000)
    assert (memory.round.is_on, memory.round.goes_on, memory.round.vain) == (False, False, {})


def test_a_round_that_went_through_all_in_vain_is_over_and_one_that_decided_something_is_followed() -> None:
    world = World()
    world.node("n")
    hopeless(world, 4)
    memory = awake(world)
    for _ in range(8):
        step(world, memory, 2)
        if not memory.round.is_on:
            break
    assert not memory.round.goes_on
    world.gang("small", [("w", 1, shape(100.0, 0.0))])
    for _ in range(8):
        step(world, memory, 2)
        if not memory.round.is_on:
            break
    assert memory.round.goes_on


def test_an_action_of_ones_own_that_comes_too_late_is_owed_its_time() -> None:
    had: list[bool] = []

    def late(session: Session) -> None:
        had.append(not session.expired())

    world = World()
    world.node("n")
    hopeless(world, 3)
    text = AWAKE.replace("allocate, backfill", "allocate, late")
    memory = memory_of(world.cluster, text.replace("late", "shuffle"), {"awake": Awake})
    actions = ACTIONS | {"shuffle": late}
    for number in range(2 * 5):
        step(world, memory, 0, actions, uid=str(number))
    assert True in had


def test_an_action_may_be_configured_twice() -> None:
    world = World()
    world.node("n")
    hopeless(world, 3)
    world.gang("small", [("w", 1, shape(100.0, 0.0))])
    memory = awake(world, AWAKE.replace("backfill", "allocate"))
    until(world, memory, 0, binds, 2 * 5)
    for _ in range(4 * 5):
        step(world, memory, 0)
        if not memory.round.goes_on:
            break
    assert not memory.round.goes_on


@pytest.mark.parametrize("early", [True, False])
def test_an_action_that_fails_holds_nobody_up(early: bool) -> None:
    def broken(session: Session) -> None:
        turns = session.turns("preempt")
        if not early:
            turns.wait(session.open_jobs())
        raise RuntimeError("no luck")

    world = World()
    world.node("n")
    hopeless(world, 3)
    world.gang("small", [("w", 1, shape(100.0, 0.0))])
    memory = awake(world, AWAKE.replace("backfill", "preempt"))
    actions = ACTIONS | {"preempt": broken}
    for number in range(30):
        result = step(world, memory, 1, actions, uid=str(number))
        if binds(result):
            break
    world.gang("next", [("w", 1, shape(100.0, 0.0))])
    assert any(binds(step(world, memory, 1, actions, uid=str(number))) for number in range(30))


def test_what_a_job_is_told_stays_the_same_while_others_have_their_turns() -> None:
    world = World()
    world.node("n")
    hopeless(world, 3)
    memory = awake(world)
    told: dict[str, list[str]] = {}
    for number in range(12):
        result = step(world, memory, 1, uid=str(number))
        for job in result.outcome.jobs:
            assert job.condition is not None
            told.setdefault(job.job.id, []).append(job.condition.message)
        # What is told comes back from the API server, and is a change.
        world.cluster.changed_jobs |= {job.job.id for job in result.outcome.jobs}
    assert [len(set(messages)) for messages in told.values()] == [1, 2, 2], "once before and after the first turn"
    assert memory.round.told
    for _ in range(4):
        step(world, memory, 1000)
    assert not memory.round.told


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6), st.booleans())
def test_nothing_that_a_cycle_with_time_enough_would_do_is_left_undone(seed: int, asked: int, sleeps: bool) -> None:
    world = random_world(seed)
    memory = memory_of(world.cluster) if sleeps else awake(world)
    turns = 4 * (2 + sum(len(job.pending) + 1 for job in world.cluster.jobs.values()))
    for number in range(turns):
        step(world, memory, asked, uid=str(number))
        if not memory.round.goes_on:
            break
    assert not memory.round.goes_on
    assert step(world, memory, 10**9).decisions == ()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4), st.integers(1, 5))
def test_a_cycle_of_a_round_is_replayed_from_its_dump(
    tmp_path_factory: pytest.TempPathFactory, seed: int, asked: int, before: int
) -> None:
    world = random_world(seed)
    memory = awake(world)
    for number in range(before):
        step(world, memory, asked, uid=str(number))
        for task in list(world.cluster.tasks.values())[seed % 5 :: 5]:
            world.cluster.remove_task(task.uid)
    taking = Taking(world.cluster, memory, uid="s", now=1000.0, configuration=AWAKE)
    budget = Budget.replayed(asked + 1)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0, expired=budget)
    path: Path = write(tmp_path_factory.mktemp("dumps"), taking.finish(budget, result), 1.0)
    dump = read(path)
    assert decisions_of(replay(dump, Catalog({"awake": Awake}, {}).over(built_in()))) == dump.cycle.decisions
