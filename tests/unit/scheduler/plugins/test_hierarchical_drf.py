"""drf between queues in a tree: the cases of plugins.md 5.1."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.fairness.fairtree import FairTree
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, cycle, memory_of, shape
from tests.unit.scheduler.plugins.questions import names_of, opened, tiers

HDRF = "{name: drf, enableHierarchy: true}"


def tree_queue(world: World, name: str, path: str, weights: str) -> None:
    annotations = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    world.queue(name, annotations={key: value for key, value in annotations.items() if value})


def usage(world: World) -> dict[str, tuple[int, int]]:
    """cpu and GiB bound a job by a cycle."""
    result = cycle(world, memory_of(world.cluster, tiers("gang", f"{HDRF}; predicates; nodeorder")))
    cpu: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for decision in result.decisions:
        task: Task = decision.task
        cpu[task.job[3:]] += int(task.request.amounts.get("cpu", 0) / 1000)
        memory[task.job[3:]] += int(task.request.amounts.get("memory", 0) / GIB)
    return {name: (cpu[name], memory[name]) for name in {*cpu, *memory}}


def test_a_rescaled_tree_divides_as_its_weights_say() -> None:
    world = World()
    world.node("n", cpu=10_000.0, memory=10 * GIB, pods=1000.0)
    tree_queue(world, "sci", "root/sci", "100/50")
    tree_queue(world, "dev", "root/eng/dev", "100/50/50")
    tree_queue(world, "prod", "root/eng/prod", "100/50/50")
    world.gang("sci", [("w", 10, shape(1000.0, GIB))], queue="sci", minimum=1)
    world.gang("dev", [("w", 10, shape(1000.0, 0))], queue="dev", minimum=1)
    world.gang("prod", [("w", 10, shape(0, GIB))], queue="prod", minimum=1)
    assert usage(world) == {"sci": (5, 5), "dev": (5, 0), "prod": (0, 5)}


def test_a_queue_that_can_gain_no_more_leaves_the_rest_to_the_others() -> None:
    world = World()
    world.node("n", cpu=30_000.0, memory=30 * GIB, pods=1000.0)
    for name in ("1", "2", "31", "32", "4"):
        path = f"root/q3/q{name}" if name.startswith("3") else f"root/q{name}"
        tree_queue(world, f"q{name}", path, "100/25/50" if name.startswith("3") else "100/25")
        wants_memory = name in {"32", "4"}
        world.gang(
            f"pg{name}",
            [("w", 30, shape(0, GIB) if wants_memory else shape(1000.0, 0))],
            queue=f"q{name}",
            minimum=1,
        )
    assert usage(world) == {"pg1": (10, 0), "pg2": (10, 0), "pg31": (10, 0), "pg32": (0, 15), "pg4": (0, 15)}


@pytest.mark.parametrize("weights", ["", "100", "100/x", "100/-3", "100/nan"])
def test_missing_or_bad_weights_count_as_one(weights: str) -> None:
    world = World()
    world.node("n", cpu=10_000.0)
    tree_queue(world, "odd", "root/odd", weights)
    tree_queue(world, "two", "root/two", "1/2")
    for name in ("odd", "two"):
        world.gang(name, [], queue=name, minimum=1, phase="Running")
        world.member(name, f"{name}-0", "n", shape())
    with opened(world, HDRF) as session:
        ranked = session.queue_ranking().sorted([world.cluster.queues["odd"], world.cluster.queues["two"]])
    assert [queue.name for queue in ranked] == ["two", "odd"]


def test_queues_without_place_in_the_tree_are_compared_without_a_crash() -> None:
    world = World()
    world.node("n")
    world.queue("plain")
    tree_queue(world, "short", "root/eng", "1/1")
    tree_queue(world, "long", "foo/eng/dev/deep", "1/1")
    tree_queue(world, "idle", "root/nobody", "1/1")
    for name in ("plain", "short", "long"):
        world.gang(name, [("w", 1, shape())], queue=name)
    with opened(world, HDRF) as session:
        queues = [world.cluster.queues[name] for name in ("plain", "short", "long", "idle")]
        assert len(session.queue_ranking().sorted(queues)) == 4


def reclaim_world() -> tuple[World, Task, list[Task]]:
    world = World()
    world.node("n", cpu=10_000.0, memory=100 * GIB)
    tree_queue(world, "a", "root/a", "1/1")
    tree_queue(world, "b", "root/b", "1/1")
    world.gang("rich", [("w", 10, shape())], queue="a", minimum=1, phase="Running")
    running = [world.member("rich", f"rich-{number}", "n", shape()) for number in range(8)]
    world.gang("poor", [("w", 8, shape(2000.0))], queue="b", minimum=1)
    world.member("poor", "poor-0", "n", shape(2000.0))
    return world, world.cluster.tasks["uid-poor-w-0"], running


def test_a_queue_reclaims_from_one_that_would_still_be_ahead() -> None:
    world, reclaimer, running = reclaim_world()
    with opened(world, HDRF) as session:
        before = session.queue_ranking().compare(world.cluster.queues["a"], world.cluster.queues["b"])
        assert names_of(session.reclaimable(reclaimer, running)) == [task.name for task in running]
        assert session.queue_ranking().compare(world.cluster.queues["a"], world.cluster.queues["b"]) == before


def test_each_candidate_is_weighed_by_itself_and_unknown_ones_are_left() -> None:
    world, reclaimer, running = reclaim_world()
    world.running("nobodys", "n", shape())
    with opened(world, HDRF) as session:
        statement = session.statement()
        for task in running[:4]:
            statement.evict(task, "reclaim")
        # 4 and 2 + 2 of 10: without one more `a` would be behind.
        assert session.reclaimable(reclaimer, [*running[4:], world.cluster.tasks["uid-nobodys"]]) == []
        statement.discard()
        assert session.reclaimable(reclaimer, running) == running


def test_the_switch_is_off_unless_it_is_set() -> None:
    world, reclaimer, running = reclaim_world()
    with opened(world, "drf") as session:
        assert session.reclaimable(reclaimer, running) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_updating_a_path_gives_what_computing_anew_gives(data: st.DataObject) -> None:
    total = np.array([20.0, 20.0, 10.0])
    amounts = st.lists(st.integers(0, 6), min_size=3, max_size=3).map(lambda found: np.array(found, dtype=np.float64))
    paths = data.draw(st.lists(st.sampled_from(["r", "r/a", "r/a/b", "r/c", "r/c/d"]), min_size=1, max_size=6))
    weights = ["1", "2", "3"]
    requests = [data.draw(amounts) + 1 for _ in paths]
    tree = FairTree(total)
    for number, path in enumerate(paths):
        tree.add(str(number), path.split("/"), weights, requests[number], np.zeros(3))
    tree.settle()
    held = [np.zeros(3) for _ in paths]
    for _ in range(6):
        number = data.draw(st.integers(0, len(paths) - 1))
        held[number] = data.draw(amounts)
        tree.set_allocated(str(number), held[number])
    fresh = FairTree(total)
    for number, path in enumerate(paths):
        fresh.add(str(number), path.split("/"), weights, requests[number], held[number])
    fresh.settle()
    for left in paths:
        for right in paths:
            assert tree.compare(left.split("/"), right.split("/")) == fresh.compare(left.split("/"), right.split("/"))
    assert tree.root.share == pytest.approx(fresh.root.share)


def test_a_child_that_is_ahead_weighs_no_more_than_the_one_behind() -> None:
    total = np.array([10.0, 10.0, 100.0])
    tree = FairTree(total)
    plenty = np.array([9.0, 9.0, 9.0])
    tree.add("dev", ["root", "eng", "dev"], [], plenty, np.array([6.0, 0.0, 0.0]))
    tree.add("prod", ["root", "eng", "prod"], [], plenty, np.array([0.0, 2.0, 0.0]))
    tree.add("sci", ["root", "sci"], [], plenty, np.array([3.0, 3.0, 0.0]))
    tree.settle()
    assert tree.compare(["root", "eng", "dev"], ["root", "sci"]) < 0
    tree.set_allocated("prod", np.array([0.0, 4.0, 0.0]))
    assert tree.compare(["root", "eng", "dev"], ["root", "sci"]) > 0
