"""gangpreempt and gangreclaim: whole gangs for whole gangs, in one domain, and nobody who needn't."""

from __future__ import annotations

from typing import Any

import pytest

from api import names
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup, PodGroupSpec
from generated.topology.v1alpha1 import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec
from scheduler.contract.contexts import Kind, Purpose
from scheduler.plugin import Plugin
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, shape
from tests.unit.scheduler.evictions import configured, evicted, gone, nominated, reasons, run, victim_job


def pod(cpu: float, **spec: Any) -> Any:
    return shape(cpu * 1000.0, 0.0, **spec)


class Tiers(Plugin):
    """Gradients without conditions: all hypernodes up to the job's tier, widest first for evictions."""

    name = "tiers"

    def on_session_open(self, session: Any) -> None:
        def below(name: str, tier: int | None, purpose: Purpose) -> list[list[str]]:
            view = session.topology.view
            domains = [view.names[number] for number in view.below(view.numbers[name])]
            if tier is None:
                return [[name]]
            usable = sorted((view.tiers[view.numbers[each]], each) for each in domains)
            kept = [[each] for height, each in usable if height <= tier]
            return kept[::-1] if purpose is Purpose.EVICT else kept

        session.add_hyper_node_gradient_for_job(
            self.name, lambda job, name, purpose: below(name, session.topology.limit(job).tier, purpose)
        )
        session.add_hyper_node_gradient_for_sub_job(
            self.name, lambda sub_job, name, purpose: below(name, session.topology.sub_limit(sub_job).tier, purpose)
        )


def hypernode(world: World, name: str, tier: int, *nodes: str) -> None:
    members = tuple(
        MemberSpec(type="Node", selector=MemberSelector(exact_match=ExactMatch(name=node))) for node in nodes
    )
    world.cluster.hypernodes.set(
        HyperNode(metadata=ObjectMeta(name=name), spec=HyperNodeSpec(tier=tier, members=members))
    )


def racks() -> World:
    """Two racks of two nodes of 4 cpu."""
    world = World()
    for name in ("a0", "a1", "b0", "b1"):
        world.node(name)
    hypernode(world, "a", 1, "a0", "a1")
    hypernode(world, "b", 1, "b0", "b1")
    return world


def bound_gang(world: World, count: int, cpu: float, *, queue: str = "default", priority: int = 10) -> None:
    """A pending gang that must stay in one rack."""
    world.gang("high", [("w", count, pod(cpu))], priority=priority, queue=queue)
    job = world.cluster.jobs["ns/high"]
    job.pod_group = PodGroup(
        metadata=ObjectMeta(name="high", namespace="ns"),
        spec=PodGroupSpec(network_topology=NetworkTopologySpec(mode="hard", highest_tier_allowed=1)),
    )


def memory(world: World, action: str = "gangpreempt", arguments: str = "") -> Any:
    more = "  - name: tiers" + (
        f"\nconfigurations:\n- name: {action}\n  arguments: {{{arguments}}}" if arguments else ""
    )
    return configured(action, more=more, plugins={"tiers": Tiers}, world=world)


def test_a_gang_gets_the_room_of_a_gang_of_lower_priority() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=4)
    world.gang("high", [("w", 2, pod(2))], priority=10)
    known = memory(world)
    result = run(world, known)
    assert sorted(evicted(result)) == [f"low-w-{number}" for number in range(4)]
    assert reasons(result) == {"gangpreempt"}
    assert nominated(result) == {"high-w-0": "n0", "high-w-1": "n0"}
    gone(world, result)
    assert sorted(binds(run(world, known))) == [("high-w-0", "n0"), ("high-w-1", "n0")]


def test_pods_that_a_gang_can_do_without_go_before_whole_gangs() -> None:
    world = World()
    world.node("n0", cpu=6000.0)
    victim_job(world, "whole", {"n0": 2}, minimum=2)
    victim_job(world, "elastic", {"n0": 4}, minimum=2, priority=1)
    world.gang("high", [("w", 2, pod(1))], priority=10)
    assert sorted(evicted(run(world, memory(world)))) == ["elastic-w-0", "elastic-w-1"]


def test_a_safe_bundle_is_taken_in_part() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "elastic", {"n0": 4}, minimum=0)
    world.gang("high", [("w", 1, pod(1))], priority=10)
    assert len(evicted(run(world, memory(world)))) == 1


def test_without_whole_bundles_gangs_are_left_alone() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=4)
    world.gang("high", [("w", 2, pod(2))], priority=10)
    assert evicted(run(world, memory(world, arguments="allowWholeBundle: false"))) == []


def test_the_gang_is_placed_in_one_rack_and_only_that_rack_is_cleared() -> None:
    world = racks()
    victim_job(world, "low-a", {"a0": 4, "a1": 4}, minimum=0)
    victim_job(world, "low-b", {"b0": 4, "b1": 4}, minimum=0)
    bound_gang(world, 2, 3)
    result = run(world, memory(world))
    assert len(evicted(result)) == 6
    assert len({decision.task.node.name[0] for decision in result.decisions if decision.task.node}) == 1
    rack = {node[0] for node in nominated(result).values()}
    assert len(rack) == 1
    sub_job = world.cluster.jobs["ns/high"].grouping.sub_jobs["ns/high"]  # type: ignore[union-attr]
    assert sub_job.nominated == rack.pop()


def test_room_in_two_racks_is_no_room_for_a_gang_bound_to_one() -> None:
    world = racks()
    victim_job(world, "low", {"a0": 4, "b0": 4}, minimum=0)
    victim_job(world, "safe", {"a1": 4, "b1": 4}, priority=20)
    bound_gang(world, 2, 3)
    assert evicted(run(world, memory(world))) == []


def test_a_rack_with_room_spares_the_others() -> None:
    world = racks()
    victim_job(world, "low", {"a0": 4, "a1": 4}, minimum=0)
    bound_gang(world, 2, 3)
    known = memory(world)
    world.cluster.jobs["ns/high"].phase = "Inqueue"
    result = run(world, known)
    assert evicted(result) == []


@pytest.mark.parametrize(
    ("case", "spec"),
    [
        ("of the same priority", {"priority": 10}),
        ("of another queue", {"queue": "other"}),
        ("not preemptable", {"preemptable": False}),
        ("leaving already", {"status": Status.UNKNOWN}),
    ],
)
def test_gangpreempt_spares_pods(case: str, spec: dict[str, Any]) -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, **spec)
    world.gang("high", [("w", 2, pod(2))], priority=10)
    assert evicted(run(world, memory(world))) == [], case


@pytest.mark.parametrize(("said", "count"), [("false", 0), ("true", 4), ("nonsense", 0)])
def test_a_pod_group_has_a_say_of_its_own(said: str, count: int) -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=4)
    group = PodGroup(metadata=ObjectMeta(name="low", namespace="ns", annotations={names.PREEMPTABLE_KEY: said}))
    world.cluster.jobs["ns/low"].pod_group = group
    world.gang("high", [("w", 2, pod(2))], priority=10)
    assert len(evicted(run(world, memory(world)))) == count


def test_a_gang_that_would_not_fit_even_so_evicts_nobody() -> None:
    world = World()
    world.node("n0")
    victim_job(world, "low", {"n0": 4}, minimum=0)
    world.gang("high", [("w", 2, pod(3))], priority=10)
    result = run(world, memory(world))
    assert evicted(result) == []
    assert {task.status for task in world.cluster.jobs["ns/low"].tasks.values()} == {Status.RUNNING}


def test_gangreclaim_takes_from_other_queues_that_may_be_reclaimed() -> None:
    world = World()
    world.node("n0")
    world.queue("fixed", reclaimable=False)
    victim_job(world, "fixed", {"n0": 2}, minimum=2, queue="fixed")
    victim_job(world, "rich", {"n0": 2}, minimum=2, queue="rich", priority=100)
    world.gang("poor", [("w", 2, pod(1))], queue="poor")
    result = run(world, memory(world, "gangreclaim"))
    assert sorted(evicted(result)) == ["rich-w-0", "rich-w-1"]
    assert reasons(result) == {"gangreclaim"}


class Opinion(Plugin):
    """Says no where its argument tells."""

    name = "opinion"

    def on_session_open(self, session: Any) -> None:
        point = self.arguments.text("point", "")
        if point == "overused":
            session.add_overused(self.name, lambda queue: queue.name == "poor")
        elif point == "preemptive":
            session.add_preemptive(self.name, lambda queue, task: False)
        else:
            session.add_allocatable(self.name, lambda queue, task: False)


@pytest.mark.parametrize("point", ["overused", "preemptive", "allocatable"])
def test_gangreclaim_evicts_nobody_for_a_queue_that_may_not_have_it(point: str) -> None:
    world = World()
    world.node("n0")
    victim_job(world, "rich", {"n0": 4}, minimum=4, queue="rich")
    world.gang("poor", [("w", 2, pod(1))], queue="poor")
    more = f"  - name: opinion\n    arguments: {{point: {point}}}"
    known = configured("gangreclaim", more=more, plugins={"opinion": Opinion}, world=world)
    assert evicted(run(world, known)) == []


class OneOnly(Plugin):
    """Lets one pod go, in gangreclaim."""

    name = "lower"

    def on_session_open(self, session: Any) -> None:
        session.add_unified_evictable(
            self.name, lambda context, tasks: tasks[:1] if context.kind is Kind.GANG_RECLAIM else tasks
        )


@pytest.mark.parametrize(("minimum", "count"), [(4, 0), (0, 1)])
def test_of_what_plugins_let_go_safe_bundles_give_a_part_and_whole_ones_nothing(minimum: int, count: int) -> None:
    world = World()
    world.node("n0")
    victim_job(world, "rich", {"n0": 4}, minimum=minimum, queue="rich")
    world.gang("poor", [("w", 1, pod(1))], queue="poor")
    known = configured("gangreclaim", plugins={"lower": OneOnly}, world=world)
    assert len(evicted(run(world, known))) == count


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_no_eviction_takes_a_gang_across_its_tier(action: str) -> None:
    world = racks()
    victim_job(world, "low", {"a0": 2, "a1": 4, "b0": 4, "b1": 4}, minimum=0)
    bound_gang(world, 2, 2)
    placed = world.cluster.remove_task("uid-high-w-0")
    assert placed is not None
    placed.status = Status.RUNNING
    world.cluster.add_task(placed, "a0")
    result = run(world, memory(world, action))
    assert len(evicted(result)) == 2
    assert nominated(result)["high-w-1"] in {"a0", "a1"}
