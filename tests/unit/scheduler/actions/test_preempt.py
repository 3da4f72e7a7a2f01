"""preempt: who is evicted for whom, that nobody is evicted in vain, and that the room stays with whom it was made for."""

from __future__ import annotations

from typing import Any

import pytest

from generated.core.v1 import Pod, PodCondition, PodStatus
from scheduler.plugin import Plugin
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, binds, prefer, require, shape
from tests.unit.scheduler.evictions import configured, evicted, gone, nominated, run, victim_job

CPU = 1000.0


def pod(cpu: float, **spec: Any) -> Any:
    return shape(cpu * CPU, 0.0, **spec)


def full(nodes: int = 1) -> World:
    """Nodes of 4 cpu, each full of one-cpu pods of a job of priority 0."""
    world = World()
    for number in range(nodes):
        world.node(f"n{number}")
    victim_job(world, "low", {f"n{number}": 4 for number in range(nodes)})
    return world


def test_a_job_of_higher_priority_gets_the_room_of_as_few_pods_as_will_do() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    result = run(world, configured("preempt", world=world))
    assert len(evicted(result)) == 2
    assert nominated(result) == {"high-w-0": "n0"}
    assert binds(result) == []


def test_the_pods_that_matter_least_go_first() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "lower", {"n0": 2}, priority=1)
    victim_job(world, "lowest", {"n0": 2}, priority=0)
    world.gang("high", [("w", 1, pod(3))], priority=10)
    assert evicted(run(world, configured("preempt", world=world))) == ["lowest-w-1", "lowest-w-0", "lower-w-1"]


def test_no_victim_too_many() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 1}, each=pod(1))
    victim_job(world, "big", {"n0": 1}, each=pod(3), priority=1)
    world.gang("high", [("w", 1, pod(3))], priority=10)
    assert evicted(run(world, configured("preempt", world=world))) == ["big-w-0"]


def test_nobody_is_evicted_where_a_node_has_room() -> None:
    world = full(2)
    world.node("z")
    # The gang needs two nodes' worth: one pod fits at once, the other at the cost of four.
    world.gang("high", [("w", 2, pod(4))], priority=10)
    result = run(world, configured("preempt", world=world))
    assert len(evicted(result)) == 4
    assert len({decision.task.node.name for decision in result.decisions if decision.task.node}) == 1
    assert list(nominated(result).values()) in (["n0"], ["n1"])


def test_a_gang_that_would_not_be_whole_evicts_nobody() -> None:
    world = full()
    world.gang("high", [("w", 2, pod(3))], priority=10)
    result = run(world, configured("preempt", world=world))
    assert evicted(result) == []
    assert {task.status for task in world.cluster.jobs["ns/low"].tasks.values()} == {Status.RUNNING}


@pytest.mark.parametrize(
    ("case", "victim", "preemptor"),
    [
        ("the victims say they are not preemptable", {"preemptable": False}, {}),
        ("the victims are of another queue", {"queue": "other"}, {}),
        ("the victims are of the same priority", {"priority": 10}, {}),
        ("the victims are already leaving", {"status": Status.UNKNOWN}, {}),
        ("the preemptor never preempts", {}, {"preemption_policy": "Never"}),
        ("the preemptor may not stand on the node", {}, {"affinity": require("disk", "ssd")}),
    ],
)
def test_nobody_is_evicted_when(case: str, victim: dict[str, Any], preemptor: dict[str, Any]) -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, **victim)
    world.gang("high", [("w", 1, pod(1, **preemptor))], priority=10)
    assert evicted(run(world, configured("preempt", world=world))) == [], case


def test_a_pod_that_is_bound_but_does_not_run_yet_may_go() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, status=Status.BOUND)
    world.gang("high", [("w", 1, pod(1))], priority=10)
    assert len(evicted(run(world, configured("preempt", world=world)))) == 1


def test_a_pod_that_asks_for_nothing_takes_nothing_from_those_that_do() -> None:
    world = World()
    world.node("n0", pods=4.0)
    victim_job(world, "low", {"n0": 4})
    world.gang("high", [("w", 1, pod(0))], minimum=1, priority=10)
    assert evicted(run(world, configured("preempt", world=world))) == []


def test_of_two_pods_on_a_full_node_the_one_that_asks_for_nothing_makes_way() -> None:
    world = World()
    world.node("n0", pods=2.0)
    victim_job(world, "low", {"n0": 1})
    victim_job(world, "idle", {"n0": 1}, each=pod(0), priority=1)
    world.gang("high", [("w", 1, pod(3))], priority=10)
    result = run(world, configured("preempt", world=world))
    assert evicted(result) in (["idle-w-0"], ["low-w-0"])


def test_the_second_node_is_tried_when_the_first_does_not_do() -> None:
    world = World()
    world.node("a")
    world.node("b", cpu=8000.0)
    victim_job(world, "low", {"a": 2, "b": 8})
    victim_job(world, "safe", {"a": 2}, preemptable=False)
    world.gang("high", [("w", 1, pod(4))], priority=10)
    result = run(world, configured("preempt", world=world))
    assert {task.node.name for task in (d.task for d in result.decisions) if task.node} == {"b"}
    assert len(evicted(result)) == 4


class Capped(Plugin):
    """The queue takes nothing more, whoever leaves."""

    name = "capped"

    def on_session_open(self, session: Any) -> None:
        session.add_allocatable(self.name, lambda queue, task: False)


def test_nobody_is_evicted_for_a_pod_that_its_queue_may_not_take() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(1))], priority=10)
    memory = configured("preempt", more="  - name: capped", plugins={"capped": Capped}, world=world)
    assert evicted(run(world, memory)) == []


class Apart(Plugin):
    """Refuses nodes on which a pod named like `keeper` stands: evicting others doesn't help."""

    name = "apart"

    def on_session_open(self, session: Any) -> None:
        from scheduler.contract.effects import Code, Refusal  # noqa: PLC0415  # only here

        def refuse(task: Any, node: Any) -> Any:
            there = (other for other in node.tasks.values() if other.status is not Status.RELEASING)
            if any(other.job == "ns/keeper" for other in there) and task.job == "ns/high":
                return Refusal(Code.UNSCHEDULABLE, "apart")
            return None

        session.add_predicate(self.name, refuse)


def test_filters_are_asked_in_the_state_after_the_eviction() -> None:
    world = World()
    for name in ("a", "b"):
        world.node(name)
    victim_job(world, "low", {"a": 3, "b": 4})
    victim_job(world, "keeper", {"a": 1}, preemptable=False)
    world.gang("high", [("w", 1, pod(1))], priority=10)
    memory = configured("preempt", more="  - name: apart", plugins={"apart": Apart}, world=world)
    result = run(world, memory)
    assert nominated(result) == {"high-w-0": "b"}
    assert len(evicted(result)) == 1


def test_a_pod_whose_leaving_a_filter_waits_for_goes_although_resources_would_do_without() -> None:
    world = World()
    world.node("a")
    victim_job(world, "low", {"a": 3}, priority=0)
    victim_job(world, "keeper", {"a": 1}, priority=1)
    world.gang("high", [("w", 1, pod(1))], priority=10)
    memory = configured("preempt", more="  - name: apart", plugins={"apart": Apart}, world=world)
    assert evicted(run(world, memory)) == ["keeper-w-0"]


def test_two_queues_with_a_starving_job_each_are_both_served() -> None:
    world = World()
    for name in ("a", "b"):
        world.node(name, labels={"for": name})
        victim_job(world, f"low-{name}", {name: 4}, queue=name)
        selecting = pod(1, node_selector={"for": name})
        world.gang(f"high-{name}", [("w", 1, selecting)], priority=10, queue=name)
    assert len(evicted(run(world, configured("preempt", world=world)))) == 2


def test_within_a_job_a_task_takes_the_room_of_one_of_less_priority() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "job", {"n0": 4}, minimum=4, task_priority=lambda ordinal: ordinal)
    world.cluster.add_task(
        Task(uid="uid-chief", namespace="ns", name="chief", job="ns/job", shape=pod(1), role="w", priority=9)
    )
    world.cluster.jobs["ns/job"].min_available = 4
    text = configured("preempt", world=world)
    result = run(world, text)
    assert evicted(result) == []  # the gang is whole, so it doesn't starve
    world.cluster.jobs["ns/job"].min_available = 5
    world.cluster.changed_jobs.add("ns/job")
    assert evicted(run(world, text)) == []  # and with five needed, four and one for one is no gain


def test_the_room_is_kept_until_the_victims_are_gone_and_then_taken() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    memory = configured("preempt", world=world)
    first = run(world, memory)
    second = run(world, memory)
    assert evicted(second) == []
    gone(world, first)
    world.gang("thief", [("w", 2, pod(1))], priority=10)
    world.cluster.jobs["ns/thief"].created = -1.0
    third = run(world, memory)
    assert ("high-w-0", "n0") in binds(third)
    assert not any(name.startswith("thief") for name, _ in binds(third))
    assert "uid-high-w-0" not in memory.nominations.by_task


def test_a_beneficiary_that_is_deleted_before_it_binds_is_reported() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    memory = configured("preempt", world=world)
    run(world, memory)
    world.cluster.remove_task("uid-high-w-0")
    (lapse,) = run(world, memory).outcome.lapses
    assert lapse.job == "ns/high"
    assert str(lapse) == (
        "Evicted ns/low-w-3, ns/low-w-2 (preempt) for ns/high-w-0, which did not get the room: the pod is gone"
    )


def test_a_node_that_is_lost_gives_its_nomination_up_with_the_reason() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    memory = configured("preempt", world=world)
    run(world, memory)
    world.cluster.remove_node("n0")
    (lapse,) = run(world, memory).outcome.lapses
    assert lapse.why == "node n0 is gone"


def test_room_that_nobody_comes_for_is_not_kept_for_ever() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    memory = configured("preempt", world=world)
    gone(world, run(world, memory))
    world.cluster.jobs["ns/high"].phase = "Pending"
    world.cluster.jobs["ns/high"].pod_group = None
    assert run(world, memory, 1000.0).outcome.lapses == ()
    (lapse,) = run(world, memory, 1060.0).outcome.lapses
    assert lapse.why == "its job was not in turn for 60 s after node n0 had room"


@pytest.mark.parametrize("mode", ["true", "false"])
def test_a_gang_over_many_nodes_is_served_whole(mode: str) -> None:
    world = full(5)
    world.gang("high", [("w", 10, pod(2))], priority=10)
    more = f"configurations:\n- name: preempt\n  arguments: {{enableTopologyAwarePreemption: {mode}}}"
    result = run(world, configured("preempt", more=more, world=world))
    assert len(evicted(result)) == 20
    assert len(nominated(result)) == 10


def test_memory_counts_like_cpu() -> None:
    world = World()
    world.node("n0", memory=4 * GIB)
    victim_job(world, "low", {"n0": 2}, each=shape(100.0, 2 * GIB))
    world.gang("high", [("w", 1, shape(100.0, GIB))], priority=10)
    assert len(evicted(run(world, configured("preempt", world=world)))) == 1


def leaving(name: str, priority: int, *, preempted: bool = True) -> Task:
    """A pod of node n0 that is being deleted."""
    condition = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    raw = Pod(status=PodStatus(conditions=(condition,) if preempted else ()))
    return Task(
        uid=f"uid-{name}", namespace="ns", name=name, job="ns/old", shape=pod(1, priority=priority), pod=raw,
        status=Status.RELEASING,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("case", "old", "count"),
    [
        ("a pod of less priority leaves by preemption: wait for it", leaving("old", 1), 0),
        ("a pod of more priority leaves: no room for us", leaving("old", 100), 2),
        ("a pod leaves for another reason", leaving("old", 1, preempted=False), 2),
    ],
)
def test_who_waits_for_earlier_victims_evicts_no_more(case: str, old: Task, count: int) -> None:
    world = World()
    world.node("n0")
    world.node("n1")
    victim_job(world, "low", {"n0": 3, "n1": 4})
    world.gang("old", [], minimum=0, phase="Running")
    world.cluster.add_task(old, "n0")
    world.gang("high", [("w", 1, pod(2, priority=10))], priority=10)
    world.cluster.tasks["uid-high-w-0"].nominated = "n0"
    assert len(evicted(run(world, configured("preempt", world=world)))) in {count, max(0, count - 1)}, case


def test_the_node_named_for_a_pod_is_taken_when_it_has_room_by_now() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.node(name)
    victim_job(world, "low", {"a": 2, "b": 2, "c": 4})
    world.gang("high", [("w", 3, pod(2))], priority=10)
    world.cluster.tasks["uid-high-w-0"].nominated = "b"
    result = run(world, configured("preempt", world=world))
    assert len(evicted(result)) == 2
    assert nominated(result)["high-w-0"] == "b"


def test_of_nodes_that_would_do_the_best_scored_is_cleared() -> None:
    world = World()
    for name, zone in (("a", "x"), ("b", "y"), ("c", "x")):
        world.node(name, labels={"zone": zone})
    victim_job(world, "low", {"a": 4, "b": 4, "c": 4})
    world.gang("high", [("w", 1, pod(2, affinity=prefer(100, "zone", "y")))], priority=10)
    assert nominated(run(world, configured("preempt", world=world))) == {"high-w-0": "b"}


def test_identical_pods_of_a_job_share_the_search_that_finds_nothing() -> None:
    world = full(3)
    asked: list[str] = []

    class Counting(Plugin):
        name = "lower"

        def on_session_open(self, session: Any) -> None:
            def refuse(preemptor: Any, candidates: Any) -> list[Any]:
                asked.append(preemptor.name)
                return []

            session.add_preemptable(self.name, refuse)

    world.gang("high", [("w", 3, pod(2))], priority=10)
    run(world, configured("preempt", plugins={"lower": Counting}, world=world))
    assert asked == ["high-w-0"] * 3


def test_the_figures_of_the_action_are_told() -> None:
    world = full()
    world.gang("high", [("w", 1, pod(2))], priority=10)
    gauges = run(world, configured("preempt", world=world)).gauges
    assert gauges.counts["eviction_transactions_total", ("preempt",)] == 1.0
    assert gauges.counts["total_preemption_attempts", ()] == 1.0
    assert gauges.values["pod_preemption_victims", ()] == 4.0
