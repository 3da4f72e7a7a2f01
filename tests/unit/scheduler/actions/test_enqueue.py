"""enqueue: which jobs are let in without being asked about (scheduler.md 11.1)."""

from __future__ import annotations

import msgspec
import pytest

from generated.scheduling.v1beta1 import PodGroup
from scheduler.state.status import Status
from tests.unit.scheduler.build import World, binds, cycle, memory_of, shape

TIERS = (
    "actions: enqueue, allocate\n"
    "tiers: [{plugins: [{name: gang}, {name: overcommit}, {name: predicates}, {name: nodeorder}]}]"
)


@pytest.mark.parametrize(("bound", "bindings", "phase"), [(2, ["g-w-2", "g-w-3"], "Inqueue"), (0, [], "Pending")])
def test_a_gang_of_which_pods_stand_already_is_let_in_so_that_it_can_be_completed(
    bound: int, bindings: list[str], phase: str
) -> None:
    world = World()
    world.node("n", cpu=4000.0 if bound else 3000.0)
    world.gang("g", [("w", 4, shape(cpu=1000.0, memory=0.0))])
    group = {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minResources": {"cpu": "4"}}}
    world.cluster.jobs["ns/g"].pod_group = msgspec.convert(group, PodGroup)
    for ordinal in range(bound):
        task = world.cluster.tasks[f"uid-g-w-{ordinal}"]
        world.cluster.remove_task(task.uid)
        task.status = Status.BOUND
        world.cluster.add_task(task, "n")
    result = cycle(world, memory_of(world.cluster, TIERS))
    assert [name for name, _ in binds(result)] == bindings
    assert (world.cluster.jobs["ns/g"].phase or "Pending") == phase
