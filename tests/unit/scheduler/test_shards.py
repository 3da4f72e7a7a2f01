"""Nodes divided among schedulers by NodeShard objects (scheduler.md 16)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generated.shard.v1alpha1 import NodeShard
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cache.facts import Facts
from scheduler.contract.decisions import Evict
from scheduler.cycle import Result, run_cycle
from scheduler.dump.files import read
from scheduler.dump.record import decisions_of
from scheduler.dump.replay import replay
from scheduler.dump.taking import Taking
from scheduler.loop import Scheduler
from scheduler.memory import Memory
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.settings.loading import built_in
from scheduler.shards import Mode, Shards, ShardStatus, mode_of, shards_of
from scheduler.state.cluster import Cluster
from scheduler.state.status import Status
from tests.unit.scheduler.build import FIVE_PLUGINS, World, binds, memory_of, random_world, shape
from tests.unit.scheduler.cache.test_facts import facts, group, pod
from tests.unit.scheduler.plugins.questions import tiers
from tests.unit.scheduler.test_loop import loaded

OUTSIDE = "node isn't in scheduler node shard"
PREEMPT = tiers("priority; gang", "predicates; nodeorder", actions="allocate, preempt")


def shard(name: str, desired: str = "", in_use: str = "", **status: Any) -> NodeShard:
    """Nodes are given in words, separated by spaces."""
    return msgspec.convert({
        "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"nodesDesired": desired.split()},
        "status": {"nodesInUse": in_use.split(), **status},
    }, NodeShard)  # fmt: skip


def status(in_use: str, to_add: str = "", to_remove: str = "") -> ShardStatus:
    return ShardStatus(*(frozenset(words.split()) for words in (in_use, to_add, to_remove)))


class Bench:
    """The shards of a scheduler called `mine`, and what it was to write."""

    def __init__(self, mode: Mode = Mode.HARD, cluster: Cluster | None = None) -> None:
        self.cluster = cluster or Cluster()
        self.told: list[ShardStatus | None] = []
        self.shards = Shards(self.cluster, mode, "mine", self.told.append)
        self.objects: dict[str, NodeShard] = {}

    def see(self, *objects: NodeShard) -> None:
        for obj in objects:
            self.shards.apply(self.objects.get(obj.metadata.name), obj)
            self.objects[obj.metadata.name] = obj
        self.shards.report()

    def lose(self, name: str) -> None:
        self.shards.apply(self.objects.pop(name), None)
        self.shards.report()


@pytest.mark.parametrize(
    ("text", "mode"),
    [("none", Mode.NONE), ("hard", Mode.HARD), ("soft", Mode.SOFT), ("Hard", Mode.NONE), ("", Mode.NONE)],
)
def test_an_unknown_mode_ignores_shards_with_a_word(text: str, mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert mode_of(text) is mode
        assert (shards_of(Cluster(), text, "mine", lambda _: None) is None) is (mode is Mode.NONE)
    assert ("--scheduler-sharding-mode" in caplog.text) is (text not in {"none", "hard", "soft"})


@pytest.mark.parametrize(
    ("own", "others", "nodes", "expected"),
    [
        (shard("mine", "a b c"), [], "a b c", status("a b c")),
        (shard("mine", "a b c"), [shard("other", "b", "b x")], "a c", status("a c", to_add="b")),
        (shard("mine", "a b"), [shard("o", "a b c", "")], "a b", status("a b")),
        (shard("mine", "a b c"), [shard("o", "", "a"), shard("p", "", "b c")], "", status("", to_add="a b c")),
        (shard("mine", "", "a"), [], "", status("")),
        (shard("mine", "a b", "x"), [], "a b", status("a b")),
    ],
)
def test_a_shard_has_what_it_desires_less_what_others_still_use(
    own: NodeShard, others: list[NodeShard], nodes: str, expected: ShardStatus
) -> None:
    bench = Bench()
    bench.see(own, *others)
    assert bench.shards.nodes == frozenset(nodes.split())
    assert bench.told[-1] == expected


def test_a_node_comes_when_the_other_gives_it_up_or_its_shard_goes() -> None:
    bench = Bench()
    bench.see(shard("other", "", "a"), shard("third", "", "b"), shard("mine", "a b"))
    assert bench.shards.nodes == frozenset()
    bench.see(shard("other", "", ""))
    assert bench.shards.nodes == {"a"}
    bench.lose("third")
    assert bench.shards.nodes == {"a", "b"}
    assert bench.told[-1] == status("a b")


def test_without_its_shard_a_scheduler_complains_and_keeps_what_it_had(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.see(shard("other", "", "b"))
    assert (bench.shards.nodes, bench.told, caplog.text) == (frozenset(), [], "")
    for _ in range(2):
        bench.shards.settle()
    assert caplog.text.count("nodeshard=mine") == 1
    caplog.clear()
    bench.see(shard("mine", "a"))
    bench.shards.settle()
    assert caplog.text == ""
    bench.lose("mine")
    bench.shards.settle()
    assert bench.shards.nodes == {"a"}
    assert "nodeshard=mine nodes=1" in caplog.text


def test_a_scheduler_that_never_had_a_shard_complains_too(caplog: pytest.LogCaptureFixture) -> None:
    Bench().shards.settle()
    assert "nodeshard=mine nodes=0" in caplog.text


def test_nothing_is_written_that_the_server_has_whatever_its_order() -> None:
    bench = Bench()
    bench.see(shard("mine", "a b", "b a"))
    assert bench.told == [None]
    bench.see(shard("other", "", "x"))
    assert bench.told == [None]
    bench.see(shard("mine", "a b", "a"))
    assert bench.told[1:] == [status("a b")]


def test_a_node_given_up_stays_in_use_until_the_last_bind_to_it_has_arrived() -> None:
    world = World()
    world.node("a")
    bench = Bench(cluster=world.cluster)
    bench.see(shard("mine", "a b"))
    world.member("j", "p", "a", shape(), Status.BINDING)
    bench.see(shard("mine", "b"))
    assert bench.shards.nodes == {"b"}
    assert bench.told[-1] == status("a b", to_remove="a")
    world.cluster.remove_task("uid-p")
    world.member("j", "p", "a", shape(), Status.BOUND)
    bench.shards.report()
    assert bench.told[-1] == status("b")


# In a cycle.


def run(world: World, mode: Mode, nodes: Iterable[str], text: str = FIVE_PLUGINS) -> tuple[Memory, Result]:
    memory = memory_of(world.cluster, text)
    memory.shards = Shards(world.cluster, mode, "mine", nodes=nodes)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0)
    assert not memory.failures
    return memory, result


def test_hard_no_pod_goes_outside_and_the_job_says_so() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.node(name, cpu=2000.0)
    world.gang("j", [("w", 5, shape())], minimum=1)
    _, result = run(world, Mode.HARD, ["b", "c"])
    assert {node for _, node in binds(result)} == {"b", "c"}
    assert len(binds(result)) == 4
    (told,) = result.outcome.tasks
    assert told.message == f"0/3 nodes are unavailable: 1 {OUTSIDE}, 2 Insufficient cpu."


def test_hard_without_a_shard_nothing_is_scheduled() -> None:
    world = World()
    world.node("a")
    world.gang("j", [("w", 1, shape()), ("free", 1, shape(0, 0))], minimum=1)
    _, result = run(world, Mode.HARD, [])
    assert binds(result) == []
    assert {task.message for task in result.outcome.tasks} == {f"0/1 nodes are unavailable: 1 {OUTSIDE}."}


def test_a_shard_that_changes_counts_from_the_next_cycle_on() -> None:
    world = World()
    for name in ("a", "b"):
        world.node(name)
    memory, _ = run(world, Mode.HARD, ["a"])
    assert memory.shards is not None
    for number, (desired, expected) in enumerate([("b", "b"), ("a", "a"), ("b", "b")]):
        memory.shards.apply(None, shard("mine", desired))
        world.gang(f"j{number}", [("w", 1, shape())])
        result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0)
        assert [node for _, node in binds(result)] == [expected]


def test_a_node_that_comes_takes_its_place_in_the_shard() -> None:
    world = World()
    world.node("b")
    memory, _ = run(world, Mode.HARD, ["a", "c"])
    for name in ("a", "c"):
        world.node(name)
    world.gang("j", [("w", 8, shape(cpu=1000.0))])
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0)
    assert sorted(node for _, node in binds(result)) == ["a"] * 4 + ["c"] * 4


def test_soft_nodes_of_the_shard_come_first_whatever_their_score() -> None:
    world = World()
    world.node("a", cpu=2000.0)
    world.node("b", cpu=64000.0)
    world.node("c", cpu=2000.0)
    world.gang("j", [("w", 6, shape())])
    world.gang("free", [("w", 1, shape(0, 0))])
    _, result = run(world, Mode.SOFT, ["a", "c"])
    assert [node for _, node in binds(result)][:6] in (["a", "c"] * 2 + ["b"] * 2, ["a", "a", "c", "c", "b", "b"])
    assert dict(binds(result))["free-w-0"] in {"a", "c"}


def test_soft_room_now_on_any_node_comes_before_room_to_be_released_in_the_shard() -> None:
    world = World()
    world.node("a", cpu=1000.0)
    world.node("b", cpu=1000.0)
    world.running("leaving", "a", shape(), Status.RELEASING)
    world.gang("j", [("w", 1, shape())])
    _, result = run(world, Mode.SOFT, ["a"])
    assert binds(result) == [("j-w-0", "b")]


@pytest.mark.parametrize(
    ("mode", "nodes", "victims"),
    [(Mode.HARD, "b", ["low-b"]), (Mode.SOFT, "b", ["low-b"]), (Mode.SOFT, "a", ["low-a"]), (Mode.HARD, "", [])],
)
@pytest.mark.parametrize("simulates", [False, True])
def test_evictions_are_made_in_the_shard_first_or_only(
    mode: Mode, nodes: str, victims: list[str], simulates: bool
) -> None:
    world = World()
    world.gang("low", [], minimum=0, phase="Running")
    for name in ("a", "b"):
        world.node(name, cpu=1000.0)
        world.member("low", f"low-{name}", name, shape())
    world.gang("high", [("w", 1, shape())], priority=100)
    text = PREEMPT
    if simulates:
        text += "\nconfigurations: [{name: preempt, arguments: {enableTopologyAwarePreemption: true}}]"
    _, result = run(world, mode, nodes.split(), text)
    assert [decision.task.name for decision in result.decisions if isinstance(decision, Evict)] == victims


class OneByOne(Plugin):
    """Has each task asked about by itself."""

    name = "one-by-one"

    def on_session_open(self, session: Session) -> None:
        session.add_pre_predicate(self.name, lambda _: None)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(Mode)), st.sets(st.integers(0, 23)))
def test_placing_runs_gives_the_outcome_of_one_task_after_the_other(seed: int, mode: Mode, numbers: set[int]) -> None:
    found = []
    nodes = [f"node-{number:02d}" for number in numbers]
    fair = FIVE_PLUGINS + "  - name: drf\n"
    for text in (fair, fair + "  - name: one-by-one\n"):
        world = random_world(seed)
        memory = memory_of(world.cluster, text, {OneByOne.name: OneByOne})
        memory.shards = Shards(world.cluster, mode, "mine", nodes=nodes) if mode is not Mode.NONE else None
        found.append(binds(run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0)))
    assert found[0] == found[1]
    if mode is Mode.HARD:
        assert {node for _, node in found[0]} <= set(nodes)


def test_jobs_that_take_turns_go_to_the_shard_first_too() -> None:
    world = World()
    world.node("a", cpu=64000.0)
    world.node("b", cpu=16000.0)
    for number in range(4):
        world.gang(f"j{number}", [("w", 15, shape(memory=0.0))], minimum=1)
    fair = tiers("gang; drf", "predicates; nodeorder", actions="allocate")
    for job in world.cluster.jobs.values():
        job.phase = "Inqueue"
    _, result = run(world, Mode.SOFT, ["b"], fair)
    assert [node for _, node in binds(result)] == ["b"] * 16 + ["a"] * 44


@pytest.mark.parametrize("mode", [Mode.HARD, Mode.SOFT])
def test_a_dump_knows_the_shard(tmp_path: Path, mode: Mode) -> None:
    world = random_world(7)
    memory = memory_of(world.cluster)
    memory.shards = Shards(world.cluster, mode, "mine", nodes=["node-00", "node-03"])
    taking = Taking(world.cluster, memory, uid="s", now=1000.0, configuration=FIVE_PLUGINS)
    result = run_cycle(world.cluster, memory, ACTIONS, uid="s", now=1000.0)
    path = tmp_path / "snapshot.json"
    path.write_bytes(taking.finish(Budget.replayed(None), result))
    assert decisions_of(replay(read(path), built_in())) == decisions_of(result)
    plain = random_world(7)
    assert binds(result) != binds(run_cycle(plain.cluster, memory_of(plain.cluster), ACTIONS, uid="s", now=1000.0))


def test_the_scheduler_follows_shards_between_its_cycles() -> None:
    cluster = facts().cluster
    told: list[ShardStatus | None] = []
    shards = Shards(cluster, Mode.HARD, "mine", told.append)
    keeper = Facts(cluster, scheduler_names=("volcano",), default_queue="default", shards=shards)
    results: list[Result] = []
    scheduler = Scheduler(keeper, loaded(), results.append, period=0.01, shards=shards)
    for change in (("PodGroup", None, group(minMember=1)), ("Pod", None, pod())):
        scheduler.push(change)
    scheduler.drain()
    scheduler.cycle()
    assert results[0].decisions == ()
    scheduler.push(("NodeShard", None, shard("mine", "n1")))
    scheduler.drain()
    assert told == [status("n1")]
    scheduler.cycle()
    assert binds(results[1]) == [("g-w-0", "n1")]
