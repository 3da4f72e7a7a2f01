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


GANGS = """
actions: "allocate, backfill, gangreclaim, gangpreempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: capacity
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: nodeorder
  - name: binpack
"""


def borrowed(own: str, lent: str, *gangs: tuple[int, int], **more: Any) -> Life:
    """Four nodes of one cpu, full of these gangs `(pods, minimum)` of queue b; a and b deserve so much."""
    world = nodes(4, 1.0)
    world.queue("a", weight=1, deserved={"cpu": own}, **more)
    world.queue("b", weight=1, deserved={"cpu": lent})
    for number, (count, minimum) in enumerate(gangs):
        world.gang(f"rich{number}", [("w", count, pod())], minimum=minimum, queue="b")
    life = Life(world, GANGS, grace=2).settle(2)
    assert sum(life.running(f"rich{number}") == count for number, (count, _) in enumerate(gangs)) == len(gangs)
    return life


def test_a_gang_takes_back_the_pods_that_another_gang_can_spare() -> None:
    life = borrowed("2", "2", (4, 2))
    life.world.gang("poor", [("w", 2, pod())], queue="a")
    assert life.settle().running("rich0", "poor") == (2, 2)
    assert len(life.evicted) == 2


def test_a_gang_that_can_spare_nobody_is_broken_as_a_whole_and_the_other_left_alone() -> None:
    life = borrowed("2", "2", (2, 2), (2, 2))
    life.world.gang("poor", [("w", 2, pod())], queue="a")
    life.settle()
    assert (sorted((life.running("rich0"), life.running("rich1"))), life.running("poor")) == ([0, 2], 2)


@pytest.mark.parametrize(
    ("own", "lent", "pods"),
    [("2", "4", 2), ("4", "2", 4), ("1", "2", 2)],
    ids=["nobody holds more than it deserves", "more than can be given back", "more than the queue deserves"],
)
def test_a_gang_takes_nothing_back_where_it_would_not_run(own: str, lent: str, pods: int) -> None:
    life = borrowed(own, lent, (4, 4) if pods == 4 else (4, 2))
    if pods == 4:
        life.world.queue("b", weight=1, deserved={"cpu": lent}, guarantee=Guarantee(resource={"cpu": lent}))
    life.world.gang("poor", [("w", pods, pod())], queue="a")
    assert life.settle().running("rich0", "poor") == (4, 0)
    assert life.evicted == []


def test_room_that_a_gang_takes_back_is_kept_from_a_queue_that_comes_first() -> None:
    life = borrowed("2", "2", (4, 2))
    life.world.queue("b", weight=1, deserved={"cpu": "2"}, priority=100)
    life.world.gang("racer", [("w", 2, pod())], queue="b")
    life.settle(2)
    life.world.gang("poor", [("w", 2, pod())], queue="a")
    assert life.settle().running("rich0", "racer", "poor") == (2, 0, 2)
    assert len(life.evicted) == 2


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize("queues", ["proportion", "capacity"])
@pytest.mark.parametrize("count", [2, 5])
def test_queues_that_each_deserve_half_do_not_take_the_rest_from_each_other_by_turns(
    count: int, queues: str, action: str
) -> None:
    """Of 11 cpus each may have 10 and deserves 5 (#3729): who takes back ends with what it deserves, and is left alone."""
    world = nodes(1, 11.0)
    for name in ("a", "b"):
        world.queue(name, weight=1, deserved={"cpu": "5"}, capability={"cpu": "10"})
    world.gang("rich", [("w", 5, pod(2))], minimum=2, queue="a")
    life = Life(world, text(queues, eager=False, actions=f"enqueue, allocate, {action}, backfill")).settle(2)
    world.gang("poor", [("w", count, pod(2))], minimum=2, queue="b")
    # The gang actions place all pods that wait, or none: five are more than is deserved.
    expected = (5, 0) if action == "gangreclaim" and count == 5 else (3, 2)
    assert life.settle().running("rich", "poor") == expected
    assert len(life.evicted) == expected[1]


BY_TREE = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf, enableHierarchy: true}, {name: predicates}]
"""


def test_queues_of_a_tree_do_not_take_from_each_other_by_turns_whatever_their_weights() -> None:
    """A queue that holds little scales down what its sibling holds, so who comes first may turn with every pod (#1661)."""
    world = nodes(1, 8.0)
    for name, path, weights in (
        ("little", "root/dev/little", "1/1/1"),
        ("big", "root/dev/big", "1/1/1000"),
        ("alt", "root/alt/alt", "1/1/1"),
    ):
        notes = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
        world.queue(name, weight=1, annotations=notes)
    for name, count in (("little", 2), ("big", 8), ("alt", 8)):
        for number in range(count):
            world.gang(f"{name}{number}", [("w", 1, pod())], queue=name)
    life = Life(world, BY_TREE).settle(10)
    assert life.evicted == []


@pytest.mark.parametrize("queues", ["proportion", "capacity"])
def test_pods_of_a_gang_share_the_room_that_one_victim_leaves(queues: str) -> None:
    """The first takes the last thing that there is to give back, the second what that leaves over."""
    world = shared("a", "b", cpu="2", count=1)
    world.gang("rich", [("w", 3, pod(1)), ("small", 1, pod(1))], minimum=0, queue="a")
    life = Life(world, text(queues, eager=False)).settle(2)
    world.gang("poor", [("w", 4, pod(0.5))], queue="b")
    assert life.settle().running("rich", "poor") == (2, 4)
    assert len(life.evicted) == 2


@pytest.mark.parametrize("case", ["cpu", "pods"])
def test_gangs_of_queues_within_their_shares_take_nothing_from_each_other_by_turns(case: str) -> None:
    if case == "cpu":
        world, gang = nodes(1, cpu=4.0), (1, 2.0)
        world.node("m", cpu=1000.0)
    else:
        world, gang = nodes(1, cpu=8.0, pods=4.0), (4, 1.0)
    for name in ("default", "b"):
        world.queue(name)
    count, cpu = gang
    world.gang("one", [("w", 1, pod(3.0 if case == "cpu" else 0.5))], queue="b")
    world.gang("two", [("w", count, pod(cpu))])
    life = Life(world, chart("enqueue, allocate, gangpreempt, gangreclaim, backfill"))
    for _ in range(8):
        life.step()
    assert life.evicted == []


def test_what_a_third_queue_borrows_is_no_ground_to_take_from_one_within_its_part() -> None:
    world = nodes(1, cpu=2.0)
    world.node("m", cpu=500.0)
    world.queue("default")
    world.queue("b", deserved={"cpu": "7"})
    world.queue("c", deserved={"cpu": "6"})
    world.gang("small", [("w", 1, pod(0.5))], queue="default")
    life = Life(world, chart("enqueue, allocate, gangreclaim", queues="capacity"))
    for name, queue in (("one", "c"), ("two", "b")):
        life.step()
        life.step()
        world.gang(name, [("w", 1, pod(2.0))], queue=queue)
    for _ in range(8):
        life.step()
    assert life.evicted == []
