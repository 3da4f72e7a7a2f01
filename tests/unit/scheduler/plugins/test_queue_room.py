"""How many tasks a queue takes at once: never another outcome than asking for each."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.state.queue import Queue
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import opened, tiers


class Few(Plugin):
    """Lets a queue take four pods in a session, and counts how often it is asked."""

    name = "few"
    asked: ClassVar[list[str]] = []
    taken: ClassVar[list[int]] = []

    def on_session_open(self, session: Session) -> None:
        self.asked.clear()
        self.taken.clear()
        batch: dict[str, Any] = {"room": self.room} if self.arguments.bool("batch", False) else {}
        reason: dict[str, Any] = {"reason": self.reason} if self.arguments.bool("batch", False) else {}
        if self.arguments.bool("overused", False):
            session.add_overused(self.name, self.is_overused, **batch)
        else:
            session.add_allocatable(self.name, self.may_take, **batch, **reason)
        session.add_batch_event_handler(self.name, allocate=self.allocated)

    def allocated(self, tasks: Any, nodes: Any) -> None:
        del nodes
        self.taken.append(len(tasks))

    def is_overused(self, queue: Queue) -> bool:
        self.asked.append(queue.name)
        return sum(self.taken) >= 4

    def may_take(self, queue: Queue, task: Task) -> bool:
        self.asked.append(task.name)
        return sum(self.taken) < 4

    def room(self, queue: Queue, task: Task, most: int) -> int:
        del queue, task
        return min(most, 4 - sum(self.taken))

    def reason(self, queue: Queue, task: Task) -> str:
        return f"few: {queue.name} has its four, not {task.name}"


class Broken(Plugin):
    """Its room throws."""

    name = "broken"

    def on_session_open(self, session: Session) -> None:
        session.add_allocatable(self.name, lambda *_: True, room=lambda *_: 1 // 0)


def run(world: World, arguments: str) -> list[tuple[str, str]]:
    text = tiers("priority; gang", f"{{name: few, arguments: {{{arguments}}}}}; predicates")
    return binds(cycle(world, memory_of(world.cluster, text, {"few": Few})))


def world_of() -> World:
    world = World()
    world.node("n1", cpu=64_000.0)
    world.gang("many", [("w", 9, shape())], minimum=1)
    return world


@pytest.mark.parametrize("overused", ["false", "true"])
def test_a_batch_form_places_at_once_what_asking_for_each_places(overused: str) -> None:
    one_by_one = run(world_of(), f"overused: {overused}")
    assert Few.taken == [1, 1, 1, 1]
    at_once = run(world_of(), f"overused: {overused}, batch: true")
    # The first makes the job ready, the rest goes in one turn.
    assert Few.taken == [1, 3]
    assert at_once == one_by_one
    assert len(at_once) == 4


def test_a_gang_that_is_not_whole_is_not_stopped_by_overuse_between_its_tasks() -> None:
    world = World()
    world.node("n1", cpu=64_000.0)
    world.gang("gang", [("w", 6, shape())])
    assert len(run(world, "overused: true, batch: true")) == 6
    assert Few.taken == [6]


def test_the_reason_of_the_plugin_that_refuses_is_told() -> None:
    world = world_of()
    text = tiers("priority; gang", "{name: few, arguments: {batch: true}}; predicates")
    result = cycle(world, memory_of(world.cluster, text, {"few": Few}))
    messages = {outcome.message for outcome in result.outcome.tasks}
    assert "few: default has its four, not many-w-4" in messages


def test_a_plugin_without_reason_is_named_all_the_same() -> None:
    world = world_of()
    result = cycle(world, memory_of(world.cluster, tiers("gang", "few; predicates"), {"few": Few}))
    assert {outcome.message for outcome in result.outcome.tasks} == {"few: queue default has no room for the task"}


def test_a_room_that_throws_means_one_at_a_time() -> None:
    world = world_of()
    memory = memory_of(world.cluster, tiers("priority; gang", "broken; predicates"), {"broken": Broken})
    assert len(binds(cycle(world, memory))) == 9
    assert memory.failures["broken", "allocatable_room"] == 3


def test_switched_off_a_plugin_limits_nothing() -> None:
    world = world_of()
    world.queue("default", capability={"cpu": "2"})
    with opened(world, "{name: proportion, enabledAllocatable: false, enabledOverused: false}") as session:
        task = world.cluster.tasks["uid-many-w-0"]
        assert session.queue_room(world.cluster.queues["default"], task, 9, in_turns=True) == 9
    with opened(world, "proportion") as session:
        assert session.queue_room(world.cluster.queues["default"], task, 9, in_turns=False) == 2


def test_the_order_of_sub_jobs_follows_readiness_and_priority() -> None:
    class Part:
        def __init__(self, uid: str, priority: int) -> None:
            self.uid, self.match_index, self.priority = uid, 0, priority

    world = world_of()
    with opened(world, "priority") as session:
        ranked = session.sub_job_ranking().sorted([Part("a", 1), Part("b", 9)])  # type: ignore[list-item]
    assert [part.uid for part in ranked] == ["b", "a"]
