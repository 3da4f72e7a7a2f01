"""What the search among hypernodes remembers is in dumps, so that a replay goes on from the same places."""

from __future__ import annotations

from scheduler.dump import parts
from scheduler.state.subjob import grouping_of
from tests.unit.scheduler.build import World, memory_of, shape
from tests.unit.scheduler.hypernodes import CONFIGURATION, divide, grow, hard, labelled, limit, policy

ONE = shape(1000.0)


def test_places_and_nominations_come_back() -> None:
    made = World()
    for number in range(3):
        made.node(f"n{number}")
    grow(made, {"s0": (1, ["n0"]), "s1": (1, ["n1"]), "t0": (2, ["s0", "s1"])})
    made.gang("j", [], minimum=2)
    job = made.cluster.jobs["ns/j"]
    limit(job, tier=2)
    divide(job, policy("p", "block", topology=hard(1)))
    labelled(made, "j", "standing", ONE, node="n0", block="1")
    labelled(made, "j", "waiting", ONE, block="2").nominated = "n1"
    grouping = grouping_of(job)
    grouping.allocated = "t0"
    grouping.sub_jobs["ns/j/p-1"].allocated = "s0"
    grouping.sub_jobs["ns/j/p-2"].nominated = "s1"
    made.gang("plain", [("w", 1, ONE)])
    memory = memory_of(made.cluster, CONFIGURATION)
    again = parts.put(parts.take(made.cluster, memory)).cluster
    back = again.jobs["ns/j"].grouping
    assert back is not None
    assert back.allocated == "t0"
    assert {uid: (each.allocated, each.nominated) for uid, each in back.sub_jobs.items()} == {
        "ns/j/p-1": ("s0", ""), "ns/j/p-2": ("", "s1"),
    }  # fmt: skip
    assert again.tasks["uid-waiting"].nominated == "n1"
    assert again.jobs["ns/plain"].grouping is None
