"""A mixed run gives unlike tasks the nodes that a search for each would find."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from msgspec.structs import replace

from scheduler.placing import mixedrun
from scheduler.placing.mixedrun import MixedRun, States
from scheduler.placing.placement import choose
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, prefer, shape
from tests.unit.scheduler.plugins.questions import opened

PLUGINS = "predicates; nodeorder; binpack"


def world_of(seed: int) -> tuple[World, list[Task]]:
    rng = random.Random(seed)
    world = World()
    for number in range(rng.randint(2, 12)):
        world.node(f"n{number:02d}", labels={"zone": rng.choice("abc")}, cpu=rng.choice([2000.0, 4000.0]))
    for number in range(rng.randint(0, 6)):
        world.running(
            f"old-{number}",
            f"n{rng.randrange(12):02d}",
            shape(500.0, GIB),
            rng.choice([Status.RUNNING, Status.RELEASING]),
        )
    shapes = [
        shape(250.0 * rng.randint(1, 4), GIB * rng.randint(0, 4), affinity=prefer(10, "zone", rng.choice("abc")))
        if rng.random() < 0.5
        else shape(250.0 * rng.randint(1, 4), GIB * rng.randint(0, 4))
        for _ in range(4)
    ]
    world.gang("job", [(f"r{number}", 12, each) for number, each in enumerate(shapes)])
    tasks = list(world.cluster.jobs["ns/job"].pending.values())
    rng.shuffle(tasks)
    return world, tasks


@pytest.mark.parametrize("seed", range(30))
def test_nodes_are_those_of_searches_one_by_one(seed: int) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        templates = [session.template(task) for task in tasks]
        rows = MixedRun(States(world.cluster)).place(templates)
        before = world.cluster.columns.dynamic.copy()
        expected = []
        statement = session.statement()
        for task, template in zip(tasks, templates, strict=True):
            choice = choose(template, (task,))
            if not choice.rows or choice.status is not Status.ALLOCATED:
                break
            expected.append(choice.rows[0])
            statement.place((task,), [session.nodes[choice.rows[0]]], choice.status)
        statement.discard()
    assert (world.cluster.columns.dynamic == before).all()
    # It may stop early, where bounds of a normalised score move.
    assert rows == expected[: len(rows)]
    assert rows or not expected


SHORT: dict[str, Any] = {"_FIRST_ROWS": 1}
"""The ranking is looked at node by node, and what counts no longer is dropped soon."""
TOGETHER: dict[str, Any] = {"_MANY": 1}
"""States are looked at as arrays."""


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("constants", [{"_MANY": 48}, SHORT, TOGETHER, SHORT | TOGETHER])
def test_a_run_goes_on_piece_by_piece(seed: int, constants: dict[str, Any]) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        templates = [session.template(task) for task in tasks]
        whole = MixedRun(States(world.cluster))
        expected = whole.place(templates)
        with patch.multiple(mixedrun, **constants):
            run = MixedRun(States(world.cluster))
            rows: list[int] = []
            while len(rows) < len(templates) and not run.is_over:
                rows += run.place(templates[len(rows) : len(rows) + 5])
    assert rows == expected
    assert run.is_over == whole.is_over == (len(rows) < len(templates))


def test_a_run_is_large_with_many_states_or_many_templates() -> None:
    world, tasks = world_of(1)
    with opened(world, PLUGINS) as session:
        run = MixedRun(States(world.cluster))
        assert run.place([session.template(task) for task in tasks[:4]])
        assert not run.is_large
        for limit in ("_MAX_STATES", "_MAX_CELLS"):
            with patch.object(mixedrun, limit, 1):
                assert run.is_large


@pytest.mark.parametrize("seed", range(12))
def test_nodes_looked_at_together_are_worth_what_each_is_alone(seed: int) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        template, states = session.template(tasks[0]), States(world.cluster)
        rows = np.arange(len(session.nodes), dtype=np.intp)
        numbers = [states.of_row(row) for row in rows.tolist()]
        assert template.single is not None
        alone = [template.single.worth(states.nodes[number]) for number in numbers]
        assert template.worth(states.view(numbers, rows)).tolist() == alone


@pytest.mark.parametrize("seed", range(6))
def test_states_that_were_dropped_are_worked_out_again(seed: int) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        templates = [session.template(task) for task in tasks]
        states = States(world.cluster)
        first = MixedRun(states).place(templates)
        number = len(states)
        again = MixedRun(states).place(templates)
        states.clear()
        assert len(states) == 0
        assert MixedRun(states).place(templates) == again == first
        assert len(states) == number


@pytest.mark.parametrize("seed", range(12))
def test_a_node_alone_is_judged_as_among_many(seed: int) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        template = session.template(tasks[0])
        template.refresh()
        states = States(world.cluster)
        single = template.single
        assert single is not None
        for row in range(len(session.nodes)):
            node = states.nodes[states.of_row(row)]
            assert single.passes(node) == template.near.passes[row]
            assert single.plain(node) == template.near.plain[row]
            assert single.fits_idle(node) == template.fits_idle[row]
            assert single.fits_future(node) == template.fits_future[row]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_renewed_node_by_node_equals_what_is_computed_anew(seed: int) -> None:
    world, tasks = world_of(seed)
    with opened(world, PLUGINS) as session:
        kept = session.template(tasks[0])
        statement = session.statement()
        kept.refresh()
        for task in tasks[1:10]:
            choice = choose(session.template(task), (task,))
            if choice.rows:
                statement.place((task,), [session.nodes[choice.rows[0]]], choice.status)
            kept.refresh()
            fresh = type(kept)(world.cluster, kept.task, kept.filters, kept.scores)
            fresh.refresh()
            for name in ("passes", "fits_idle", "fits_future", "candidates", "plain"):
                assert np.array_equal(getattr(kept, name), getattr(fresh, name)), name
            assert np.array_equal(kept.totals.total, fresh.totals.total)
        statement.discard()


def test_a_plugin_without_a_single_form_keeps_templates_out() -> None:
    world, tasks = world_of(1)
    with opened(world, "predicates; nodeorder") as session:
        assert session.template(tasks[0]).is_near
        bare = type(session.template(tasks[0]))
        scores = [score for score in session.signatures.scores if score.single is not None]
        assert not bare(world.cluster, tasks[0], (), [replace(scores[0], single=None)]).is_near
