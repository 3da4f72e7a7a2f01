"""Lives of clusters in which nobody has to go: who starts first, where, and as a whole or in part."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Affinity, Container, ContainerPort, Taint, Toleration
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, require
from tests.unit.scheduler.life import Life, chart, nodes, pod

PLAIN = chart("enqueue, allocate, backfill")


def life(world: World) -> Life:
    return Life(world, PLAIN)


def test_of_two_gangs_that_need_the_whole_cluster_the_second_starts_when_the_first_is_over() -> None:
    world = nodes(2)
    for name in ("first", "second"):
        world.gang(name, [("w", 8, pod())], resources={"cpu": "8"})
    lived = life(world).settle(3)
    assert lived.running("first", "second") == (8, 0)
    assert (lived.phase("first"), lived.phase("second")) == ("Running", "Pending")
    for task in list(world.cluster.jobs["ns/first"].tasks.values()):
        world.cluster.remove_task(task.uid)
    assert lived.settle(3).running("second") == 8
    assert lived.phase("second") == "Running"


def test_a_gang_that_lost_a_pod_gets_its_place_back_before_a_newcomer_takes_it() -> None:
    """The newcomer holds nothing, so that a fair share alone would serve it first."""
    world = nodes(1, 3.0)
    world.gang("gang", [("w", 3, pod())])
    lived = life(world).settle(2)
    world.cluster.remove_task("uid-gang-w-0")
    world.gang("newcomer", [("w", 1, pod())])
    again = Task(uid="again", namespace="ns", name="gang-w-0", job="ns/gang", shape=pod(), role="w")
    world.cluster.add_task(again)
    assert lived.settle(2).running("gang", "newcomer") == (3, 0)


@pytest.mark.parametrize(("state", "expected"), [("Open", ("Running", 2)), ("Closed", ("Pending", 0))])
def test_a_group_whose_pods_are_gone_is_pending_again_and_let_in_anew(state: str, expected: tuple[str, int]) -> None:
    world = nodes(1)
    world.gang("gang", [("w", 2, pod())], resources={"cpu": "2"})
    lived = life(world).settle(2)
    assert lived.phase("gang") == "Running"
    for task in list(world.cluster.jobs["ns/gang"].tasks.values()):
        world.cluster.remove_task(task.uid)
    world.queue("default", state=state)
    lived.step()
    assert lived.phase("gang") == "Pending"
    for ordinal in range(2):
        fresh = Task(
            uid=f"new-{ordinal}", namespace="ns", name=f"gang-w-{ordinal}", job="ns/gang", shape=pod(), role="w"
        )
        world.cluster.add_task(fresh)
    lived.settle(3)
    assert (lived.phase("gang"), lived.running("gang")) == expected


def test_what_a_broken_gang_can_not_use_is_left_to_others() -> None:
    world = nodes(1, 3.0)
    world.gang("gang", [("w", 3, pod())])
    lived = life(world).settle(2)
    world.cluster.remove_task("uid-gang-w-0")
    world.gang("newcomer", [("w", 1, pod())])
    huge = Task(uid="again", namespace="ns", name="gang-w-0", job="ns/gang", shape=pod(2.0), role="w")
    world.cluster.add_task(huge)
    assert lived.settle(2).running("gang", "newcomer") == (2, 1)


@pytest.mark.parametrize(("minimum", "expected"), [(8, 0), (4, 4), (1, 4)])
def test_an_elastic_job_takes_what_there_is_once_its_minimum_fits(minimum: int, expected: int) -> None:
    world = nodes(1)
    world.gang("job", [("w", 8, pod())], minimum=minimum)
    assert life(world).settle(3).running("job") == expected


def test_the_pods_of_more_urgent_tasks_of_a_job_come_first() -> None:
    world = nodes(1)
    world.gang("job", [("low", 4, pod()), ("high", 4, pod())], minimum=4)
    for task in world.cluster.jobs["ns/job"].tasks.values():
        task.priority = 100 if task.role == "high" else 1
    life(world).settle(2)
    placed = {task.role for task in world.cluster.jobs["ns/job"].tasks.values() if task.node is not None}
    assert placed == {"high"}


def test_a_pod_that_fits_nowhere_does_not_keep_its_smaller_siblings_back() -> None:
    world = nodes(1)
    world.gang("job", [("big", 1, pod(5)), ("small", 3, pod())], minimum=1)
    assert life(world).settle(2).running("job") == 3


def test_a_role_that_is_needed_keeps_the_others_back() -> None:
    world = nodes(1)
    world.gang("job", [("ps", 1, pod(5)), ("worker", 3, pod())], minimum=2, role_minimum={"ps": 1, "worker": 1})
    assert life(world).settle(2).running("job") == 0


def test_pods_that_ask_for_nothing_start_on_a_full_node() -> None:
    world = nodes(1)
    world.gang("full", [("w", 4, pod())])
    world.gang("free", [("w", 3, pod(0))])
    world.gang("mixed", [("free", 1, pod(0)), ("w", 1, pod())], minimum=1)
    assert life(world).settle(3).running("full", "free", "mixed") == (4, 3, 1)


def test_small_jobs_are_packed_together_by_default() -> None:
    world = nodes(3)
    lived = life(world)
    for name in ("one", "two", "three", "four"):
        world.gang(name, [("w", 1, pod())])
        lived.step()
    assert len({*lived.places("one"), *lived.places("two"), *lived.places("three"), *lived.places("four")}) == 1


@pytest.mark.parametrize(("weights", "expected"), [((1, 1), (6, 6)), ((1, 2), (4, 8)), ((1, 3), (3, 9))])
def test_queues_share_a_cluster_by_weight(weights: tuple[int, int], expected: tuple[int, int]) -> None:
    world = nodes(3)
    for name, weight in zip("ab", weights, strict=True):
        world.queue(name, weight=weight)
        world.gang(f"of-{name}", [("w", 12, pod())], minimum=1, queue=name)
    assert life(world).settle(4).running("of-a", "of-b") == expected


def test_equal_jobs_of_a_queue_share_it() -> None:
    world = nodes(2)
    for name in ("one", "two"):
        world.gang(name, [("w", 8, pod())], minimum=1)
    assert life(world).settle(3).running("one", "two") == (4, 4)


def test_a_more_urgent_job_starts_before_an_older_one() -> None:
    world = nodes(1)
    world.gang("old", [("w", 4, pod())])
    world.gang("urgent", [("w", 4, pod())], priority=100)
    assert life(world).settle(2).running("old", "urgent") == (0, 4)


def _port() -> dict[str, Any]:
    return {"containers": (Container(name="main", ports=(ContainerPort(container_port=80, host_port=80),)),)}


@pytest.mark.parametrize(
    ("case", "spec", "expected"),
    [
        ("a host port is there once a node", _port(), 2),
        ("a label that one node has", {"affinity": require("disk", "ssd")}, 4),
        ("a selector that no node meets", {"node_selector": {"disk": "tape"}}, 0),
        ("an affinity that says nothing", {"affinity": Affinity()}, 8),
        ("a tolerated taint", {"tolerations": (Toleration(key="dedicated", operator="Exists"),)}, 12),
    ],
)
def test_pods_stand_only_where_they_may(case: str, spec: dict[str, Any], expected: int) -> None:
    world = World()
    world.node("n0", labels={"disk": "ssd"})
    world.node("n1")
    world.node("n2", taints=(Taint(key="dedicated", effect="NoSchedule"),))
    world.gang("job", [("w", 12, pod(1.0, **spec))], minimum=0)
    assert life(world).settle(3).running("job") == expected, case


def test_a_taint_that_goes_lets_waiting_pods_in() -> None:
    world = nodes(1, taints=(Taint(key="dedicated", effect="NoSchedule"),))
    world.gang("job", [("w", 2, pod())])
    lived = life(world).settle(2)
    assert lived.running("job") == 0
    world.node("n0")
    assert lived.settle(2).running("job") == 2
