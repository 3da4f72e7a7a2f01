"""capacity without a tree: the cases of plugins.md 7.8."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from generated.scheduling.v1beta1 import Guarantee
from scheduler.contract.contexts import EvictionContext, Kind
from scheduler.plugins.capacity import Capacity
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, binds, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import names_of, opened, plugin_of, tiers

GPU = "nvidia.com/gpu"
Size = tuple[float, float, float]
"""cpu, GiB, GPUs."""


def sized(size: Size) -> Any:
    cpu, gib, gpu = size
    return shape(cpu * 1000, gib * GIB, {GPU: gpu * 1000} if gpu else None)


def listed(size: Size | None) -> dict[str, Any] | None:
    if size is None:
        return None
    cpu, gib, gpu = size
    amounts = {"cpu": str(cpu), "memory": f"{gib}Gi"} | ({GPU: str(gpu)} if gpu else {})
    return {name: amount for name, amount in amounts.items() if amount not in {"0", "0Gi"}}


def world_of(*nodes: Size) -> World:
    world = World()
    for number, (cpu, gib, gpu) in enumerate(nodes, start=1):
        world.node(f"n{number}", cpu=cpu * 1000, memory=gib * GIB, scalars={GPU: gpu * 1000} if gpu else {})
    return world


def hold(world: World, queue: str, *sizes: Size, node: str = "n1") -> list[Task]:
    """Running pods of a queue, one job."""
    world.gang(f"of-{queue}", [], queue=queue, minimum=1, phase="Running")
    return [world.member(f"of-{queue}", f"{queue}-{number}", node, sized(size)) for number, size in enumerate(sizes)]


def ask(world: World, queue: str, size: Size) -> Task:
    """A pending pod of a queue."""
    world.gang(f"new-{queue}", [("w", 1, sized(size))], queue=queue, minimum=1)
    return world.cluster.tasks[f"uid-new-{queue}-w-0"]


@pytest.mark.parametrize(("cpu", "memory", "expected"), [("2", "2Gi", [("new-q1-w-0", "n1")]), ("1500m", "1536Mi", [])])
def test_capability_is_a_hard_limit(cpu: str, memory: str, expected: list[tuple[str, str]]) -> None:
    world = world_of((2, 4, 0), (2, 4, 0))
    world.queue("q1", capability={"cpu": cpu, "memory": memory})
    hold(world, "q1", (1, 1, 0))
    ask(world, "q1", (1, 1, 0))
    assert [
        bind[0] for bind in binds(cycle(world, memory_of(world.cluster, tiers("gang", "capacity; predicates"))))
    ] == [bind[0] for bind in expected]


Case = tuple[dict[str, Any], list[Size], dict[str, Any], list[Size], Size, list[str]]
"""Victims' queue and what it runs, the reclaimer's and what it runs, the size asked for, the victims."""


@pytest.mark.parametrize(
    "case",
    [
        ({"deserved": (2, 4, 0)}, [(2, 4, 0), (2, 4, 0)], {"deserved": (2, 4, 0)}, [], (2, 4, 0), ["victim-0"]),
        (
            {"deserved": (2, 4, 10)}, [(0, 0, 10), (0, 0, 10)], {"deserved": (2, 4, 10)}, [(4, 8, 0)], (0, 0, 10),
            ["victim-0"],
        ),
        ({"deserved": None}, [(1, 1, 0)], {"deserved": (2, 2, 0)}, [(1, 3, 0)], (1, 1, 0), ["victim-0"]),
        ({"deserved": (2, 4, 2)}, [(2, 4, 0)], {"deserved": (2, 4, 2)}, [], (2, 3, 1), []),
        (
            {"deserved": (2, 2, 0)}, [(0, 4, 0), (1, 0, 0), (0, 0, 1)], {"deserved": (2, 2, 1)}, [], (1, 0, 1),
            ["victim-2"],
        ),
        (
            {"deserved": (0, 0, 1)}, [(2, 2, 1), (2, 2, 0)], {"deserved": (2, 2, 0)}, [], (1, 1, 0), ["victim-1"],
        ),
        ({"deserved": (2, 4, 0), "guarantee": (4, 8, 0)}, [(2, 4, 0)] * 3, {}, [], (2, 4, 0), ["victim-0"]),
        ({"guarantee": (3, 0, 0)}, [(2, 0, 0)] * 2, {}, [], (2, 4, 0), []),
    ],
    ids=["one too many", "only what is requested", "nothing deserved", "not over", "immediate", "gpu only", "guarantee", "not below it"],
)  # fmt: skip
def test_a_queue_gives_back_what_is_beyond_its_deserved_amounts(
    case: Case,
) -> None:
    victim_queue, running, own_queue, own_running, wanted, expected = case
    world = world_of((32, 256, 40))
    for name, spec in (("victim", victim_queue), ("own", own_queue)):
        given: dict[str, Any] = {"deserved": listed(spec.get("deserved"))}
        if "guarantee" in spec:
            given["guarantee"] = Guarantee(resource=listed(spec["guarantee"]) or {})
        world.queue(name, **given)
    candidates = hold(world, "victim", *running)
    if own_running:
        hold(world, "own", *own_running)
    reclaimer = ask(world, "own", wanted)
    context = EvictionContext(Kind.GANG_RECLAIM, world.cluster.jobs[reclaimer.job])
    everything = EvictionContext(Kind.GANG_PREEMPT, world.cluster.jobs[reclaimer.job])
    with opened(world, "capacity") as session:
        assert names_of(session.reclaimable(reclaimer, candidates)) == expected
        assert set(expected) <= set(names_of(session.unified_evictable(context, candidates)))
        assert session.unified_evictable(everything, candidates) == candidates


def test_a_gpu_that_is_deserved_and_not_exceeded_protects_its_pod() -> None:
    world = world_of((4, 4, 1))
    world.queue("victim", deserved={GPU: "1"})
    world.queue("own", deserved={"cpu": "2", "memory": "2Gi"})
    candidates = hold(world, "victim", (4, 4, 1))
    reclaimer = ask(world, "own", (1, 1, 0))
    with opened(world, "capacity") as session:
        assert session.reclaimable(reclaimer, candidates) == []


@pytest.mark.parametrize(
    ("spec", "running", "wanted", "expected"),
    [
        ({"deserved": (2, 2, 0), "capability": (4, 4, 0)}, (1, 3, 0), (1, 1, 0), True),
        ({"deserved": (1, 2, 0)}, (1, 1, 0), (1, 2, 0), False),
        ({"deserved": (8, 100, 0), "capability": (8, 100, 0)}, (7, 90, 0), (2, 5, 0), False),
    ],
    ids=["one dimension is enough", "none fits", "beyond capability"],
)
def test_a_queue_takes_back_while_something_stays_within_what_it_deserves(
    spec: dict[str, Size], running: Size, wanted: Size, expected: bool
) -> None:
    world = world_of((64, 512, 0))
    amounts: dict[str, Any] = {name: listed(size) for name, size in spec.items()}
    world.queue("own", **amounts)
    hold(world, "own", running)
    task = ask(world, "own", wanted)
    with opened(world, "capacity") as session:
        assert session.preemptive(world.cluster.queues["own"], task) is expected


@pytest.mark.parametrize(
    ("deserved", "running", "share"),
    [
        (None, (1, 0, 0), 1.0),
        ({}, (1, 0, 0), 1.0),
        ({"cpu": "0", "memory": "0"}, (1, 0, 0), 1.0),
        ({"cpu": "2", "memory": "2Gi"}, (3, 2, 0), 1.5),
        ({"cpu": "2", "memory": "4Gi"}, (1, 3, 0), 0.75),
    ],
)
def test_shares_are_of_what_is_deserved(deserved: dict[str, str] | None, running: Size, share: float) -> None:
    world = world_of((8, 64, 0))
    world.queue("q", deserved=deserved)
    hold(world, "q", running)
    with opened(world, "capacity") as session:
        figures = plugin_of(session, Capacity).queue_figures()["q"]
    assert figures.share == share
    assert figures.is_overused is (share > 1)


def test_of_equal_shares_the_queue_that_deserves_something_comes_first() -> None:
    world = world_of((8, 64, 0))
    world.queue("a")
    world.queue("b", deserved={"cpu": "1"})
    world.queue("c", priority=1)
    hold(world, "b", (1, 0, 0))
    with opened(world, "capacity") as session:
        ranked = session.queue_ranking().sorted([world.cluster.queues[name] for name in "abc"])
    assert [queue.name for queue in ranked] == ["c", "b", "a"]


def test_what_is_deserved_lies_between_guarantee_and_capability() -> None:
    world = world_of((8, 64, 0))
    world.queue(
        "q",
        deserved={"cpu": "6", "memory": "1Gi"},
        capability={"cpu": "4"},
        guarantee=Guarantee(resource={"memory": "2Gi"}),
    )
    world.queue("other", guarantee=Guarantee(resource={"cpu": "7"}))
    with opened(world, "capacity") as session:
        quotas = plugin_of(session, Capacity).quotas.by_name
    assert quotas["q"].deserved[:2].tolist() == [1000, 2 * GIB]
    assert quotas["q"].real_capability[:2].tolist() == [1000, 64 * GIB]
    assert quotas["other"].real_capability[:2].tolist() == [8000, 62 * GIB]


def test_admission_holds_the_minimum_against_the_real_capability() -> None:
    world = world_of((8, 64, 0))
    world.queue("q", capability={"cpu": "4"})
    world.gang("a", [], queue="q", minimum=1, resources={"cpu": "3"})
    world.gang("b", [], queue="q", minimum=1, resources={"cpu": "2"})
    world.gang("c", [], queue="q", minimum=1, resources={"memory": "2Gi"})
    result = cycle(world, memory_of(world.cluster, tiers("capacity")))
    assert [world.cluster.jobs[f"ns/{name}"].phase for name in "abc"] == ["Inqueue", "Pending", "Inqueue"]
    told = {outcome.job.name: outcome for outcome in result.outcome.jobs}
    assert told["b"].refusal == "queue resource quota insufficient: insufficient cpu"
    assert (
        "capacity: queue q resource quota insufficient: insufficient cpu (asked 2000.00, taken 3000.00"
        in told["b"].event
    )


def test_a_task_beyond_capability_hears_which_queue_is_full() -> None:
    world = world_of((8, 64, 0))
    world.queue("q", capability={"cpu": "1"})
    ask(world, "q", (2, 0, 0))
    result = cycle(world, memory_of(world.cluster, tiers("capacity; predicates")))
    assert result.outcome.tasks[0].message == (
        "capacity: queue q is at its capability: insufficient cpu (asked 2000.00, taken 0.00 of 1000.00)"
    )


def test_a_closed_queue_takes_nothing_and_takes_nothing_back() -> None:
    world = world_of((8, 64, 0))
    world.queue("q", state="Closed", deserved={"cpu": "8"})
    task = ask(world, "q", (1, 0, 0))
    world.gang("min", [], queue="q", minimum=1, resources={"cpu": "1"})
    with opened(world, "capacity") as session:
        queue = world.cluster.queues["q"]
        assert not session.allocatable(queue, task)
        assert not session.preemptive(queue, task)
        assert not session.job_enqueueable(world.cluster.jobs["ns/min"])
        assert session.queue_message(queue, task) == "capacity: queue q is not open"


def test_unknown_queues_and_orphans_break_nothing() -> None:
    world = world_of((8, 64, 0))
    world.queue("q", deserved={"cpu": "1"})
    candidates = hold(world, "q", (2, 0, 0))
    world.running("nobodys", "n1", shape())
    orphan = world.cluster.tasks["uid-nobodys"]
    with opened(world, "capacity") as session:
        late = world.cluster.queue("late")
        assert not session.allocatable(late, candidates[0])
        assert not session.preemptive(late, candidates[0])
        assert session.reclaimable(orphan, candidates) == []
        assert session.reclaimable(candidates[0], [orphan]) == []


def test_a_negative_number_of_levels_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of((8, 64, 0))
    plugin = "{name: capacity, arguments: {ancestorReclaimLevel: -2}}"
    with caplog.at_level(logging.WARNING), opened(world, plugin) as session:
        assert plugin_of(session, Capacity).levels == 0
    assert "ancestorReclaimLevel -2 is negative, 0 counts" in caplog.text


def test_the_metrics_hear_amounts_and_limits_and_of_no_limit_nothing() -> None:
    world = world_of((8, 64, 0))
    world.queue("q", capability={"cpu": "4"}, deserved={"cpu": "2"})
    hold(world, "q", (3, 0, 0))
    told = cycle(world, memory_of(world.cluster, tiers("gang", "capacity"))).gauges
    assert told.queues["capacity", "q"] == {"cpu": 4000.0}
    assert told.queues["real_capacity", "q"] == {"cpu": 4000.0, "memory": 64 * GIB, "pods": 110.0}
    assert (told.values["queue_share", ("q",)], told.values["queue_overused", ("q",)]) == (1.5, 1.0)


@pytest.mark.parametrize(
    ("argument", "priority", "expected"), [("true", 10, "Inqueue"), ("true", 5, "Pending"), ("false", 10, "Pending")]
)
def test_a_full_queue_lets_in_who_outranks_its_jobs_only_where_asked_to(
    argument: str, priority: int, expected: str
) -> None:
    world = world_of((8, 64, 0))
    world.queue("q", capability={"cpu": "2"})
    world.gang("low", [], queue="q", minimum=2, priority=5, phase="Running", resources={"cpu": "2"})
    for number in range(2):
        world.member("low", f"low-{number}", "n1", sized((1, 0, 0)))
    world.gang("new", [], queue="q", minimum=1, priority=priority, resources={"cpu": "1"})
    plugin = f"{{name: capacity, arguments: {{capacity.admitByPriority: {argument}}}}}"
    cycle(world, memory_of(world.cluster, tiers("gang", plugin)))
    assert world.cluster.jobs["ns/new"].phase == expected
