"""Placing the tasks of a worksheet: what ends a turn, and what those that found nothing hear."""

from __future__ import annotations

import pytest

from scheduler import session as sessions
from scheduler.placing.fiterrors import examine
from scheduler.placing.placer import may_continue
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape

GANG = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}]
"""
ONE, HUGE = shape(1000.0), shape(99000.0)


def told(world: World, text: str = GANG, **plugins: type[Plugin]) -> dict[str, str]:
    result = cycle(world, memory_of(world.cluster, text, dict(plugins)))
    return {outcome.task.name: outcome.message for outcome in result.outcome.tasks}


CONTINUES = [
    # minimum, minimum by role, roles that failed, whether to go on
    ("no role has a minimum", 1, {}, {"a"}, True),
    ("a role that failed has one", 2, {"a": 1, "b": 1}, {"a"}, False),
    ("a role that failed stands already", 2, {"b": 1}, {"b"}, True),
    ("any pods will do, and there are enough others", 2, {"a": 2, "b": 2}, {"a"}, True),
    ("any pods will do, but there are too few others", 4, {"a": 3, "b": 3}, {"a"}, False),
]


@pytest.mark.parametrize(
    ("case", "minimum", "roles", "failed", "expected"), CONTINUES, ids=[case for case, *_ in CONTINUES]
)
def test_going_on_after_a_failure(
    case: str, minimum: int, roles: dict[str, int], failed: set[str], expected: bool
) -> None:
    del case
    world = World()
    world.node("n0")
    world.gang("j", [("a", 3, ONE), ("b", 1, ONE)], minimum=minimum, role_minimum=roles)
    world.member("j", "standing", "n0", ONE, role="b")
    assert may_continue(world.cluster.jobs["ns/j"], failed) is expected


def test_a_role_that_found_nothing_is_passed_over() -> None:
    world = World()
    world.node("n0")
    world.gang("j", [("big", 2, HUGE), ("small", 2, ONE)], minimum=2)
    messages = told(world)
    assert messages["j-big-0"] == "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert messages["j-big-1"] == "Task j-big-1 with role spec big has already predicated failed, skip"
    assert world.cluster.jobs["ns/j"].counts[Status.BINDING] == 2


def test_a_gang_whose_first_task_fails_places_nothing() -> None:
    world = World()
    world.node("n0")
    world.gang("j", [("big", 1, HUGE), ("small", 2, ONE)])
    assert not binds(cycle(world, memory_of(world.cluster, GANG)))


def test_many_jobs_that_wait_for_the_same_are_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*arguments: object) -> object:
        asked.append(arguments)
        return examine(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(sessions, "examine", counted)
    world = World()
    world.node("n0")
    for number in range(5):
        world.gang(f"j{number}", [("w", 1, HUGE)])
    messages = told(world)
    assert set(messages.values()) == {"0/1 nodes are unavailable: 1 Insufficient cpu."}
    assert len(asked) == 1


def test_a_placement_in_between_is_seen() -> None:
    world = World()
    world.node("n0", cpu=2000.0)
    world.gang("first", [("w", 1, shape(3000.0))])
    world.gang("second", [("w", 1, shape(1500.0, scalars={}))])
    world.gang("third", [("w", 1, shape(1500.0))])
    messages = told(world)
    assert messages["third-w-0"] == "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert "second-w-0" not in messages


class Refuses(Plugin):
    """Says no to the second node of every batch."""

    name = "refuses"

    def on_session_open(self, session: Session) -> None:
        session.add_event_handler(self.name, allocate=lambda task, node: "full of eels" if node.name == "n1" else None)


def test_a_batch_that_a_handler_refuses_is_tried_task_by_task() -> None:
    world = World()
    world.node("n0", cpu=1000.0)
    world.node("n1", cpu=1000.0)
    world.gang("j", [("w", 2, ONE)], minimum=1)
    messages = told(world, GANG.replace("{name: gang}", "{name: gang}, {name: refuses}"), refuses=Refuses)
    assert world.cluster.jobs["ns/j"].counts[Status.BINDING] == 1
    assert messages["j-w-1"] == "0/1 nodes are unavailable: 1 full of eels."
