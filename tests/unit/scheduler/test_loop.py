from __future__ import annotations

import threading
from typing import Any

from scheduler import loop
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cache.facts import Facts
from scheduler.cycle import Result
from scheduler.loop import Scheduler
from scheduler.session import Session
from tests.unit.scheduler.build import World, memory_of, shape
from tests.unit.scheduler.cache.test_facts import facts, group, node, pod


def made(found: Facts, results: list[Result], **rest: Any) -> Scheduler:
    return Scheduler(found, memory_of(found.cluster), rest.pop("actions", ACTIONS), results.append, period=0.01, **rest)


def test_a_change_starts_a_cycle_and_without_one_there_is_none() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    scheduler.push(("PodGroup", None, group(minMember=1)))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    assert scheduler.cycle() is not None
    assert [(decision.task.name, getattr(decision, "node", "")) for decision in results[0].decisions] == [
        ("g-w-0", "n1")
    ]
    scheduler.drain()
    assert scheduler.cycle() is None
    assert scheduler.cycles == 1


def test_our_own_decisions_are_no_change_but_a_failed_bind_is() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    for change in (("PodGroup", None, group(minMember=1)), ("Pod", None, pod())):
        scheduler.push(change)
    scheduler.drain()
    scheduler.cycle()
    assert scheduler.cycle() is None
    scheduler.unbound("uid-g-w-0")
    scheduler.drain()
    assert scheduler.cycle() is not None
    assert [decision.task.name for decision in results[1].decisions] == ["g-w-0"]


def test_a_spent_budget_leaves_the_rest_to_the_next_cycle() -> None:
    world = World()
    world.node("n1")
    for name in ("a", "b"):
        world.gang(name, [("w", 1, shape())])
    ticks = iter([0.0, 0.0, loop.BUDGET, loop.BUDGET, *[0.0] * 20])
    results: list[Result] = []
    keeper = Facts(world.cluster, scheduler_names=("volcano",), default_queue="default")
    scheduler = made(keeper, results, stopwatch=lambda: next(ticks))
    scheduler.cycle()
    scheduler.cycle()
    assert [len(result.decisions) for result in results] == [1, 1]


def test_an_action_that_throws_stops_neither_the_others_nor_the_next_cycle() -> None:
    def broken(session: Session) -> None:
        raise RuntimeError(f"no luck with {session.uid}")

    results: list[Result] = []
    scheduler = made(facts(), results, actions={**ACTIONS, "enqueue": broken})
    scheduler.push(("PodGroup", None, group(minMember=1, phase="Inqueue")))
    scheduler.push(("Pod", None, pod()))
    scheduler.drain()
    scheduler.cycle()
    assert len(results[0].decisions) == 1
    assert scheduler.memory.failures["enqueue", "action"] == 1


def test_the_thread_waits_for_the_first_lists_and_ends_when_told() -> None:
    results: list[Result] = []
    scheduler = made(facts(), results)
    stop, ready, ran = threading.Event(), threading.Event(), threading.Event()
    scheduler._hand_on = lambda result: ran.set()
    thread = threading.Thread(target=scheduler.run, args=(stop, ready))
    scheduler.push(("Node", None, node("n2")))
    thread.start()
    assert not ran.wait(0.05)
    ready.set()
    assert ran.wait(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
