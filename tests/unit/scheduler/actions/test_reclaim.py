"""reclaim: who gives back to whom, and that nobody is evicted in vain."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.plugin import Plugin
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, shape
from tests.unit.scheduler.evictions import configured, evicted, gone, nominated, reasons, run, victim_job


def pod(cpu: float, **spec: Any) -> Any:
    return shape(cpu * 1000.0, 0.0, **spec)


def borrowed(status: Status = Status.RUNNING, **spec: Any) -> World:
    """A node full of pods of the queue `rich`, and a job of `poor`."""
    world = World()
    world.node("n0")
    world.queue("rich", **spec)
    victim_job(world, "rich", {"n0": 4}, queue="rich", status=status)
    world.gang("poor", [("w", 1, pod(2))], queue="poor")
    return world


@pytest.mark.parametrize("status", [Status.RUNNING, Status.BOUND])
def test_another_queue_gives_back_as_few_pods_as_will_do(status: Status) -> None:
    world = borrowed(status)
    memory = configured("reclaim", world=world)
    result = run(world, memory)
    assert evicted(result) == ["rich-w-3", "rich-w-2"]
    assert nominated(result) == {"poor-w-0": "n0"}
    assert reasons(result) == {"reclaim"}
    gone(world, result)
    assert binds(run(world, memory)) == [("poor-w-0", "n0")]


def test_a_queue_that_is_not_reclaimable_gives_nothing() -> None:
    world = borrowed(reclaimable=False)
    assert evicted(run(world, configured("reclaim", world=world))) == []


def test_the_own_queue_gives_nothing() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "rich", {"n0": 4})
    world.gang("poor", [("w", 1, pod(2))], priority=10)
    assert evicted(run(world, configured("reclaim", world=world))) == []


def test_a_pod_that_says_it_is_not_preemptable_stays() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "rich", {"n0": 4}, queue="rich", preemptable=False)
    world.gang("poor", [("w", 1, pod(2))], queue="poor")
    assert evicted(run(world, configured("reclaim", world=world))) == []


def test_a_pod_that_never_preempts_does_not_reclaim_either() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "rich", {"n0": 4}, queue="rich")
    world.gang("poor", [("w", 1, pod(2, preemption_policy="Never"))], queue="poor")
    assert evicted(run(world, configured("reclaim", world=world))) == []


def test_no_gang_is_served_by_half() -> None:
    world = borrowed()
    world.gang("poorer", [("w", 3, pod(2))], queue="poorest")
    del world.cluster.jobs["ns/poor"].queue
    world.cluster.jobs["ns/poor"].queue = ""
    assert evicted(run(world, configured("reclaim", world=world))) == []


class Opinion(Plugin):
    """Says no where its argument tells."""

    name = "opinion"

    def on_session_open(self, session: Any) -> None:
        point = self.arguments.text("point", "")
        if point == "overused":
            session.add_overused(self.name, lambda queue: queue.name == "poor")
        elif point == "preemptive":
            session.add_preemptive(self.name, lambda queue, task: False)
        elif point == "allocatable":
            session.add_allocatable(self.name, lambda queue, task: False)
        else:
            session.add_pre_predicate(self.name, lambda task: "not now")


@pytest.mark.parametrize("point", ["overused", "preemptive", "allocatable", "pre-predicate"])
def test_nobody_is_evicted_for_a_queue_that_may_not_have_it(point: str) -> None:
    world = borrowed()
    more = f"  - name: opinion\n    arguments: {{point: {point}}}"
    memory = configured("reclaim", more=more, plugins={"opinion": Opinion}, world=world)
    assert evicted(run(world, memory)) == []


def test_each_of_two_poor_queues_is_served() -> None:
    world = borrowed()
    world.gang("poor-too", [("w", 1, pod(2))], queue="poor-too")
    assert len(evicted(run(world, configured("reclaim", world=world)))) == 4


def test_a_node_with_room_spares_the_others() -> None:
    world = borrowed()
    world.node("n1", cpu=1000.0)
    world.cluster.jobs["ns/poor"].min_available = 2
    from scheduler.state.task import Task  # noqa: PLC0415  # one more pod

    world.cluster.add_task(Task(uid="uid-x", namespace="ns", name="x", job="ns/poor", shape=pod(1), role="w"))
    result = run(world, configured("reclaim", world=world))
    assert len(evicted(result)) == 2
    assert nominated(result) == {"poor-w-0": "n0"}


class VictimQueues(Plugin):
    """The queue whose name comes first gives first."""

    name = "victimqueues"

    def on_session_open(self, session: Any) -> None:
        session.add_victim_queue_order(
            self.name, lambda left, right, _: (left.name > right.name) - (left.name < right.name)
        )


def test_queues_give_in_the_order_that_plugins_say_else_the_last_first() -> None:
    def world() -> World:
        world = World()
        world.node("n0")
        for number, name in enumerate(("a", "b")):
            world.queue(name)
            world.cluster.queues[name].created = float(number)
            victim_job(world, f"job-{name}", {"n0": 2}, queue=name)
        world.gang("poor", [("w", 1, pod(2))], queue="poor")
        return world

    plain, ordered = world(), world()
    assert evicted(run(plain, configured("reclaim", world=plain))) == ["job-b-w-1", "job-b-w-0"]
    more = "  - name: victimqueues"
    memory = configured("reclaim", more=more, plugins={"victimqueues": VictimQueues}, world=ordered)
    assert evicted(run(ordered, memory)) == ["job-a-w-1", "job-a-w-0"]
