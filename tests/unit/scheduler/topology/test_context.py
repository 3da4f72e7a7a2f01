"""Where the parts of jobs stand, and where a single further task may go."""

from __future__ import annotations

import pytest

from scheduler.session import Session
from scheduler.state.job import Job
from scheduler.state.status import Status
from scheduler.state.subjob import Grouping, grouping_of
from scheduler.topology.recall import recall
from tests.unit.scheduler.build import World, memory_of, shape
from tests.unit.scheduler.hypernodes import CONFIGURATION, child, divide, grow, hard, hypernode, labelled, limit, policy

TREE = {
    "s0": (1, ["n0", "n1"]),
    "s1": (1, ["n2", "n3"]),
    "s2": (1, ["n4"]),
    "t0": (2, ["s0", "s1"]),
    "t1": (2, ["s2"]),
}
FREE = shape(100.0)


def world() -> World:
    made = World()
    for number in range(6):
        made.node(f"n{number}")
    grow(made, TREE)
    made.gang("j", [])
    return made


def job_of(made: World) -> Job:
    return made.cluster.jobs["ns/j"]


def recalled(made: World) -> Grouping:
    made.cluster.settle()
    grouping = grouping_of(job_of(made))
    recall(job_of(made), grouping, made.cluster.hypernodes.view(made.cluster))
    return grouping


def session(made: World) -> Session:
    memory = memory_of(made.cluster, CONFIGURATION)
    opened = Session(made.cluster, memory.configuration, memory, uid="s", now=0.0)
    opened.open()
    return opened


# After a restart.

FOUND = [
    (["n0"], "s0"),
    (["n0", "n1"], "s0"),
    (["n0", "n2"], "t0"),
    (["n0", "n4"], "<cluster-top-hypernode>"),
    (["n5"], "<cluster-top-hypernode>"),
    (["gone"], ""),
    ([], ""),
]


@pytest.mark.parametrize(("nodes", "expected"), FOUND)
def test_the_place_is_the_lowest_that_holds_all_placed_pods(nodes: list[str], expected: str) -> None:
    made = world()
    limit(job_of(made), tier=2)
    for number, node in enumerate(nodes):
        made.member("j", f"j-w-{number}", node, FREE)
    made.member("j", "j-done", "n4", FREE, Status.SUCCEEDED)
    grouping = recalled(made)
    assert grouping.allocated == expected
    assert [each.allocated for each in grouping.sub_jobs.values()] == [expected]


def test_a_job_lies_where_its_sub_jobs_meet() -> None:
    made = world()
    divide(job_of(made), policy("p", "block", topology=hard(1)), policy("free", "other"))
    labelled(made, "j", "a", FREE, node="n0", block="1")
    labelled(made, "j", "b", FREE, node="n2", block="2")
    labelled(made, "j", "c", FREE, node="n4", other="x")
    grouping = recalled(made)
    assert {uid: each.allocated for uid, each in grouping.sub_jobs.items()} == {
        "ns/j/p-1": "s0", "ns/j/p-2": "s1", "ns/j/free-x": "",
    }  # fmt: skip
    assert grouping.allocated == "t0"


def test_what_is_remembered_stays_while_it_holds() -> None:
    made = world()
    limit(job_of(made), tier=2)
    made.member("j", "j-w-0", "n0", FREE)
    grouping = grouping_of(job_of(made))
    grouping.allocated = grouping.sub_jobs["ns/j"].allocated = "t0"
    assert recalled(made).allocated == "t0"
    made.cluster.hypernodes.remove("t0")
    assert recalled(made).allocated == "s0"


def test_a_plain_job_keeps_no_place() -> None:
    made = world()
    made.member("j", "j-w-0", "n0", FREE)
    assert recalled(made).allocated == ""


# One task.


def reach(made: World, uid: str) -> list[str] | None:
    opened = session(made)
    mask = opened.topology.allowed(made.cluster.tasks[uid])
    return None if mask is None else [node.name for node, ok in zip(opened.nodes, mask.tolist(), strict=True) if ok]


REACH = [
    (None, ["n0"], None),
    (1, [], ["n0", "n1", "n2", "n3", "n4"]),
    (1, ["n0"], ["n0", "n1"]),
    (2, ["n0"], ["n0", "n1", "n2", "n3"]),
    (1, ["n0", "n2"], []),
    (3, ["n0"], None),
]


@pytest.mark.parametrize(("tier", "nodes", "expected"), REACH)
def test_a_task_stays_within_reach_of_its_siblings(
    tier: int | None, nodes: list[str], expected: list[str] | None
) -> None:
    made = world()
    if tier is not None:
        limit(job_of(made), tier=tier)
    labelled(made, "j", "new", FREE)
    for number, node in enumerate(nodes):
        made.member("j", f"j-w-{number}", node, FREE, Status.RELEASING if number else Status.RUNNING)
    assert reach(made, "uid-new") == expected


def test_its_own_place_doesnt_bind_a_task() -> None:
    made = world()
    limit(job_of(made), tier=1)
    made.member("j", "only", "n0", FREE)
    assert reach(made, "uid-only") == ["n0", "n1", "n2", "n3", "n4"]


def test_both_limits_hold_for_a_sub_jobs_task() -> None:
    made = world()
    limit(job_of(made), tier=2)
    divide(job_of(made), policy("p", "block", topology=hard(1)))
    labelled(made, "j", "other", FREE, node="n4", block="2")
    labelled(made, "j", "new", FREE, block="1")
    assert reach(made, "uid-new") == ["n4"]
    labelled(made, "j", "sibling", FREE, node="n0", block="1")
    assert reach(made, "uid-new") == []


def test_a_limit_that_cant_be_told_lets_nothing_go_anywhere() -> None:
    made = world()
    limit(job_of(made), tier_name="lost")
    labelled(made, "j", "new", FREE)
    assert reach(made, "uid-new") == []


def test_suspect_hypernodes_are_out_of_reach() -> None:
    made = world()
    made.cluster.hypernodes.set(hypernode("t2", 2, child("s1")))
    limit(job_of(made), tier=2)
    labelled(made, "j", "new", FREE)
    made.member("j", "j-w-0", "n0", FREE)
    assert reach(made, "uid-new") == ["n0", "n1"]
