"""proportion: the cases of plugins.md 6 and 21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generated.core.v1 import PodSchedulingGate
from generated.scheduling.v1beta1 import Guarantee
from scheduler.plugins.proportion import Proportion
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, binds, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import names_of, opened, plugin_of, tiers

ALL = "predicates; nodeorder"


def world_of(*nodes: tuple[float, float]) -> World:
    world = World()
    for number, (cpu, memory) in enumerate(nodes, start=1):
        world.node(f"n{number}", cpu=cpu * 1000, memory=memory * GIB)
    return world


def pending_pods(world: World, queue: str, cpu: float, count: int = 1) -> None:
    world.gang(f"of-{queue}", [("w", count, shape(cpu * 1000, 0))], queue=queue, minimum=1)


def deserved(world: World) -> dict[str, float]:
    with opened(world, "gang; proportion") as session:
        return {name: record.deserved[0] / 1000 for name, record in plugin_of(session, Proportion).records.items()}


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ({"a": (2, {}), "b": (10, {}), "c": (10, {"weight": 2})}, {"a": 2, "b": 10 / 3, "c": 20 / 3}),
        ({"a": (10, {"capability": {"cpu": "2"}}), "b": (10, {})}, {"a": 2, "b": 10}),
        ({"a": (1, {"guarantee": {"resource": {"cpu": "4"}}}), "b": (12, {})}, {"a": 4, "b": 8}),
        ({"a": (5, {"weight": 0}), "b": (5, {"weight": 0})}, {"a": 0, "b": 0}),
        ({"a": (0, {"guarantee": {"resource": {"cpu": "4"}}}), "b": (12, {})}, {"a": 0, "b": 8}),
    ],
    ids=["weights", "capability", "guarantee", "no weights", "guarantee of an idle queue"],
)
def test_queues_deserve_what_the_table_says(queues: dict[str, tuple[int, Any]], expected: dict[str, float]) -> None:
    world = world_of((12, 12))
    for name, (wanted, spec) in queues.items():
        given = {**spec, "guarantee": Guarantee(**spec["guarantee"])} if "guarantee" in spec else spec
        world.queue(name, **given)
        if wanted:
            pending_pods(world, name, 1, wanted)
    assert deserved(world) == pytest.approx(expected)


def test_two_queues_of_one_weight_get_one_pod_each() -> None:
    world = world_of((2, 8))
    for queue in ("a", "b"):
        pending_pods(world, queue, 1, 2)
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    assert sorted(binds(result)) == [("of-a-w-0", "n1"), ("of-b-w-0", "n1")]


def test_a_whole_gang_is_stopped_at_what_its_queue_deserves() -> None:
    world = world_of((8, 64))
    for queue in ("a", "b"):
        world.gang(f"of-{queue}", [("w", 6, shape(1000.0, GIB))], queue=queue, minimum=1)
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    assert len(binds(result)) == 8
    assert sum(name.startswith("of-a") for name, _ in binds(result)) == 4


def test_a_task_that_its_queue_may_not_take_says_so_with_numbers() -> None:
    world = world_of((2, 8))
    for queue in ("a", "b"):
        pending_pods(world, queue, 1, 2)
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    told = {outcome.task.name: outcome.message for outcome in result.outcome.tasks}
    assert told["of-a-w-1"] == (
        "proportion: queue a has used up its deserved part: "
        "insufficient cpu (asked 1000.00, taken 1000.00 of 1000.00)"
    )  # fmt: skip


def two_queues(pending_queue: str, cpu: float, memory: float, resources: dict[str, str]) -> World:
    world = world_of((2, 2), (2, 2))
    world.queue("q1", capability={"cpu": "2", "memory": "2Gi"})
    world.queue("q2", capability={"cpu": "3", "memory": "3Gi"})
    for queue, node, cpu_held, gib_held in (("q1", "n1", 1, 2), ("q2", "n2", 2, 1)):
        least = {"cpu": str(cpu_held), "memory": f"{gib_held}Gi"}
        world.gang(f"held-{queue}", [], queue=queue, minimum=1, phase="Running", resources=least)
        world.member(f"held-{queue}", f"p-{queue}", node, shape(cpu_held * 1000.0, gib_held * GIB))
    world.gang("new", [("w", 1, shape(cpu, memory))], queue=pending_queue, minimum=1, resources=resources)
    return world


@pytest.mark.parametrize(
    ("queue", "cpu", "memory", "resources", "expected"),
    [
        ("q1", 1000, 0, {"cpu": "1"}, [("new-w-0", "n1")]),
        ("q2", 0, GIB, {"memory": "1Gi"}, [("new-w-0", "n2")]),
        ("q1", 1000, GIB, {"cpu": "1", "memory": "1Gi"}, []),
    ],
)
def test_only_what_is_requested_is_held_against_capability(
    queue: str, cpu: float, memory: float, resources: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    world = two_queues(queue, cpu, memory, resources)
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    assert binds(result) == expected
    assert world.cluster.jobs["ns/new"].phase == ("Inqueue" if expected else "Pending")


def test_without_admission_the_deserved_part_still_holds() -> None:
    world = two_queues("q1", 1000, GIB, {"cpu": "1", "memory": "1Gi"})
    text = tiers("gang", f"{{name: proportion, enableJobEnqueued: false}}; {ALL}")
    assert binds(cycle(world, memory_of(world.cluster, text))) == []
    assert world.cluster.jobs["ns/new"].phase == "Inqueue"


def test_a_refused_admission_tells_the_user_in_both_forms() -> None:
    world = two_queues("q1", 1000, GIB, {"cpu": "1", "memory": "1Gi"})
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    told = next(outcome for outcome in result.outcome.jobs if outcome.job.name == "new")
    assert told.refusal == "queue resource quota insufficient: insufficient memory"
    assert "proportion: queue q1 resource quota insufficient: insufficient memory (asked 1073741824.00" in told.event


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_nothing(state: str) -> None:
    world = world_of((4, 4))
    world.queue("shut", state=state)
    world.gang("new", [("w", 1, shape())], queue="shut", resources={"cpu": "1"})
    world.gang("let-in", [("w", 1, shape())], queue="shut", phase="Inqueue")
    assert binds(cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))) == []
    assert world.cluster.jobs["ns/new"].phase == "Pending"


def test_the_queue_of_the_highest_priority_is_served_first() -> None:
    world = world_of((2, 4))
    for name, priority in (("five", 5), ("one", 1), ("ten", 10)):
        world.queue(name, priority=priority, capability={"cpu": "2", "memory": "4Gi"})
        world.gang(name, [("w", 1, shape(500.0, GIB))], queue=name)
    with opened(world, "proportion") as session:
        ranked = session.queue_ranking().sorted(world.cluster.queues.values())
    assert [queue.name for queue in ranked] == ["ten", "five", "one"]


def test_a_job_that_is_being_bound_is_not_counted_twice() -> None:
    world = world_of((4, 16))
    world.queue("q", capability={"cpu": "4"})
    world.gang("a", [], queue="q", minimum=3, phase="Inqueue", resources={"cpu": "3"})
    for number in range(3):
        world.member("a", f"a-{number}", "n1", shape(), Status.BINDING)
    world.gang("b", [("w", 1, shape())], queue="q", resources={"cpu": "1"})
    cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    assert world.cluster.jobs["ns/b"].phase == "Inqueue"


def test_what_is_let_in_is_kept_free_in_this_cycle_and_the_next() -> None:
    world = world_of((4, 16))
    world.queue("q", capability={"cpu": "4"})
    memory = memory_of(world.cluster, tiers("gang", f"proportion; {ALL}"))
    world.gang("a", [], queue="q", minimum=3, resources={"cpu": "3"})
    world.gang("b", [], queue="q", minimum=2, resources={"cpu": "2"})
    cycle(world, memory)
    assert [world.cluster.jobs[f"ns/{name}"].phase for name in "ab"] == ["Inqueue", "Pending"]
    world.gang("c", [], queue="q", minimum=2, resources={"cpu": "2"})
    world.gang("d", [], queue="q", minimum=1, resources={"cpu": "1"})
    cycle(world, memory, uid="second")
    assert [world.cluster.jobs[f"ns/{name}"].phase for name in "bcd"] == ["Pending", "Pending", "Inqueue"]


def test_a_job_that_a_neighbour_in_the_tier_refuses_takes_no_room() -> None:
    world = world_of((4, 16))
    world.queue("q", capability={"cpu": "4"})
    world.gang("a", [], queue="q", minimum=4, resources={"cpu": "4", "memory": "64Gi"})
    world.gang("b", [], queue="q", minimum=4, resources={"cpu": "4"})
    cycle(world, memory_of(world.cluster, tiers("gang", f"overcommit; proportion; {ALL}")))
    assert [world.cluster.jobs[f"ns/{name}"].phase for name in "ab"] == ["Pending", "Inqueue"]


def test_an_elastic_part_makes_room_for_an_admission() -> None:
    world = world_of((4, 16))
    world.gang("big", [], minimum=1, phase="Running", resources={"cpu": "1"})
    for number in range(4):
        world.member("big", f"big-{number}", "n1", shape())
    world.gang("new", [], minimum=3, resources={"cpu": "3"})
    world.gang("too-much", [], minimum=3, resources={"cpu": "3"})
    cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
    assert [world.cluster.jobs[f"ns/{name}"].phase for name in ("new", "too-much")] == ["Inqueue", "Pending"]


def test_gated_pods_reserve_nothing_yet_but_the_queues_own_gate_does() -> None:
    for gate, expected in (("example.com/wait", "Inqueue"), ("scheduling.volcano.sh/queue-allocation-gate", "Pending")):
        world = world_of((4, 16))
        gated = shape(4000.0, 0, scheduling_gates=(PodSchedulingGate(name=gate),))
        world.gang("a", [("w", 1, gated)], phase="Inqueue", resources={"cpu": "4"})
        world.gang("b", [], minimum=1, resources={"cpu": "4"})
        cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
        assert world.cluster.jobs["ns/b"].phase == expected, gate


def borrowed() -> tuple[World, Task]:
    """Two queues on 4 cpu; `a` runs 4 pods of 1 cpu, `b` wants 2."""
    world = world_of((4, 64))
    world.gang("rich", [], queue="a", minimum=1, phase="Running")
    for number in range(4):
        world.member("rich", f"rich-{number}", "n1", shape(1000.0, GIB))
    world.gang("poor", [("w", 2, shape(1000.0, 0))], queue="b", minimum=1)
    return world, world.cluster.tasks["uid-poor-w-0"]


def test_a_queue_gives_back_down_to_what_it_deserves() -> None:
    world, reclaimer = borrowed()
    with opened(world, "proportion") as session:
        candidates = list(world.cluster.jobs["ns/rich"].tasks.values())
        assert names_of(session.reclaimable(reclaimer, candidates)) == ["rich-0", "rich-1"]
        assert session.preemptive(world.cluster.queues["b"], reclaimer)
        assert not session.preemptive(world.cluster.queues["a"], candidates[0])


def test_a_queue_that_is_over_in_what_the_reclaimer_does_not_need_keeps_its_pods() -> None:
    world, _ = borrowed()
    for_memory = Task(
        uid="m", namespace="ns", name="m", job="ns/poor", shape=shape(0, GIB), role="w"
    )  # fmt: skip
    world.cluster.add_task(for_memory)
    with opened(world, "proportion") as session:
        assert session.reclaimable(for_memory, list(world.cluster.jobs["ns/rich"].tasks.values())) == []


def test_an_orphan_is_no_victim_and_breaks_nothing() -> None:
    world, reclaimer = borrowed()
    world.running("nobodys", "n1", shape())
    with opened(world, "proportion") as session:
        assert session.reclaimable(reclaimer, [world.cluster.tasks["uid-nobodys"]]) == []


def test_a_queue_without_jobs_counts_as_holding_nothing() -> None:
    world, reclaimer = borrowed()
    world.queue("empty")
    with opened(world, "proportion") as session:
        empty = world.cluster.queues["empty"]
        assert not session.overused(empty)
        assert not session.allocatable(empty, reclaimer)
        late = world.cluster.queue("late")
        assert not session.overused(late)
        assert not session.allocatable(late, reclaimer)
        assert session.queue_ranking().compare(empty, late)


def test_a_job_of_a_missing_queue_is_passed_over() -> None:
    world = world_of((4, 16))
    world.gang("lost", [("w", 1, shape())], queue="default")
    world.cluster.queues["default"].object = None
    assert binds(cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))) == []


def test_a_resource_that_no_node_has_is_admitted_only_where_the_capability_names_it() -> None:
    for capability, expected in (({"nvidia.com/gpu": "8"}, "Inqueue"), ({"cpu": "8"}, "Pending")):
        world = world_of((4, 16))
        world.queue("q", capability=capability)
        world.gang("gpu", [], queue="q", minimum=1, resources={"nvidia.com/gpu": "2"})
        cycle(world, memory_of(world.cluster, tiers("gang", f"proportion; {ALL}")))
        assert world.cluster.jobs["ns/gpu"].phase == expected


def test_the_figures_follow_what_the_session_does() -> None:
    world, reclaimer = borrowed()
    with opened(world, "proportion") as session:
        proportion = plugin_of(session, Proportion)
        before = proportion.queue_figures()
        assert (before["a"].share, before["a"].weight) == (2.0, 1)
        assert before["b"].request[0] == 2000
        statement = session.statement()
        victim = world.cluster.tasks["uid-rich-0"]
        statement.evict(victim, "reclaim")
        statement.place([reclaimer], [session.nodes[0]], Status.PIPELINED)
        during = proportion.queue_figures()
        assert [during[name].allocated[0] for name in "ab"] == [3000, 1000]
        statement.discard()
        after = proportion.queue_figures()
        assert all(np.array_equal(after[name].allocated, before[name].allocated) for name in "ab")
        assert [after[name].share for name in "ab"] == [before[name].share for name in "ab"]


def test_the_metrics_hear_how_queues_stand_at_the_end() -> None:
    world, _ = borrowed()
    world.queue("idle", weight=7)
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"drf; proportion; {ALL}")))
    told = result.gauges
    assert told.values["queue_share", ("a",)] == 2.0
    assert told.values["queue_overused", ("b",)] == 0.0
    assert told.values["queue_weight", ("a",)] == 1.0
    assert ("queue_weight", ("idle",)) not in told.values
    assert told.values["job_share", ("ns", "rich")] == 1.0
    assert told.queues["allocated", "a"] == {"cpu": 4000.0, "memory": 4 * GIB, "pods": 4.0}
    assert told.queues["deserved", "b"]["cpu"] == 2000.0
    assert told.queues["request", "b"]["cpu"] == 2000.0
    assert told.queues["allocated", "idle"] == told.queues["inqueue", "idle"] == {}
    assert ("deserved", "idle") not in told.queues
