"""Whom gang, priority, conformance and drf let go: the cases of plugins.md 2 to 5 and scheduler.md 21."""

from __future__ import annotations

import pytest

from scheduler.contract.contexts import EvictionContext, Kind
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.plugins.questions import names_of, opened


def world_of(cpu: float = 6000.0) -> World:
    world = World()
    world.node("n1", cpu=cpu)
    return world


def job(
    world: World,
    name: str,
    count: int,
    *,
    minimum: int = 1,
    priority: int = 0,
    queue: str = "default",
    cpu: float = 1000,
) -> list[Task]:
    """A job with running pods."""
    world.gang(name, [], minimum=minimum, priority=priority, queue=queue, phase="Running")
    return [world.member(name, f"{name}-{number}", "n1", shape(cpu)) for number in range(count)]


def waiting(world: World, *, priority: int = 0, cpu: float = 1000.0, queue: str = "default") -> Task:
    """A pending task that others should make room for."""
    world.gang("new", [("w", 1, shape(cpu))], priority=priority, queue=queue)
    return world.cluster.tasks["uid-new-w-0"]


@pytest.mark.parametrize(("minimum", "expected"), [(4, []), (3, ["low-0"]), (1, ["low-0", "low-1", "low-2"])])
def test_a_gang_gives_what_stands_beyond_its_minimum(minimum: int, expected: list[str]) -> None:
    world = world_of()
    running, preemptor = job(world, "low", 4, minimum=minimum), waiting(world)
    with opened(world, "gang") as session:
        assert names_of(session.preemptable(preemptor, running)) == expected
        assert names_of(session.reclaimable(preemptor, running)) == expected


def test_gangs_are_counted_each_by_itself_and_orphans_are_passed_over() -> None:
    world = world_of()
    first, second, preemptor = job(world, "a", 2), job(world, "b", 2), waiting(world)
    world.running("nobodys", "n1", shape())
    mixed = [first[0], second[0], world.cluster.tasks["uid-nobodys"], first[1], second[1]]
    with opened(world, "gang") as session:
        assert names_of(session.preemptable(preemptor, mixed)) == ["a-0", "b-0"]


def test_what_the_session_evicts_no_longer_counts_for_the_gang() -> None:
    world = world_of()
    running, preemptor = job(world, "low", 3, minimum=2), waiting(world)
    with opened(world, "gang") as session:
        statement = session.statement()
        statement.evict(running[0], "preempt")
        assert session.preemptable(preemptor, running[1:]) == []
        statement.discard()


def test_the_switch_of_preemption_leaves_reclaim_to_gangs() -> None:
    world = world_of()
    running, preemptor = job(world, "low", 1), waiting(world)
    with opened(world, "{name: gang, enablePreemptable: false}; conformance") as session:
        assert names_of(session.preemptable(preemptor, running)) == ["low-0"]
        assert session.reclaimable(preemptor, running) == []


def test_the_gang_actions_may_take_whole_gangs() -> None:
    world = world_of()
    running, beneficiary = job(world, "low", 2, minimum=2), waiting(world)
    context = EvictionContext(Kind.GANG_PREEMPT, world.cluster.jobs[beneficiary.job])
    with opened(world, "gang") as session:
        assert names_of(session.unified_evictable(context, running)) == ["low-0", "low-1"]


def test_only_jobs_of_lower_priority_are_preempted() -> None:
    world = world_of()
    low, same, high = (job(world, name, 1, priority=at) for name, at in (("low", 100), ("same", 500), ("high", 1000)))
    preemptor = waiting(world, priority=500)
    with opened(world, "priority") as session:
        assert names_of(session.preemptable(preemptor, [*low, *same, *high])) == ["low-0"]
        assert session.reclaimable(preemptor, low) == []


def test_within_a_job_the_priority_of_tasks_decides() -> None:
    world = world_of()
    world.gang("own", [("w", 1, shape())], minimum=1, priority=5)
    preemptor = world.cluster.tasks["uid-own-w-0"]
    preemptor.priority = 10
    siblings = [world.member("own", f"own-{priority}", "n1", shape(), priority=priority) for priority in (0, 10, 1000)]
    with opened(world, "priority") as session:
        assert names_of(session.preemptable(preemptor, siblings)) == ["own-0"]


@pytest.mark.parametrize(
    ("kind", "expected"), [(Kind.GANG_RECLAIM, ["high-0", "low-0"]), (Kind.GANG_PREEMPT, ["low-0"])]
)
def test_between_queues_priority_does_not_protect(kind: Kind, expected: list[str]) -> None:
    world = world_of()
    high, low = job(world, "high", 1, priority=1000), job(world, "low", 1, priority=100)
    beneficiary = waiting(world, priority=500)
    context = EvictionContext(kind, world.cluster.jobs[beneficiary.job])
    with opened(world, "priority") as session:
        assert names_of(session.unified_evictable(context, [*high, *low])) == expected


def test_a_preemptor_without_job_gets_nobody_from_priority_and_drf() -> None:
    world = world_of()
    running = job(world, "low", 2)
    lone = Task(uid="lone", namespace="ns", name="lone", job="", shape=shape())
    world.cluster.add_task(lone)
    for plugin in ("priority", "drf"):
        with opened(world, plugin) as session:
            assert session.preemptable(lone, running) == [], plugin


def test_conformance_keeps_the_clusters_own_pods() -> None:
    world = world_of()
    world.gang("all", [], minimum=1, phase="Running")
    tasks = [
        world.member("all", "cluster", "n1", shape(priority_class_name="system-cluster-critical")),
        world.member("all", "node", "n1", shape(priority_class_name="system-node-critical")),
        world.member("all", "dns", "n1", shape(), namespace="kube-system"),
        world.member("all", "plain", "n1", shape(priority_class_name="high")),
    ]
    world.running("orphan", "n1", shape())
    tasks.append(world.cluster.tasks["uid-orphan"])
    preemptor = waiting(world)
    context = EvictionContext(Kind.GANG_RECLAIM, world.cluster.jobs[preemptor.job])
    with opened(world, "conformance") as session:
        assert names_of(session.preemptable(preemptor, tasks)) == ["plain", "orphan"]
        assert names_of(session.reclaimable(preemptor, tasks)) == ["plain", "orphan"]
        assert names_of(session.unified_evictable(context, tasks)) == ["plain", "orphan"]


def test_drf_takes_from_jobs_that_keep_no_less_than_the_preemptor_gets() -> None:
    world = world_of(cpu=10_000.0)
    rich, poor = job(world, "rich", 5), job(world, "poor", 1)
    preemptor = waiting(world)
    with opened(world, "drf") as session:
        # The preemptor would hold 0.1; `rich` keeps 0.4, 0.3, 0.2, 0.1 and then nothing.
        assert names_of(session.preemptable(preemptor, [*rich, *poor])) == ["rich-0", "rich-1", "rich-2", "rich-3"]


def test_drf_weighs_what_was_looked_at_only_once() -> None:
    world = world_of(cpu=10_000.0)
    big = job(world, "big", 2, cpu=3000)
    preemptor = waiting(world, cpu=4000)
    with opened(world, "drf") as session:
        assert session.preemptable(preemptor, big) == []


def test_pods_count_as_a_resource_of_shares() -> None:
    world = World()
    world.node("n1", cpu=100_000.0, pods=10.0)
    world.gang("many", [], minimum=1, phase="Running")
    for number in range(5):
        world.member("many", f"many-{number}", "n1", shape(0, 0))
    job(world, "few", 1, cpu=20_000.0)
    with opened(world, "drf") as session:
        ranked = session.job_ranking().sorted([world.cluster.jobs["ns/many"], world.cluster.jobs["ns/few"]])
    assert [found.name for found in ranked] == ["few", "many"]


def test_the_job_with_the_smaller_share_comes_first_as_it_stands_in_the_session() -> None:
    world = world_of(cpu=10_000.0)
    job(world, "a", 1)
    world.gang("b", [("w", 3, shape())], minimum=1)
    jobs = [world.cluster.jobs["ns/a"], world.cluster.jobs["ns/b"]]
    with opened(world, "drf") as session:
        assert [found.name for found in session.job_ranking().sorted(jobs)] == ["b", "a"]
        statement = session.statement()
        statement.place(list(jobs[1].pending.values())[:2], [session.nodes[0]] * 2, Status.PIPELINED)
        assert [found.name for found in session.job_ranking().sorted(jobs)] == ["a", "b"]
        statement.discard()
        assert [found.name for found in session.job_ranking().sorted(jobs)] == ["b", "a"]
