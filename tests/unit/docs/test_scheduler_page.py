"""What docs/scheduler.md quotes is what a cycle says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.kernel import CHART
from benchmarks.plugin_forms import GUIDE, blocks
from generated.core.v1 import PodSchedulingGate
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.dump.files import write
from scheduler.dump.replay import main
from scheduler.dump.taking import Taking
from scheduler.settings import conf
from scheduler.state.status import Status
from tests.unit.scheduler.build import FIVE_PLUGINS, World, cycle, memory_of, shape
from tests.unit.scheduler.hypernodes import CONFIGURATION as TOPOLOGY
from tests.unit.scheduler.hypernodes import grow, limit

PAGE = GUIDE.parent.parent / "scheduler.md"
TEXT = PAGE.read_text()
CAUSES = TEXT.split("What the cause can be:")[1].split("`; partially bound")[0]


def nodes(count: int = 2) -> World:
    world = World()
    for number in range(count):
        world.node(f"node-{number}")
    return world


def no_room() -> World:
    world = nodes()
    world.gang("train", [("worker", 10, shape())])
    return world


def no_queue() -> World:
    world = nodes()
    world.gang("train", [("worker", 2, shape())])
    world.cluster.queues["default"].object = None
    return world


def closed_queue() -> World:
    world = nodes()
    world.queue(state="Closed")
    world.gang("train", [("worker", 2, shape())], resources={"cpu": "1"})
    return world


def too_much_for_the_cluster() -> World:
    world = nodes()
    world.gang("train", [("worker", 2, shape())], resources={"cpu": "20"})
    return world


def too_much_for_the_queue() -> World:
    world = nodes()
    world.queue(capability={"cpu": "1"})
    world.gang("train", [("worker", 2, shape())], resources={"cpu": "2"})
    return world


def share_in_use() -> World:
    world = nodes()
    world.queue(capability={"cpu": "1"})
    world.gang("train", [("worker", 2, shape())])
    return world


def too_few_pods() -> World:
    world = nodes()
    world.gang("train", [("worker", 2, shape())], minimum=3)
    return world


def gated() -> World:
    world = nodes()
    world.gang("train", [("worker", 2, shape(scheduling_gates=(PodSchedulingGate(name="quota"),)))])
    return world


def too_narrow() -> World:
    world = nodes(4)
    grow(world, {"rack-0": (1, ["node-0", "node-1"]), "rack-1": (1, ["node-2", "node-3"])})
    world.gang("train", [("worker", 10, shape())], resources={"cpu": "10"})
    limit(world.cluster.jobs["ns/train"], "hard", 1)
    return world


def partly_bound() -> World:
    world = nodes()
    world.gang("train", [("worker", 8, shape())], minimum=9, phase="Inqueue")
    world.member("train", "train-worker-8", "node-0", shape(), Status.BOUND, role="worker")
    return world


def being_released() -> World:
    world = nodes(1)
    world.running("old", "node-0", shape(4000.0), Status.RELEASING)
    world.gang("train", [("worker", 2, shape())], phase="Inqueue")
    return world


def condition(result: Result) -> str:
    found = next(told.condition for told in result.outcome.jobs if told.job.id == "ns/train")
    assert found is not None
    assert found.type == "Unschedulable"
    return found.message


@pytest.mark.parametrize(
    ("build", "configuration"),
    [
        (no_room, FIVE_PLUGINS),
        (no_queue, CHART),
        (closed_queue, CHART),
        (too_much_for_the_cluster, CHART),
        (too_much_for_the_queue, CHART),
        (share_in_use, CHART),
        (too_few_pods, CHART),
        (gated, CHART),
        (too_narrow, TOPOLOGY),
    ],
)
def test_each_cause_in_the_table_is_the_end_of_a_condition(build: Callable[[], World], configuration: str) -> None:
    world = build()
    message = condition(cycle(world, memory_of(world.cluster, configuration)))
    cause = message.split(". Origin reason is")[1].split(": ", 1)[1]
    assert f"| `{cause}` |" in CAUSES


def test_the_table_has_no_cause_that_is_not_tested() -> None:
    assert CAUSES.count("\n| `") == 10


def test_the_first_message_is_that_of_a_gang_without_room() -> None:
    world = no_room()
    assert condition(cycle(world, memory_of(world.cluster))) == blocks(PAGE)["no-room"].strip()


def test_a_gang_that_stands_in_part_says_so_in_these_words() -> None:
    world = partly_bound()
    message = condition(cycle(world, memory_of(world.cluster)))
    told = message[message.index("; partially bound") : message.index(". Origin")]
    assert f"`{told}`" in TEXT


def test_a_pod_that_waits_for_leaving_pods_says_so_in_these_words() -> None:
    world = being_released()
    result = cycle(world, memory_of(world.cluster))
    assert f"| `{result.outcome.tasks[0].message}` |" in CAUSES


PREEMPTION = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""


def a_full_node() -> World:
    world = nodes(0)
    world.node("node-a")
    world.gang("low", [], minimum=1, phase="Running")
    for number in range(4):
        world.member("low", f"low-w-{number}", "node-a", shape())
        world.cluster.tasks[f"uid-low-w-{number}"].preemptable = True
    world.gang("high", [("w", 2, shape())], priority=100, phase="Inqueue")
    return world


def test_a_replay_prints_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uid = TEXT.split("\n    session ")[1].split(":")[0]
    world = a_full_node()
    memory = memory_of(world.cluster, PREEMPTION)
    budget = Budget(lambda _: False)
    taking = Taking(world.cluster, memory, uid=uid, now=1.0, configuration=PREEMPTION)
    result = run_cycle(world.cluster, memory, ACTIONS, uid=uid, now=1.0, expired=budget)
    path = write(tmp_path, taking.finish(budget, result), 1.0)
    assert main([str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 4
    assert "\n".join(f"    {line}" for line in shown) in TEXT


def test_the_configuration_shown_is_the_built_in_one() -> None:
    assert blocks(PAGE)["default"] == conf.DEFAULT
