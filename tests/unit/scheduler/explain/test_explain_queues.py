"""What queues have to do with why a job waits, in numbers."""

from __future__ import annotations

import pytest

from scheduler.explain.report import CauseKind
from scheduler.plugin import Plugin
from scheduler.session import Session
from tests.unit.scheduler.build import World, cycle, memory_of, shape
from tests.unit.scheduler.explain.explaining import DEFAULT, explained, kinds


def refused_world() -> World:
    world = World()
    world.node("n-1")
    world.queue("q", capability={"cpu": "2"})
    world.gang("a", [("w", 3, shape())], queue="q", resources={"cpu": "3"})
    return world


def test_a_refused_admission_is_told_with_plugin_and_numbers() -> None:
    answer = explained(refused_world(), "a")
    first = answer.causes[0]
    assert (first.kind, first.plugin) == (CauseKind.NOT_ADMITTED, "proportion")
    assert first.text == (
        "not let into queue q: queue q resource quota insufficient: "
        "insufficient cpu (asked 3000.00, taken 0.00 of 2000.00)"
    )
    assert answer.summary == first.text
    assert answer.needs[0] == (
        "its minResources ask for 3 cpu, more than queue q may ever hold (2 cpu): "
        "raise cpu in spec.capability of queue q, or ask for less"
    )
    assert answer.queue.capability == {"cpu": "2"}


class Mute(Plugin):
    """Refuses every job and says nothing."""

    name = "mute"

    def on_session_open(self, session: Session) -> None:
        session.add_job_enqueueable(self.name, lambda _: -1)


def test_a_plugin_that_refuses_without_a_word_is_named() -> None:
    text = DEFAULT.replace("{name: gang}", "{name: gang}, {name: mute}")
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())], resources={"cpu": "1"})
    answer = explained(world, "a", text=text, plugins={"mute": Mute})
    assert answer.causes[0].text == "not let into queue default: plugin mute does not let it into queue default"
    assert answer.causes[0].plugin == "mute"


def test_a_full_queue_is_told_with_its_standing() -> None:
    world = World()
    world.node("n-1")
    world.queue("q", capability={"cpu": "2"})
    world.queue("other")
    world.gang("b", [("w", 2, shape())], queue="q", phase="Inqueue")
    cycle(world, memory_of(world.cluster, DEFAULT))
    world.gang("a", [("w", 1, shape())], queue="q", phase="Inqueue")
    answer = explained(world, "a")
    assert kinds(answer) == [CauseKind.QUOTA]
    assert answer.causes[0].plugin == "proportion"
    assert answer.summary == (
        "proportion: queue q has used up its deserved part: insufficient cpu (asked 1000.00, taken 2000.00 of 2000.00)"
    )
    assert answer.queue.plugin == "proportion"
    assert answer.queue.allocated["cpu"] == "2"
    assert answer.queue.deserved["cpu"] == "2"
    assert not answer.queue.is_overused  # of memory something is left
    assert not answer.can_start


def test_a_queue_that_holds_all_that_it_deserves_is_told() -> None:
    world = World()
    world.node("n-1")
    world.queue("q", capability={"cpu": "2", "memory": "2Gi", "pods": "2"})
    world.gang("b", [("w", 2, shape())], queue="q", phase="Inqueue")
    cycle(world, memory_of(world.cluster, DEFAULT))
    world.gang("a", [("w", 1, shape())], queue="q", phase="Inqueue")
    answer = explained(world, "a")
    assert answer.queue.is_overused
    assert kinds(answer) == [CauseKind.QUEUE_OVERUSED, CauseKind.QUOTA]
    assert answer.causes[0].plugin == "proportion"
    assert answer.summary == "queue q holds all that it deserves already"


def test_queues_above_are_told_by_the_plugin_that_has_a_tree() -> None:
    text = DEFAULT.replace("{name: proportion}", "{name: capacity, enableHierarchy: true}")
    world = World()
    world.node("n-1")
    world.queue("root")
    world.queue("team", parent="root", capability={"cpu": "1"})
    world.queue("leaf", parent="team", capability={"cpu": "3"})
    world.gang("a", [("w", 2, shape())], queue="leaf", phase="Inqueue")
    answer = explained(world, "a", text=text)
    assert [queue.name for queue in answer.ancestors] == ["team", "root"]
    assert answer.queue.plugin == "capacity"
    assert answer.ancestors[0].capability == {"cpu": "1"}
    assert kinds(answer) == [CauseKind.QUOTA]
    assert answer.causes[0].plugin == "capacity"


@pytest.mark.parametrize(
    ("state", "kind"), [("Closed", CauseKind.QUEUE_CLOSED), ("Closing", CauseKind.QUEUE_CLOSED), ("Open", None)]
)
def test_a_closed_queue_is_told(state: str, kind: str | None) -> None:
    world = World()
    world.node("n-1")
    world.queue("q", state=state)
    world.gang("a", [("w", 1, shape())], queue="q")
    answer = explained(world, "a")
    assert (kind in kinds(answer)) == (kind is not None)
    assert answer.can_start == (kind is None)


def test_a_missing_queue_is_told_before_anything_else() -> None:
    world = World()
    world.node("n-1")
    world.gang("a", [("w", 1, shape())], queue="q")
    world.cluster.queues["q"].object = None
    answer = explained(world, "a")
    assert kinds(answer) == [CauseKind.NO_QUEUE]
    assert answer.summary == "queue q does not exist"
    assert not answer.queue.exists
    assert answer.is_waiting
