"""capacity with a tree of queues: the cases of plugins.md 7.9."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from generated.scheduling.v1beta1 import Guarantee
from scheduler.plugins.capacity import Capacity
from scheduler.state.status import Status
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, binds, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import names_of, opened, plugin_of, tiers

GPU = "nvidia.com/gpu"


def tree_of(queues: dict[str, dict[str, Any]], cpu: float = 32.0, **spec: Any) -> World:
    """Queues by name; `parent` is root unless given."""
    world = World()
    world.node("n1", cpu=cpu * 1000, memory=256 * GIB, scalars={GPU: 8000.0})
    world.queue("root", **spec)
    for name, given in queues.items():
        world.queue(name, **({"parent": "root"} | given))
    return world


def capacity(levels: int = 0, more: str = "") -> str:
    return f"{{name: capacity, enableHierarchy: true, arguments: {{ancestorReclaimLevel: {levels}{more}}}}}"


def bound(world: World, more: str = "") -> list[str]:
    text = tiers("gang", f"{capacity(more=more)}; predicates")
    return [name for name, _ in binds(cycle(world, memory_of(world.cluster, text)))]


def job(world: World, queue: str, *, cpu: float = 1, gib: float = 0, gpu: float = 0, **more: Any) -> Task:
    """A job with one pending pod."""
    pod = shape(cpu * 1000, gib * GIB, {GPU: gpu * 1000} if gpu else None)
    name = more.pop("name", f"of-{queue}")
    world.gang(name, [("w", 1, pod)], queue=queue, minimum=1, **more)
    return world.cluster.tasks[f"uid-{name}-w-0"]


def holding(world: World, queue: str, *cpus: float, gpu: float = 0) -> list[Task]:
    world.gang(f"run-{queue}", [], queue=queue, minimum=1, phase="Running")
    return [
        world.member(
            f"run-{queue}", f"{queue}-{number}", "n1", shape(cpu * 1000, 0, {GPU: gpu * 1000} if gpu else None)
        )
        for number, cpu in enumerate(cpus)
    ]


def test_a_queue_with_queues_below_it_takes_no_jobs() -> None:
    world = tree_of({"parent": {}, "leaf": {"parent": "parent"}})
    job(world, "parent")
    job(world, "parent", name="asks", resources={"cpu": "1"})
    job(world, "leaf")
    assert bound(world) == ["of-leaf-w-0"]
    assert world.cluster.jobs["ns/asks"].phase == "Pending"


def test_what_a_queue_does_not_limit_it_inherits() -> None:
    world = tree_of({"q5": {"capability": {"memory": "4Gi"}}, "q51": {"parent": "q5", "capability": {"memory": "2Gi"}}})
    job(world, "q51")
    with opened(world, capacity()) as session:
        quota = plugin_of(session, Capacity).quotas.by_name["q51"]
        assert quota.real_capability[:2].tolist() == [np.inf, 2 * GIB]
    assert bound(world) == ["of-q51-w-0"]


def test_children_share_what_their_parent_may_have() -> None:
    least = {"cpu": "2", "memory": "4Gi"}
    world = tree_of({"q6": {"capability": least}, "q61": {"parent": "q6"}, "q62": {"parent": "q6"}})
    for queue in ("q61", "q62"):
        job(world, queue, resources=least)
    assert bound(world) == ["of-q61-w-0"]
    assert [world.cluster.jobs[f"ns/of-{name}"].phase for name in ("q61", "q62")] == ["Inqueue", "Pending"]


def test_allocation_stops_where_an_ancestor_is_full_and_says_which() -> None:
    world = tree_of({"top": {"capability": {"cpu": "2"}}, "a": {"parent": "top"}, "b": {"parent": "top"}})
    holding(world, "a", 2)
    job(world, "b")
    text = tiers("gang", f"{capacity()}; predicates")
    result = cycle(world, memory_of(world.cluster, text))
    assert binds(result) == []
    assert [outcome.message for outcome in result.outcome.tasks] == [
        "capacity: queue top is at its capability: insufficient cpu (asked 1000.00, taken 2000.00 of 2000.00)"
    ]


def test_a_gang_is_placed_at_once_as_far_as_every_queue_above_allows() -> None:
    world = tree_of({"top": {"capability": {"cpu": "5"}}, "a": {"parent": "top"}})
    world.gang("many", [("w", 9, shape())], queue="a", minimum=3)
    assert len(bound(world)) == 5


@pytest.mark.parametrize(
    "queues",
    [
        {
            "q7": {"capability": {"cpu": "6"}},
            "c1": {"parent": "q7", "guarantee": 4},
            "c2": {"parent": "q7", "guarantee": 4},
        },
        {"big": {"capability": {"cpu": "9999"}, "deserved": {"cpu": "9999"}}},
    ],
    ids=["guarantees beyond the parent", "larger than the cluster"],
)
def test_odd_amounts_break_nothing(queues: dict[str, dict[str, Any]]) -> None:
    given = {
        name: spec | ({"guarantee": Guarantee(resource={"cpu": str(spec["guarantee"])})} if "guarantee" in spec else {})
        for name, spec in queues.items()
    }
    world = tree_of(given, deserved={"cpu": "5000"}, capability={"cpu": "5000"})
    leaf = list(queues)[-1]
    job(world, leaf)
    assert bound(world) == [f"of-{leaf}-w-0"]


def test_a_dimension_that_the_root_does_not_name_is_open() -> None:
    child = {"cpu": "4", "memory": "4Gi", GPU: "2"}
    world = tree_of({"a": {"capability": child}, "b": {"capability": {GPU: "1"}}}, capability={"cpu": "10"})
    job(world, "a", gib=2, gpu=1)
    job(world, "b", gpu=1)
    assert bound(world) == ["of-a-w-0", "of-b-w-0"]


def test_what_siblings_are_guaranteed_stays_free_below_an_open_root() -> None:
    world = tree_of({"a": {}, "kept": {"guarantee": Guarantee(resource={"cpu": "30"})}})
    job(world, "a", cpu=3)
    job(world, "a", cpu=2, name="small")
    assert bound(world) == ["small-w-0"]


@pytest.mark.parametrize(
    ("queues", "why"),
    [
        ({"lost": {"parent": "nowhere"}}, "the queue lost has invalid parent queue nowhere"),
        ({"lost": {"parent": "x"}, "x": {"parent": "lost"}}, "cycle detected in queue hierarchy for queue lost"),
    ],
)
def test_only_the_broken_part_of_the_tree_stands_still(queues: dict[str, dict[str, Any]], why: str) -> None:
    world = tree_of({"good": {}, **queues})
    task = job(world, "lost")
    job(world, "good")
    with opened(world, capacity()) as session:
        assert session.queue_message(world.cluster.queues["lost"], task) == f"capacity: {why}"
    assert bound(world) == ["of-good-w-0"]


def test_without_a_root_nothing_is_scheduled_and_nothing_breaks() -> None:
    world = tree_of({"a": {}})
    world.cluster.queues["root"].object = None
    job(world, "a")
    assert bound(world) == []


def test_one_deserving_parent_lets_its_leaf_reclaim() -> None:
    world = tree_of({"q1": {"deserved": {GPU: "1"}}, "q11": {"parent": "q1"}, "q2": {}})
    running = holding(world, "q2", 1, gpu=4)
    task = job(world, "q11", gpu=1)
    with opened(world, capacity(1)) as session:
        assert session.preemptive(world.cluster.queues["q11"], task)
        assert names_of(session.reclaimable(task, running)) == ["q2-0"]
    with opened(world, capacity(0)) as session:
        assert not session.preemptive(world.cluster.queues["q11"], task)


@pytest.mark.parametrize(("levels", "expected"), [(0, ["queue-b-0"]), (1, ["queue-b-0"]), (2, [])])
def test_queues_above_the_victim_must_have_something_to_give(levels: int, expected: list[str]) -> None:
    def of(cpu: str, parent: str = "root") -> dict[str, Any]:
        return {"deserved": {"cpu": cpu}, "parent": parent}

    world = tree_of(
        {
            "grand-a": of("2"), "parent-a": of("2", "grand-a"), "queue-a": of("2", "parent-a"),
            "grand-b": of("3"), "parent-b": of("1", "grand-b"), "queue-b": of("1", "parent-b"),
        }
    )  # fmt: skip
    running = holding(world, "queue-b", 2)
    task = job(world, "queue-a", cpu=2)
    with opened(world, capacity(levels)) as session:
        assert names_of(session.reclaimable(task, running)) == expected


def test_siblings_that_deserve_nothing_take_nothing_from_each_other() -> None:
    world = tree_of({"p": {"deserved": {"cpu": "4"}}, "a": {"parent": "p"}, "b": {"parent": "p"}})
    running = holding(world, "b", 2)
    task = job(world, "a", cpu=2)
    with opened(world, capacity(1)) as session:
        assert session.reclaimable(task, running) == []
    with opened(world, capacity(0)) as session:
        assert session.reclaimable(task, running) == running


def test_siblings_give_before_strangers() -> None:
    world = tree_of({"p": {}, "own": {"parent": "p"}, "near": {"parent": "p"}, "far": {}})
    queues = world.cluster.queues
    with opened(world, capacity()) as session:
        assert session.compare_victim_queues(queues["near"], queues["far"], queues["own"]) < 0
        assert session.compare_victim_queues(queues["far"], queues["near"], queues["own"]) > 0


def test_queues_are_compared_where_their_ways_part() -> None:
    world = tree_of(
        {
            "x": {"deserved": {"cpu": "10"}}, "x1": {"parent": "x", "deserved": {"cpu": "1"}},
            "x2": {"parent": "x", "deserved": {"cpu": "4"}}, "y": {"deserved": {"cpu": "4"}},
            "y1": {"parent": "y", "deserved": {"cpu": "4"}},
        }
    )  # fmt: skip
    for name, cpu in (("x1", 1), ("x2", 2), ("y1", 2)):
        holding(world, name, cpu)
    queues = world.cluster.queues
    with opened(world, capacity()) as session:
        ranked = session.queue_ranking().sorted([queues[name] for name in ("x", "y1", "x1", "x2")])
        # x holds 3 of 10, y 2 of 4: both leaves of x come first, and among them the one with the smaller share.
        assert [queue.name for queue in ranked] == ["x2", "x1", "y1", "x"]
        statement = session.statement()
        task = job(world, "x2", cpu=4)
        statement.place([task], [session.nodes[0]], Status.PIPELINED)
        assert session.queue_ranking().sorted([queues["x2"], queues["y1"]])[0].name == "y1"
        statement.discard()
        assert session.queue_ranking().sorted([queues["x2"], queues["y1"]])[0].name == "x2"


def test_what_a_statement_moved_above_is_taken_back_with_it() -> None:
    world = tree_of({"p": {}, "a": {"parent": "p"}})
    running = holding(world, "a", 2)
    task = job(world, "a", cpu=3)
    with opened(world, capacity()) as session:
        quotas = plugin_of(session, Capacity).quotas
        before = {name: quotas.claimed(name).tobytes() for name in ("root", "p", "a")}
        statement = session.statement()
        statement.evict(running[0], "reclaim")
        statement.place([task], [session.nodes[0]], Status.PIPELINED)
        assert [quotas.claimed(name)[0] for name in ("root", "p", "a")] == [3000] * 3
        statement.discard()
        assert {name: quotas.claimed(name).tobytes() for name in before} == before


def test_a_full_root_lets_in_what_is_deserved_only_where_asked_to() -> None:
    queues = {"a": {"deserved": {"cpu": "4"}}, "b": {"deserved": {"cpu": "4"}}}
    for more, expected in (("", "Pending"), (", capacity.admitWithinDeserved: true", "Inqueue")):
        world = tree_of(queues, cpu=8.0, capability={"cpu": "8"})
        world.gang("run-b", [], queue="b", minimum=8, phase="Running", resources={"cpu": "8"})
        for number in range(8):
            world.member("run-b", f"b-{number}", "n1", shape())
        world.gang("new", [], queue="a", minimum=1, resources={"cpu": "4"})
        world.gang("too-much", [], queue="a", minimum=1, resources={"cpu": "1"})
        bound(world, more)
        assert world.cluster.jobs["ns/new"].phase == expected
        assert world.cluster.jobs["ns/too-much"].phase == "Pending"


@pytest.mark.parametrize("seed", range(8))
def test_each_queue_holds_what_all_below_it_hold_whatever_a_session_does(seed: int) -> None:
    rng = random.Random(seed)
    parents = {"p": "root", "q": "root", "pp": "p", "a": "p", "b": "pp", "c": "pp", "d": "q"}
    world = tree_of({name: {"parent": parent} for name, parent in parents.items()})
    for leaf in "abcd":
        world.gang(f"of-{leaf}", [("w", 5, shape(500.0))], queue=leaf, minimum=1, phase="Running")
        world.member(f"of-{leaf}", f"run-{leaf}", "n1", shape())
    with opened(world, capacity()) as session:
        quotas = plugin_of(session, Capacity).quotas

        def check() -> None:
            for name in ("root", *parents):
                below = [leaf for leaf in "abcd" if name in quotas.by_name[leaf].full_path]
                expected = sum((world.cluster.queues[leaf].claimed for leaf in below), start=np.zeros(4))
                assert np.array_equal(quotas.claimed(name), expected), name

        check()
        statements = [session.statement() for _ in range(3)]
        for _ in range(25):
            statement, leaf = rng.choice(statements), rng.choice("abcd")
            found = world.cluster.jobs[f"ns/of-{leaf}"]
            running = [task for task in found.tasks.values() if task.status is Status.RUNNING]
            match rng.randrange(4):
                case 0 if found.pending:
                    tasks = list(found.pending.values())[: rng.randint(1, 3)]
                    status = rng.choice([Status.ALLOCATED, Status.PIPELINED])
                    statement.place(tasks, [session.nodes[0]] * len(tasks), status)
                case 1 if running:
                    statement.evict(running[0], "test")
                case 2:
                    statement.discard()
                case 3 if not statement.has_evictions:
                    statement.commit()
            check()
