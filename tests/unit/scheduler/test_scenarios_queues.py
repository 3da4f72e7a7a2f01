"""Lives of clusters that queues share: what each gets, what it gives back, and that taking comes to an end."""

from __future__ import annotations

from typing import Any

import pytest

from generated.scheduling.v1beta1 import Guarantee
from tests.unit.scheduler.build import World
from tests.unit.scheduler.life import Life, chart, nodes, pod

RECLAIM = "enqueue, allocate, reclaim, backfill"
EAGER = "enableJobStarving: false"
"""Jobs starve while any of their pods waits, not only below their minimum."""


def text(queues: str = "proportion", *, eager: bool = True, actions: str = RECLAIM) -> str:
    """Without a limit on what may be let in beyond the cluster's size."""
    return chart(actions, queues=queues, gang=EAGER if eager else "").replace("  - name: overcommit\n", "")


def shared(*names: str, cpu: str = "4", memory: str = "16Gi", count: int = 2) -> World:
    """Nodes of 4 cpu that queues of equal weight share; for plugins that ask, each deserves so much."""
    world = nodes(count)
    for name in names:
        world.queue(name, weight=1, deserved={"cpu": cpu, "memory": memory})
    return world


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
@pytest.mark.parametrize(("eager", "expected"), [(True, (4, 4)), (False, (7, 1))])
def test_a_queue_takes_its_half_back_or_as_much_as_its_job_starves_for(
    queues: str,
    eager: bool,
    expected: tuple[int, int],
) -> None:
    world = shared("a", "b")
    world.gang("rich", [("w", 8, pod())], minimum=1, queue="a")
    life = Life(world, text(queues, eager=eager)).settle(2)
    world.gang("poor", [("w", 8, pod())], minimum=1, queue="b")
    assert life.settle().running("rich", "poor") == expected
    assert len(life.evicted) == expected[1]


@pytest.mark.parametrize("gib", [0.0, 1.0])
@pytest.mark.parametrize("deserved", ["4Gi", "8Gi", "16Gi", "64Gi"])
def test_what_a_queue_deserves_beside_what_is_scarce_is_no_ground_to_take_more(gib: float, deserved: str) -> None:
    """Memory is plenty: with cpu shared evenly nobody has anything to give back, whoever is asked for victims."""
    world = shared("a", "b", memory=deserved)
    world.gang("rich", [("w", 8, pod(1, gib))], minimum=1, queue="a")
    life = Life(world, text("capacity")).settle(2)
    world.gang("poor", [("w", 8, pod(1, gib))], minimum=1, queue="b")
    assert life.settle().running("rich", "poor") == (4, 4)
    assert len(life.evicted) == 4


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
def test_a_gang_takes_back_what_makes_it_whole_or_nothing(queues: str) -> None:
    world = shared("a", "b")
    world.gang("rich", [("w", 8, pod())], minimum=1, queue="a")
    life = Life(world, text(queues, eager=False)).settle(2)
    world.gang("wide", [("w", 5, pod())], queue="b")
    assert life.settle().running("rich", "wide") == (8, 0)
    world.gang("fair", [("w", 4, pod())], queue="b")
    assert life.settle().running("rich", "wide", "fair") == (4, 0, 4)
    assert len(life.evicted) == 4


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
def test_jobs_of_one_pod_are_taken_until_the_halves_are_even(queues: str) -> None:
    world = shared("a", "b")
    for number in range(8):
        world.gang(f"rich{number}", [("w", 1, pod())], queue="a")
    life = Life(world, text(queues)).settle(2)
    for number in range(8):
        world.gang(f"poor{number}", [("w", 1, pod())], queue="b")
    life.settle(20)
    held = [sum(life.running(f"{name}{number}") == 1 for number in range(8)) for name in ("rich", "poor")]
    assert (held, len(life.evicted)) == ([4, 4], 4)


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
def test_three_queues_end_with_a_third_each(queues: str) -> None:
    world = shared("a", "b", "c", count=3)
    for name in ("a", "b", "c"):
        world.gang(f"of-{name}", [("w", 12, pod())], minimum=1, queue=name)
        life = Life(world, text(queues)).settle(15)
    assert life.running("of-a", "of-b", "of-c") == (4, 4, 4)


def test_what_is_over_in_cpu_alone_is_given_back_too() -> None:
    world = shared("a", "b", count=5)
    world.gang("rich", [("w", 4, pod(4, 1))], minimum=1, queue="a")
    life = Life(world, text()).settle(2)
    world.gang("poor", [("w", 2, pod(4, 1))], minimum=1, queue="b")
    assert life.settle().running("rich", "poor") == (3, 2)
    assert len(life.evicted) == 1


@pytest.mark.parametrize(
    ("case", "spec"),
    [
        ("is not reclaimable", {"reclaimable": False}),
        ("is guaranteed what it holds", {"guarantee": Guarantee(resource={"cpu": "8"})}),
    ],
)
def test_a_queue_keeps_what_it_has_when_it(case: str, spec: dict[str, Any]) -> None:
    world = nodes(2)
    world.queue("a", weight=1, deserved={"cpu": "4"}, **spec)
    world.queue("b", weight=1, deserved={"cpu": "4"})
    world.gang("rich", [("w", 8, pod())], minimum=1, queue="a")
    life = Life(world, text("capacity")).settle(2)
    world.gang("poor", [("w", 4, pod())], minimum=1, queue="b")
    assert life.settle().running("rich", "poor") == (8, 0), case


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
def test_a_queue_alone_uses_the_whole_cluster_but_never_more_than_its_capability(queues: str) -> None:
    world = nodes(2)
    world.queue("a", weight=1)
    world.queue("small", weight=1, capability={"cpu": "3", "memory": "64Gi"})
    world.gang("small", [("w", 8, pod())], minimum=1, queue="small")
    life = Life(world, text(queues)).settle(3)
    assert life.running("small") == 3
    world.gang("rest", [("w", 8, pod())], minimum=1, queue="a")
    assert life.settle().running("small", "rest") == (3, 5)


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
@pytest.mark.parametrize("state", ["Closed", "Closing"])
def test_a_queue_that_is_not_open_lets_nothing_in_and_keeps_what_runs(queues: str, state: str) -> None:
    world = nodes(1)
    world.queue("a", weight=1)
    world.gang("old", [("w", 2, pod())], queue="a")
    life = Life(world, text(queues)).settle(2)
    world.queue("a", weight=1, state=state)
    world.gang("new", [("w", 1, pod())], queue="a", resources={"cpu": "1"})
    assert life.settle(2).running("old", "new") == (2, 0)
    assert life.phase("new") == "Pending"
    world.queue("a", weight=1, state="Open")
    world.cluster.changed_jobs.add("ns/new")
    assert life.settle(2).running("old", "new") == (2, 1)
