from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler.placing.scene import Scene
from scheduler.session import Session
from scheduler.state.status import Status
from tests.unit.scheduler import changing
from tests.unit.scheduler.build import World, memory_of, shape


def seen() -> tuple[World, Scene]:
    world = World()
    world.node("n", cpu=3000.0)
    world.node("m", cpu=3000.0)
    world.running("old", "n", shape(cpu=500.0))
    world.gang("g", [("w", 1, shape(cpu=1000.0))])
    world.cluster.settle()
    scene = Scene(world.cluster)
    scene.refresh()
    return world, scene


def is_new(world: World, scene: Scene) -> bool:
    world.cluster.settle()
    before = scene.version
    scene.refresh()
    return scene.version > before


@pytest.mark.parametrize("change", [
    pytest.param(lambda world: world.node("n", cpu=3000.0, labels={"zone": "a"}), id="another label"),
    pytest.param(lambda world: world.node("n", cpu=3001.0), id="another size"),
    pytest.param(lambda world: world.running("new", "n", shape(cpu=1.0)), id="a pod comes"),
    pytest.param(lambda world: world.cluster.remove_task("uid-old"), id="a pod goes"),
    pytest.param(lambda world: world.node("o"), id="a node comes"),
    pytest.param(lambda world: world.cluster.remove_node("m"), id="a node goes"),
    pytest.param(lambda world: world.node("n", scalars={"nvidia.com/gpu": 1000.0}), id="a resource comes"),
])  # fmt: skip
def test_a_change_is_news_once(change: Callable[[World], object]) -> None:
    world, scene = seen()
    change(world)
    assert is_new(world, scene)
    assert not is_new(world, scene)


def test_news_of_a_node_that_are_none_and_discarded_plans_are_not() -> None:
    world, scene = seen()
    changing.touch(world)
    memory = memory_of(world.cluster)
    session = Session(world.cluster, memory.configuration, memory, uid="s", now=1.0)
    session.open()
    statement = session.statement()
    statement.place([world.cluster.tasks["uid-g-w-0"]], [session.nodes[0]], Status.ALLOCATED)
    statement.discard()
    session.close()
    assert not is_new(world, scene)
