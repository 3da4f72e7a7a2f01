"""The search for nodes that is cut short (scheduler.md 13.1)."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.placing.sampling import Sampling
from scheduler.process import sampling_of
from scheduler.session import Session
from tests.unit.scheduler.build import World, binds, cycle, memory_of, random_world, shape


@pytest.mark.parametrize(
    ("nodes", "percentage", "wanted"),
    [
        (10, 40, 10),
        (100, 1, 100),
        (1000, 40, 400),
        (1000, 1, 100),
        (1000, 100, 1000),
        (1000, 150, 1000),
        (250, 50, 125),
    ],
)
def test_so_many_nodes_are_enough(nodes: int, percentage: int, wanted: int) -> None:
    assert Sampling(percentage, 100).wanted(nodes) == wanted


@pytest.mark.parametrize(("percentage", "is_cut"), [(0, False), (-1, False), (1, True), (100, True)])
def test_only_a_percentage_on_the_command_line_cuts_the_search_short(percentage: int, is_cut: bool) -> None:
    flags = Namespace(percentage_nodes_to_find=percentage, minimum_feasible_nodes=3)
    assert (sampling_of(flags) is not None) is is_cut


def found(sampling: Sampling, takes: list[bool]) -> list[int]:
    rows = np.arange(len(takes), dtype=np.intp)
    kept: list[int] = sampling._found(rows, np.array(takes), None, None).tolist()  # type: ignore[arg-type]  # no loose function asks
    return kept


@pytest.mark.parametrize(
    ("cursor", "takes", "rows", "after"),
    [
        (0, "++++++++++", [0, 1, 2, 3, 4], 6),
        (6, "++++++++++", [6, 7, 8, 9, 0], 2),
        (2, "+-+-+-+-+-", [2, 4, 6, 8, 0], 2),
        (0, "----------", [], 0),
        (3, "+---------", [0], 3),
        (13, "++++++++++", [3, 4, 5, 6, 7], 9),
    ],
)
def test_it_begins_at_the_cursor_and_the_match_too_many_is_visited(
    cursor: int, takes: str, rows: list[int], after: int
) -> None:
    sampling = Sampling(50, 2, cursor)
    assert found(sampling, [sign == "+" for sign in takes]) == rows
    assert sampling.cursor == after


def test_pods_go_round_where_a_full_search_would_take_the_best_node() -> None:
    def placed(sampling: Sampling | None) -> list[str]:
        world = World()
        for number in range(6):
            world.node(f"n{number}")
        world.gang("g", [("w", 4, shape(cpu=100.0))], minimum=1)
        memory = memory_of(world.cluster)
        memory.sampling = sampling
        return [node for _, node in binds(cycle(world, memory))]

    assert placed(Sampling(1, 1)) == ["n0", "n2", "n4", "n0"]
    assert placed(Sampling(100, 1)) == placed(None)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 100), st.integers(0, 5), st.integers(0, 30))
def test_only_nodes_that_take_the_pod_are_found_and_as_many_as_there_are_or_are_wanted(
    seed: int, percentage: int, minimum: int, cursor: int
) -> None:
    world = random_world(seed)
    memory = memory_of(world.cluster)
    session = Session(world.cluster, memory.configuration, memory, uid="s", now=0.0)
    session.open()
    for task in list(world.cluster.tasks.values()):
        if task.job and not task.node:
            template = session.template(task)
            sampling = Sampling(percentage, minimum, cursor)
            mask = sampling.limit(template, task, None, session.loose)
            takes = template.passes & template.fits_future
            assert not (mask & ~takes).any()
            assert mask.sum() == min(takes.sum(), sampling.wanted(len(takes)))
            assert 0 <= sampling.cursor < len(takes)
