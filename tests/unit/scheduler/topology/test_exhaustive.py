"""The search in arrays and runs against the one that is told task by task, over random trees and gangs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduler.plugin import Plugin
from scheduler.state.subjob import grouping_of
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape
from tests.unit.scheduler.hypernodes import by_name, child, hypernode, limit
from tests.unit.scheduler.topology.slow_search import ROOT, SlowSearch, SlowTree

if TYPE_CHECKING:
    from scheduler.session import Session
    from scheduler.state.job import Job

CONFIGURATION = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}]
- plugins: [{name: network-topology-aware}]
"""


def random_tree(rng: random.Random, nodes: int) -> tuple[dict[str, int], dict[str, list[str]], dict[str, list[int]]]:
    """Leaves of several sizes, now and then a node outside, inner hypernodes over neighbours, tiers with gaps."""
    tiers: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    own: dict[str, list[int]] = {}
    level: list[str] = []
    waiting = rng.sample(range(nodes), nodes)
    while waiting:
        taken, waiting = waiting[: (size := rng.randint(1, 4))], waiting[size:]
        if rng.random() < 0.85:
            name = f"leaf{len(level):02d}"
            tiers[name], own[name] = 1, taken
            level.append(name)
    tier = 1
    while len(level) > 1 and tier < 5:
        tier += rng.choice([1, 1, 2])
        above: list[str] = []
        place = 0
        while place < len(level):
            size = rng.randint(1, 3)
            if rng.random() < 0.9:
                name = f"tier{tier}-{len(above):02d}"
                tiers[name], children[name] = tier, level[place : place + size]
                above.append(name)
            place += size
        level = above
    return tiers, children, own


MIXED = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}%s]
- plugins:
  - {name: nodeorder%s}
  - {name: network-topology-aware, arguments: {weight: 1}}
"""


class EachTask(Plugin):
    """Asks to be told of every task, so that none is placed in a run."""

    name = "each-task"

    def on_session_open(self, session: Session) -> None:
        session.add_pre_predicate(self.name, lambda task: None)


@dataclass
class Setting:
    """A random cluster, and the plain facts that it was made from."""

    world: World
    free: list[float]
    whole: list[float]
    tree: SlowTree


def random_setting(rng: random.Random) -> Setting:
    nodes = rng.randint(1, 16)
    tiers, children, own = random_tree(rng, nodes)
    whole = [rng.choice([1000.0, 2000.0, 4000.0, 8000.0]) for _ in range(nodes)]
    world = World()
    for number, cpu in enumerate(whole):
        world.node(f"n{number:02d}", cpu=cpu)
    free = list(whole)
    for number in range(nodes):
        if rng.random() < 0.4:
            used = rng.choice([500.0, 1000.0])
            world.running(f"old{number}", f"n{number:02d}", shape(used, 0.0))
            free[number] -= used
    for name, tier in tiers.items():
        parts = [child(below) for below in children.get(name, [])] + [by_name(f"n{n:02d}") for n in own.get(name, [])]
        world.cluster.hypernodes.set(hypernode(name, tier, *parts))
    copies = {name: list(below) for name, below in children.items()}
    return Setting(world, free, whole, SlowTree(dict(tiers), copies, own, free, whole))


@dataclass
class Gang:
    """Roles with count and cpu, the minimum and the highest tier."""

    roles: list[tuple[str, int, float]]
    minimum: int
    tier: int

    def ordered(self) -> list[tuple[str, float]]:
        """Pods and what they ask for, in the order in which they are tried."""
        pods = [(ordinal, f"g-{role}-{ordinal}", cpu) for role, count, cpu in self.roles for ordinal in range(count)]
        return [(name, cpu) for _, name, cpu in sorted(pods)]

    def submit(self, world: World) -> Job:
        shapes = [(role, count, shape(cpu, 0.0)) for role, count, cpu in self.roles]
        world.gang("g", shapes, minimum=self.minimum)
        job = world.cluster.jobs["ns/g"]
        limit(job, "hard", self.tier)
        return job


def random_gang(rng: random.Random, highest: int) -> Gang:
    sizes = rng.sample([500.0, 1000.0, 1500.0], rng.randint(1, 2))
    roles = [(f"r{place}", rng.randint(1, 14), cpu) for place, cpu in enumerate(sizes)]
    total = sum(count for _, count, _ in roles)
    return Gang(roles, rng.choice([total, total, rng.randint(1, total)]), rng.randint(1, highest))


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_the_chosen_hypernodes_and_nodes_are_those_of_an_exhaustive_search(seed: int) -> None:
    rng = random.Random(seed)
    made = random_setting(rng)
    gang = random_gang(rng, made.tree.tiers[ROOT])
    job = gang.submit(made.world)
    pods = gang.ordered()
    slow = SlowSearch(made.tree, [cpu for _, cpu in pods], gang.minimum, gang.tier)
    slow.run()
    result = cycle(made.world, memory_of(made.world.cluster, CONFIGURATION))
    assert dict(binds(result)) == {pods[task][0]: f"n{node:02d}" for task, node in slow.placed.items()}
    grouping = grouping_of(job)
    assert (grouping.allocated, grouping.sub_jobs["ns/g"].allocated) == (slow.job_allocated, slow.allocated)


@settings(max_examples=150)
@example(7163)  # a close node is the only one left, and ties with others once one of these was taken
@given(st.integers(0, 10**9))
def test_runs_come_out_as_one_task_after_the_other(seed: int) -> None:
    outcomes = []
    weights = f", arguments: {{leastrequested.weight: {random.Random(seed).choice([0, 1, 1, 3])}}}"
    for extra in ("", ", {name: each-task}"):
        rng = random.Random(seed)
        made = random_setting(rng)
        gang = random_gang(rng, made.tree.tiers[ROOT])
        gang.submit(made.world)
        memory = memory_of(made.world.cluster, MIXED % (extra, weights), {"each-task": EachTask})
        outcomes.append(binds(cycle(made.world, memory)))
    assert outcomes[0] == outcomes[1]
