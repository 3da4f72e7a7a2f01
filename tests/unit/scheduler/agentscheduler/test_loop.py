"""Turns of the fast path: where pods go, what they hear, and when they are tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import generate_latest

from generated.core.v1 import Pod
from runtime.metrics import REGISTRY
from scheduler.agentscheduler.queue import Place
from scheduler.budget import Budget
from scheduler.placing.sampling import Sampling
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.shards import Mode
from tests.unit.scheduler.agentscheduler.bench import Bench, loaded, on, own_pod
from tests.unit.scheduler.cache.test_facts import node
from tests.unit.scheduler.test_shards import shard

FULL = "0/1 nodes are unavailable: 1 Insufficient cpu."


def test_a_pod_goes_to_a_node_without_a_group_or_a_queue() -> None:
    bench = Bench("n1")
    bench.pod(own_pod("a"))
    assert bench.turn() == [("a", "n1")]
    assert bench.turn() == []
    assert bench.place("a") is Place.IN_FLIGHT
    bench.pod(on(own_pod("a"), "n1"))
    assert bench.place("a") is None


def test_pods_of_others_and_gated_ones_are_left_alone() -> None:
    bench = Bench("n1")
    bench.pod(own_pod("foreign", spec={"schedulerName": "volcano"}))
    bench.pod(own_pod("gated", spec={"schedulingGates": [{"name": "wait"}]}))
    bench.pod(own_pod("leaving", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert bench.turn() == []
    assert bench.results == []
    bench.pod(own_pod("gated"))
    assert bench.turn() == [("gated", "n1")]


def test_what_others_hold_counts_and_equal_pods_are_spread_by_score() -> None:
    bench = Bench("n1", "n2")
    bench.pod(on(own_pod("there", cpu="3", spec={"schedulerName": "other"}), "n1", "Running"))
    for number in range(6):
        bench.pod(own_pod(f"a-{number}"))
    found = bench.turn()
    assert [name for name, _ in found] == [f"a-{number}" for number in range(5)]
    assert sorted(place for _, place in found) == ["n1"] + ["n2"] * 4
    assert bench.messages() == {"a-5": "0/2 nodes are unavailable: 2 Insufficient cpu."}


def test_higher_priority_is_served_first() -> None:
    bench = Bench("n1")
    bench.pod(own_pod("low", cpu="3"))
    bench.pod(own_pod("high", cpu="3", spec={"priority": 10}))
    bench.pod(own_pod("raised", cpu="3", metadata={"annotations": {"volcano.sh/scheduling-priority": "1"}}))
    bench.pod(own_pod("odd", cpu="3", metadata={"annotations": {"volcano.sh/scheduling-priority": "much"}}))
    assert bench.turn() == [("raised", "n1")]
    assert list(bench.messages()) == ["high", "low", "odd"]


def test_room_that_is_still_being_released_is_no_room() -> None:
    bench = Bench("n1")
    bench.pod(on(own_pod("old", cpu="4", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "n1", "Running"))
    bench.pod(own_pod("a"))
    assert bench.turn() == []
    assert bench.messages() == {"a": FULL}
    bench.lose("old")
    bench.now += 1.0
    assert bench.turn() == [("a", "n1")]


def test_a_bind_that_failed_frees_the_room_for_others_and_the_pod_pauses() -> None:
    bench = Bench("n1")
    bench.pod(own_pod("a", cpu="4"))
    bench.pod(own_pod("b", cpu="4"))
    assert bench.turn() == [("a", "n1")]
    bench.now += 5.0
    bench.scheduler.unbound("uid-a")
    bench.scheduler.drain()
    assert (bench.place("a"), bench.place("b")) == (Place.BACKOFF, Place.ACTIVE)
    assert bench.turn() == [("b", "n1")]
    bench.now += 1.0
    assert bench.turn() == []
    assert bench.messages() == {"a": FULL}


@pytest.mark.parametrize(("named", "expected"), [("n2", "n2"), ("gone", "n1"), ("full", "n1"), ("", "n1")])
def test_a_nominated_node_comes_first_if_it_will_do(named: str, expected: str) -> None:
    bench = Bench("full", "n1", "n2")
    bench.pod(on(own_pod("there", cpu="4"), "full", "Running"))
    bench.pod(on(own_pod("more", cpu="1"), "n2", "Running"))
    bench.pod(own_pod("a", status={"nominatedNodeName": named}))
    assert bench.turn() == [("a", expected)]


class Choosy(Plugin):
    """Refuses placements on the nodes that the class names."""

    name = "choosy"
    refuses: tuple[str, ...] = ()
    before = ""

    def on_session_open(self, session: Session) -> None:
        refuses = self.refuses
        session.add_event_handler(
            self.name, allocate=lambda task, node: f"not {task.name}" if node.name in refuses else None
        )
        if self.before:
            session.add_pre_predicate(self.name, lambda _: self.before)


def with_choosy(refuses: tuple[str, ...] = (), before: str = "", candidates: int | None = None) -> Any:
    text = "actions: allocate\ntiers: [{plugins: [{name: predicates}, {name: nodeorder}, {name: choosy}]}]\n"
    if candidates is not None:
        text += f"configurations: [{{name: allocate, arguments: {{candidateNodeCount: {candidates}}}}}]\n"
    return loaded(text, {"choosy": type("Choosy", (Choosy,), {"refuses": refuses, "before": before})})


def test_a_pod_that_may_go_nowhere_hears_why_in_the_known_words() -> None:
    bench = Bench("n1", found=with_choosy(before="no claim"))
    bench.pod(own_pod("a"))
    assert bench.turn() == []
    assert bench.messages() == {"a": "pre-predicate failed for task ns/a: no claim"}


@pytest.mark.parametrize(("candidates", "expected"), [(None, "n3"), (3, "n3"), (2, ""), (1, ""), (0, ""), (-4, "")])
def test_so_many_of_the_best_nodes_are_tried_as_the_argument_says_one_at_least(
    candidates: int | None, expected: str
) -> None:
    bench = Bench("n1", "n2", "n3", found=with_choosy(("n1", "n2"), candidates=candidates))
    bench.pod(own_pod("a"))
    assert bench.turn() == ([("a", expected)] if expected else [])
    assert bench.place("a") is (Place.IN_FLIGHT if expected else Place.ACTIVE)


def test_a_refused_pod_is_tried_again_at_once_and_then_pauses_instead_of_spinning() -> None:
    bench = Bench("n1", found=with_choosy(("n1",)))
    for number in range(3):
        bench.pod(own_pod(f"a-{number}"))
    for place in (Place.ACTIVE, Place.BACKOFF):
        assert bench.turn() == []
        assert {bench.place(f"a-{number}") for number in range(3)} == {place}
    assert bench.scheduler._pause() == pytest.approx(2.0)
    assert bench.results[-1].outcome.tasks == ()


def test_a_reload_counts_from_the_next_turn_on() -> None:
    bench = Bench("n1", found=with_choosy(before="not yet"))
    bench.pod(own_pod("a"))
    assert bench.turn() == []
    bench.scheduler.configure(loaded())
    bench.scheduler.drain()
    bench.pod(own_pod("b"))
    assert bench.turn() == [("b", "n1")]


def test_without_nodes_a_pod_rests_and_nothing_spins() -> None:
    bench = Bench()
    bench.pod(own_pod("a"))
    assert bench.turn() == []
    assert bench.messages() == {"a": "0/0 nodes are unavailable"}
    assert bench.place("a") is Place.UNSCHEDULABLE
    assert bench.scheduler._pause() == 60.0


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(Mode.NONE, {"n1", "n2"}), (Mode.HARD, {"n2"}), (Mode.SOFT, {"n2"})],
)
def test_shards_mean_what_they_mean_to_the_scheduler(mode: Mode, expected: set[str]) -> None:
    bench = Bench("n1", "n2", mode=mode)
    bench.see("NodeShard", None, shard("mine", "n2"))
    for number in range(4):
        bench.pod(own_pod(f"a-{number}"))
    assert {place for _, place in bench.turn()} == expected
    bench.pod(own_pod("late", cpu="4"))
    late = bench.turn()
    assert [place for _, place in late] == (["n1"] if mode is Mode.SOFT else [])
    if mode is Mode.HARD:
        assert bench.messages()["late"] == (
            "0/2 nodes are unavailable: 1 Insufficient cpu, 1 node isn't in scheduler node shard."
        )


def test_a_shard_that_grows_wakes_the_pods_that_rest() -> None:
    bench = Bench("n1", mode=Mode.HARD)
    bench.pod(own_pod("a"))
    assert bench.turn() == []
    bench.now += 5.0
    bench.see("NodeShard", None, shard("mine", "n1"))
    assert bench.turn() == [("a", "n1")]


# What ends a rest.


def changed_node(**status: Any) -> tuple[Any, Any]:
    return node("n1"), node("n1", **status)


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        (("Node", None, node("n2")), True),
        (("Node", *changed_node(cpu="8")), True),
        (("Node", *changed_node()), False),
        (("Node", node("n1"), None), True),
        (("Pod", on(own_pod("there"), "n1", "Running"), None), True),
        (("Pod", on(own_pod("there"), "n1", "Running"), on(own_pod("there"), "n1", "Succeeded")), True),
        (("Pod", on(own_pod("there"), "n1", "Succeeded"), None), False),
        (("Pod", None, on(own_pod("there"), "n1")), False),
        (("Pod", on(own_pod("there", cpu="3"), "n1"), on(own_pod("there", cpu="2"), "n1")), True),
        (("Pod", None, own_pod("other")), False),
        (("Pod", own_pod("other"), None), False),
    ],
)
def test_a_pod_that_found_no_node_waits_for_news_that_may_help(change: tuple[str, Any, Any], wakes: bool) -> None:
    bench = Bench("n1")
    bench.pod(own_pod("a", cpu="100"))
    assert bench.turn() == []
    bench.now += 5.0
    bench.see(*change)
    assert (bench.place("a") is Place.ACTIVE) is wakes


@pytest.mark.parametrize(("label", "wakes"), [("db", True), ("web", False)])
def test_a_pod_that_comes_wakes_those_that_want_to_be_near_it(label: str, wakes: bool) -> None:
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}},
    ]}}  # fmt: skip
    bench = Bench()
    bench.see("Node", None, msgspec.convert(
        {"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
         "status": {"allocatable": {"cpu": "4", "pods": "10"}}}, type(node())
    ))  # fmt: skip
    bench.pod(own_pod("a", spec={"affinity": near}))
    assert bench.turn() == []
    bench.now += 5.0
    bench.pod(on(own_pod("there", metadata={"labels": {"app": label}}), "n1"))
    assert bench.turn() == ([("a", "n1")] if wakes else [])


def test_only_a_change_beside_its_status_ends_a_pods_own_rest() -> None:
    bench = Bench("n1")
    first = own_pod("a", spec={"nodeSelector": {"no": "such"}})
    bench.pod(first)
    assert bench.turn() == []
    bench.now += 5.0
    told = msgspec.convert({**msgspec.to_builtins(first), "status": {"phase": "Pending", "message": "told"}}, Pod)
    bench.pod(told)
    assert bench.place("a") is Place.UNSCHEDULABLE
    bench.pod(own_pod("a"))
    assert bench.turn() == [("a", "n1")]


def test_a_pod_made_anew_under_its_name_is_another_one() -> None:
    bench = Bench()
    bench.pod(own_pod("a"))
    bench.pod(own_pod("a", metadata={"uid": "second"}))
    bench.see("Node", None, node("n1"))
    assert bench.place("a") is None
    assert bench.turn() == [("a", "n1")]
    assert bench.facts.queue.place_of("second") is Place.IN_FLIGHT


# Turns.


def test_a_turn_takes_so_many_pods_for_each_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.agentscheduler.loop.PODS_A_WORKER", 1)
    bench = Bench("n1", workers=2)
    for number in range(3):
        bench.pod(own_pod(f"a-{number}"))
    assert [len(bench.turn()) for _ in range(3)] == [2, 1, 0]


def test_what_the_time_did_not_suffice_for_is_decided_in_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "of_seconds", lambda *_: Budget.replayed(2))
    bench = Bench("n1")
    for number, cpu in enumerate(("1", "500m", "250m")):
        bench.pod(own_pod(f"a-{number}", cpu=cpu))
    assert [[name for name, _ in bench.turn()] for _ in range(4)] == [["a-0"], ["a-1"], ["a-2"], []]


def test_a_pod_at_which_the_turn_breaks_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench("n1")
    bench.pod(own_pod("bad", cpu="1"))
    bench.pod(own_pod("good", cpu="2"))
    template = Session.template

    def broken(session: Session, task: Any) -> Any:
        if task.name == "bad":
            raise RuntimeError("odd pod")
        return template(session, task)

    monkeypatch.setattr(Session, "template", broken)
    assert bench.scheduler.cycle() is not None
    assert bench.place("bad") is Place.UNSCHEDULABLE
    result = bench.scheduler.cycle()
    assert result is not None
    assert [decision.task.name for decision in result.decisions] == ["good"]


def test_a_cut_search_still_finds_a_node() -> None:
    bench = Bench(*(f"n{number}" for number in range(8)), sampling=Sampling(25, 2))
    for number in range(6):
        bench.pod(own_pod(f"a-{number}"))
    assert len(bench.turn()) == 6


def test_dumps_can_be_had_also_when_no_pod_waits(tmp_path: Path) -> None:
    kept: list[bytes] = []
    bench = Bench("n1", keep=kept.append)
    assert bench.turn() == []
    bench.scheduler.dump()
    assert bench.turn() == []
    assert len(kept) == 1
    assert b'"n1"' in kept[0]


def test_both_metrics_of_the_fast_path_are_told() -> None:
    def count(name: str) -> float:
        return float(REGISTRY.get_sample_value(f"{name}_count") or 0)

    names = "volcano_worker_scheduling_cycle_duration_milliseconds", "volcano_update_snapshot_duration_milliseconds"
    before = [count(name) for name in names]
    bench = Bench("n1")
    for number in range(3):
        bench.pod(own_pod(f"a-{number}"))
    bench.turn()
    assert [count(name) - old for name, old in zip(names, before, strict=True)] == [3.0, 1.0]
    text = generate_latest(REGISTRY).decode()
    assert f'{names[0]}_bucket{{le="81920.0"}}' in text
    assert f'{names[1]}_bucket{{le="5.0"}}' in text
