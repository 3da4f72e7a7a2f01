"""Array functions that throw: they cost their own plugin, never a cycle."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler.contract.effects import Code, Effect, Filter, Refusal, Score
from scheduler.memory import Memory
from scheduler.placing.signature import check_declared
from scheduler.plugin import Plugin
from scheduler.session import Session
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape

CONFIGURATION = "actions: enqueue, allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: odd}]}]"
NO = Refusal(Code.UNSCHEDULABLE, "no")


def refuse_none(task: Any, view: Any) -> Any:
    return np.zeros(len(view), dtype=np.int32)


def fail(*_: Any) -> Any:
    raise ZeroDivisionError("on purpose")


def a_filter(evaluate: Callable[..., Any] = refuse_none, **more: Any) -> Filter:
    declared: dict[str, Any] = {"reads": (), "effect": Effect.STATIC} | more
    return Filter(name="test", plugin="odd", refusals=(NO,), evaluate=evaluate, **declared)


def a_score(evaluate: Callable[..., Any], **more: Any) -> Score:
    declared: dict[str, Any] = {"reads": (), "effect": Effect.STATIC} | more
    return Score(name="rating", plugin="odd", evaluate=evaluate, **declared)


def registering(register: Callable[[Session], None]) -> type[Plugin]:
    class Odd(Plugin):
        name = "odd"
        outlives_session = True

        def on_session_open(self, session: Session) -> None:
            register(session)

    return Odd


def world(jobs: int = 1) -> World:
    made = World()
    for name in ("a", "b"):
        made.node(name)
    for number in range(jobs):
        made.gang(f"g{number}", [("w", 2, shape(cpu=500.0 + number))])
    return made


def memory(made: World, register: Callable[[Session], None]) -> Memory:
    return memory_of(made.cluster, CONFIGURATION, {"odd": registering(register)})


@pytest.mark.parametrize(
    "evaluate",
    [fail, lambda *_: None, lambda *_: 1, lambda *_: np.zeros(1, dtype=np.int32)],
    ids=["throws", "none", "a number", "too short"],
)
@pytest.mark.parametrize("declared", [{}, {"reads": ("task",), "effect": Effect.ALL}], ids=["declared", "loose"])
def test_a_filter_that_fails_refuses_its_nodes_and_says_whose_it_is(
    evaluate: Callable[..., Any], declared: dict[str, Any]
) -> None:
    made = world()
    known = memory(made, lambda session: session.add_filter(a_filter(evaluate, **declared)))
    result = cycle(made, known)
    assert binds(result) == []
    condition = result.outcome.jobs[0].condition
    assert condition is not None
    assert condition.message.endswith("0/2 nodes are unavailable: 2 plugin odd failed in its predicate.")
    assert set(known.failures) == {("odd", "predicate")}


@pytest.mark.parametrize("declared", [{}, {"reads": ("task",), "effect": Effect.ALL}], ids=["declared", "loose"])
def test_a_score_that_fails_counts_as_0(declared: dict[str, Any]) -> None:
    made = world()
    known = memory(made, lambda session: session.add_score(a_score(fail, **declared)))
    assert len(binds(cycle(made, known))) == 2
    assert set(known.failures) == {("odd", "node_order")}


def test_a_function_that_is_no_use_to_tell_whom_it_concerns_concerns_everybody() -> None:
    made = world()
    known = memory(made, lambda session: session.add_filter(a_filter(applies=fail)))
    assert len(binds(cycle(made, known))) == 2
    refusing = world()
    verdicts = a_filter(lambda _, view: np.ones(len(view), dtype=np.int32), applies=fail)
    assert binds(cycle(refusing, memory(refusing, lambda session: session.add_filter(verdicts)))) == []


def test_after_three_throws_it_is_not_asked_again_until_the_next_session() -> None:
    made = world(jobs=6)
    asked: list[str] = []

    def evaluate(task: Any, view: Any) -> Any:
        asked.append(task.job)
        raise ZeroDivisionError

    known = memory(made, lambda session: session.add_filter(a_filter(evaluate)))
    cycle(made, known)
    assert len(asked) == 3
    cycle(made, known)
    assert len(asked) == 6
    assert known.failures["odd", "predicate"] == 6


def test_what_a_failure_answered_does_not_outlive_the_session() -> None:
    made = world()
    broken = [True]

    def evaluate(task: Any, view: Any) -> Any:
        return fail() if broken[0] else refuse_none(task, view)

    known = memory(made, lambda session: session.add_filter(a_filter(evaluate)))
    assert binds(cycle(made, known)) == []
    broken[0] = False
    assert len(binds(cycle(made, known, "session-2"))) == 2


def test_what_is_known_of_a_function_that_works_stays_over_sessions() -> None:
    made = world()
    asked: list[int] = []

    def evaluate(task: Any, view: Any) -> Any:
        asked.append(len(view))
        return np.ones(len(view), dtype=np.int32)

    function = a_filter(evaluate)
    known = memory(made, lambda session: session.add_filter(function))
    cycle(made, known)
    before = len(asked)
    templates = known._signatures
    made.cluster.changed_jobs.add("ns/g0")
    cycle(made, known, "session-2")
    assert known._signatures is templates
    assert len(asked) <= 2 * before - 1


def test_the_refusals_of_a_filter_may_grow_and_its_own_come_first() -> None:
    made = world()
    texts: list[Refusal] = []

    def evaluate(task: Any, view: Any) -> Any:
        if not texts:
            texts.append(NO)
        return np.ones(len(view), dtype=np.int32)

    function = Filter(name="t", plugin="odd", refusals=texts, evaluate=evaluate, reads=(), effect=Effect.STATIC)
    known = memory(made, lambda session: session.add_filter(function))
    condition = cycle(made, known).outcome.jobs[0].condition
    assert condition is not None
    assert condition.message.endswith("0/2 nodes are unavailable: 2 no.")


@pytest.mark.parametrize("answer", [False, True, 3])
def test_a_predicate_that_answers_neither_none_nor_a_reason_fails(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    made = world()
    register: Callable[[Session], None] = lambda session: session.add_predicate("odd", lambda *_: answer)  # type: ignore[arg-type]  # noqa: E731  # what people write
    with caplog.at_level(logging.ERROR):
        assert binds(cycle(made, memory(made, register))) == []
    assert f"a predicate answered {answer!r}" in caplog.text


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"reads": ("requst",)}, "test reads 'requst'; known are request, pods, task"),
        ({"reads": ("spec.node_selectr",)}, "test reads 'spec.node_selectr'"),
        ({"reads": ("spec.affinity.node",)}, "test reads 'spec.affinity.node'"),
        ({"reads": ("spec.nodeSelector",)}, "in Python's spelling"),
        ({"effect": Effect.DOMAIN}, "effect on domains but no topology_key"),
    ],
)
def test_what_cannot_be_declared_is_refused(declared: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_declared(a_filter(**declared))


@pytest.mark.parametrize(
    "reads", [(), ("task",), ("request", "pods"), ("spec.affinity.node_affinity",), ("spec.tolerations", "labels")]
)
def test_what_can_be_declared_passes(reads: tuple[str, ...]) -> None:
    check_declared(a_filter(reads=reads))


def test_a_wrong_declaration_costs_the_plugin_and_not_the_cycle(caplog: pytest.LogCaptureFixture) -> None:
    made = world()
    known = memory(made, lambda session: session.add_score(a_score(fail, reads=("requst",))))
    with caplog.at_level(logging.ERROR):
        assert len(binds(cycle(made, known))) == 2
    assert "rating reads 'requst'" in caplog.text
    assert known.failures["odd", "on_session_open"] == 1


NONSENSE: dict[str, Callable[[Session], None]] = {
    "job order": lambda s: s.add_job_order("odd", lambda _a, _b: "x"),  # type: ignore[arg-type, return-value]
    "queue order": lambda s: s.add_queue_order("odd", lambda _a, _b: None),  # type: ignore[arg-type, return-value]
    "task order": lambda s: s.add_task_order("odd", lambda _a, _b: float("nan")),  # type: ignore[arg-type, return-value]
    "keys": lambda s: s.add_task_order("odd", key=lambda task: None if task.name.endswith("0") else "z"),
    "keys that throw": lambda s: s.add_job_order("odd", key=fail),
    "rating": lambda s: s.add_node_order("odd", lambda _t, _n: float("inf")),
    "no rating": lambda s: s.add_node_order("odd", lambda _t, _n: None),  # type: ignore[arg-type, return-value]
    "ratings": lambda s: s.add_batch_node_order("odd", lambda _t, _n: {"a": float("nan")}),
    "no ratings": lambda s: s.add_batch_node_order("odd", lambda _t, _n: None),  # type: ignore[arg-type, return-value]
    "unknown node": lambda s: s.add_best_node("odd", lambda _t, _n: "nowhere"),  # type: ignore[arg-type, return-value]
    "exit": lambda s: s.add_node_order("odd", lambda _t, _n: sys.exit(3)),
}
"""What a plugin may answer without harm to anybody: all of these jobs fit."""


@pytest.mark.parametrize("register", NONSENSE.values(), ids=NONSENSE.keys())
def test_an_answer_that_makes_no_sense_counts_as_a_failure(register: Callable[[Session], None]) -> None:
    made = world(jobs=3)
    memory = memory_of(made.cluster, CONFIGURATION, {"odd": registering(register)})
    assert len(binds(cycle(made, memory))) == 6
    assert not any(point == "action" for _, point in memory.failures)


def test_a_predicate_that_ends_the_process_refuses_the_node() -> None:
    made = world()
    plugin = registering(lambda session: session.add_predicate("odd", lambda _t, _n: sys.exit(3)))
    memory = memory_of(made.cluster, CONFIGURATION, {"odd": plugin})
    assert not binds(cycle(made, memory))
    assert memory.failures["odd", "predicate"]
