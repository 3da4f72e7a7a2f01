"""Jobs that take turns are placed in one go, with the outcome of one visit after the other."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.placing import interleaving, mixedrun
from scheduler.placing.interleaving import Interleaving
from scheduler.plugin import Plugin
from tests.unit.scheduler.build import GIB, World, binds, cycle, memory_of, prefer, shape
from tests.unit.scheduler.slowshares import SlowShares
from tests.unit.scheduler.test_shares_reference import CHART, shared_world

EAGER: dict[str, Any] = {"_WORTHWHILE": 1, "_MAX_REST": 0, "_LEAST": 8}
PIECES: dict[str, Any] = EAGER | {"_LEAST": 2, "_FIRST": 4, "_MOST": 8}
"""Few turns are looked at together, so that a run goes on and on."""


def elastic_world(seed: int, *, queues: tuple[str, ...] = ("default", "other")) -> World:
    """Jobs that are whole with their first pod and then take turns; nodes of few sizes, some preferred."""
    rng = random.Random(seed)
    world = World()
    for number in range(rng.randint(1, 8)):
        world.node(
            f"node-{number:02d}",
            labels={"zone": rng.choice("ab")},
            cpu=rng.choice([4000.0, 8000.0]),
            memory=rng.choice([8, 16]) * GIB,
            pods=float(rng.choice([5, 110])),
        )
    shapes = [
        shape(
            rng.choice([250.0, 500.0, 1000.0]),
            rng.choice([0.0, 0.25, 1.0]) * GIB,
            affinity=prefer(10, "zone", "a") if rng.random() < 0.4 else None,
        )
        for _ in range(4)
    ]
    for number in range(rng.randint(2, 7)):
        roles = [(role, rng.randint(2, 12), rng.choice(shapes)) for role in rng.sample("ab", rng.randint(1, 2))]
        world.gang(f"job-{number}", roles, minimum=1, queue=rng.choice(queues), priority=rng.choice([0, 0, 0, 5]))
    return world


def counted(
    world: World, text: str = CHART, plugins: dict[str, Any] | None = None, constants: dict[str, Any] = EAGER
) -> tuple[Result, int]:
    """The result of a cycle and how many tasks were placed in turns known ahead."""
    booked = 0
    original = Interleaving._decide

    def decide(self: Interleaving, sequence: Any, rows: Any) -> None:
        nonlocal booked
        booked += len(rows)
        original(self, sequence, rows)

    with patch.multiple(interleaving, **constants), patch.object(Interleaving, "_decide", decide):
        result = cycle(world, memory_of(world.cluster, text, plugins))
    return result, booked


def one_by_one(world: World, text: str = CHART) -> Result:
    with patch.object(Interleaving, "place", lambda *_: False):
        return cycle(world, memory_of(world.cluster, text))


def told(result: Result) -> list[tuple[Any, ...]]:
    """What is said of jobs and tasks, without the objects."""
    jobs = [(job.job.id, job.phase, job.condition, job.event, job.refusal) for job in result.outcome.jobs]
    return [*jobs, *((task.task.name, task.reason, task.message) for task in result.outcome.tasks)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_turns_known_ahead_bind_as_the_oracle_does(seed: int) -> None:
    world, weights, guarantees, capabilities = shared_world(seed)
    expected = SlowShares(world.cluster, weights, guarantees, capabilities).cycle()
    assert binds(counted(world)[0]) == expected


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([("default",), ("default", "other"), ("a", "b", "c", "d")]),
    st.sampled_from([EAGER, PIECES]),
    st.sampled_from([20_000, 3]),
)
def test_turns_known_ahead_leave_everything_as_the_visits_do(
    seed: int, queues: tuple[str, ...], constants: dict[str, Any], states: int
) -> None:
    ahead, visits = elastic_world(seed, queues=queues), elastic_world(seed, queues=queues)
    with patch.object(mixedrun, "_MAX_STATES", states):
        result, _ = counted(ahead, constants=constants)
    expected = one_by_one(visits)
    assert binds(result) == binds(expected)
    assert told(result) == told(expected)
    assert (ahead.cluster.columns.dynamic == visits.cluster.columns.dynamic).all()
    for name, queue in ahead.cluster.queues.items():
        assert (queue.account == visits.cluster.queues[name].account).all()
    for job_id, job in ahead.cluster.jobs.items():
        other = visits.cluster.jobs[job_id]
        assert (job.counts, job.role_counts, set(job.pending)) == (other.counts, other.role_counts, set(other.pending))
        assert (job.account == other.account).all()


def many(queues: int = 1, **odd: Any) -> World:
    world = World()
    for number in range(4):
        world.node(f"n{number}", cpu=64_000.0, memory=256 * GIB)
    for number in range(6):
        size = shape(250.0 * (number % 3 + 1) + odd.get("cpu", 0.0), GIB)
        world.gang(f"job-{number}", [("w", 10, size)], minimum=1, queue=f"q{number % queues}")
    return world


@pytest.mark.parametrize("queues", [1, 2, 3])
def test_all_but_the_first_pods_go_in_known_turns(queues: int) -> None:
    world = many(queues)
    result, booked = counted(world)
    assert len(binds(result)) == 60
    assert booked >= 50


def test_the_time_is_looked_at_between_pieces() -> None:
    world, whole = many(), many()
    expected = binds(counted(whole)[0])
    budget = Budget(lambda asked: asked >= 10)
    with patch.multiple(interleaving, **PIECES):
        memory = memory_of(world.cluster, CHART)
        result = run_cycle(world.cluster, memory, ACTIONS, uid="session-1", now=1000.0, expired=budget)
    number = len(result.decisions)
    assert 6 < number < 60
    assert binds(result) == expected[:number]
    assert result.last_job == result.decisions[-1].task.job
    assert all(decision.task.node is not None for decision in result.decisions)
    assert sum(job.ready_count for job in world.cluster.jobs.values()) == number


def test_amounts_that_are_not_whole_go_one_by_one() -> None:
    result, booked = counted(many(cpu=0.3))
    assert (len(binds(result)), booked) == (60, 0)


def test_nodes_that_come_before_others_are_looked_at_visit_by_visit() -> None:
    world = many()
    world.cluster.settle()
    world.cluster.preferred = np.array([True, False, True, False])
    result, booked = counted(world)
    assert (len(binds(result)), booked) == (60, 0)


class Curious(Plugin):
    """Must be told of each placement."""

    name = "curious"

    def on_session_open(self, session: Any) -> None:
        session.add_event_handler(self.name, allocate=lambda *_: None)


class Strict(Plugin):
    """Limits queues, and says nothing of unlike tasks."""

    name = "strict"

    def on_session_open(self, session: Any) -> None:
        session.add_allocatable(self.name, lambda *_: True)


class Fickle(Plugin):
    """Orders jobs by a key whose future it doesn't tell."""

    name = "fickle"

    def on_session_open(self, session: Any) -> None:
        session.add_job_order(self.name, key=lambda job: job.ready_count % 3)


class Broken(Plugin):
    """Fails in telling its future."""

    name = "broken"

    def on_session_open(self, session: Any) -> None:
        session.add_job_order(self.name, key=lambda _: 0, ahead=lambda *_: [1 // 0])


@pytest.mark.parametrize("plugin", [Curious, Strict, Fickle, Broken])
def test_a_plugin_that_must_be_asked_in_between_is(plugin: type[Plugin]) -> None:
    text = CHART + f"  - name: {plugin.name}\n"
    result, booked = counted(many(), text, {plugin.name: plugin})
    assert (len(binds(result)), booked) == (60, 0)


def test_plans_that_come_to_nothing_are_made_less_and_less_often() -> None:
    world = many()
    planned = 0
    original = Interleaving._turns

    def turns(self: Interleaving, queues: Any, waiting_of: Any) -> Any:
        nonlocal planned
        planned += 1
        original(self, queues, waiting_of)
        return ()

    with patch.object(Interleaving, "_turns", turns):
        assert len(binds(cycle(world, memory_of(world.cluster, CHART)))) == 60
    assert 1 < planned < 10
