"""plugins.md 17-19: the cases of the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from generated.core.v1 import ContainerImage
from scheduler.contract.arguments import Arguments
from scheduler.contract.effects import DefaultNormaliser
from scheduler.contract.view import View
from scheduler.kube import scores
from scheduler.plugins.binpack import BinPack
from scheduler.plugins.nodeorder import NodeOrder
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, shape

BINPACK = {
    "binpack.weight": 10, "binpack.cpu": 2, "binpack.memory": 3, "binpack.resources": "nvidia.com/gpu, example.com/foo",
    "binpack.resources.nvidia.com/gpu": 7, "binpack.resources.example.com/foo": 8,
}  # fmt: skip


def binpack_world() -> World:
    world = World()
    world.node("n1", cpu=2000.0, memory=4 * GIB)
    world.node("n2", cpu=4000.0, memory=16 * GIB, scalars={"nvidia.com/gpu": 4000.0})
    world.node("n3", cpu=2000.0, memory=4 * GIB, scalars={"example.com/foo": 16000.0})
    world.running("a", "n1", shape(1000.0, GIB))
    world.running("b", "n3", shape(1500.0, 0.0))
    world.cluster.settle()
    return world


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (shape(1000.0, GIB), [700.0, 137.5, 0.0]),
        (shape(1500.0, 0.0), [0.0, 375.0, 0.0]),
        (shape(2000.0, 10 * GIB, {"nvidia.com/gpu": 2000.0}), [None, 531.25, None]),
        (shape(3000.0, 4 * GIB, {"example.com/foo": 3000.0}), [None, 173.076923, None]),
    ],
)
def test_binpack_gives_the_figures_of_the_specification(wanted: Any, expected: list[float | None]) -> None:
    task = Task(uid="u", namespace="ns", name="p", job="", shape=wanted)
    plugin = BinPack(Arguments(BINPACK))
    found = plugin.weight * plugin.rate(task, View.all(binpack_world().cluster))
    for rated, figure in zip(found.tolist(), expected, strict=True):
        assert figure is None or rated == pytest.approx(figure)


def test_a_negative_weight_of_binpack_counts_as_one() -> None:
    assert BinPack(Arguments({"binpack.weight": -3, "binpack.cpu": -1})).weight == 1


def rated(evaluate: Any, world: World, wanted: Any) -> list[float]:
    world.cluster.settle()
    task = Task(uid="u", namespace="ns", name="p", job="", shape=wanted)
    return evaluate(task, View.all(world.cluster)).tolist()  # type: ignore[no-any-return]


def test_least_allocated_prefers_the_larger_node_and_most_allocated_the_smaller() -> None:
    world = World()
    world.node("large", cpu=4000.0, memory=8 * GIB)
    world.node("small", cpu=2000.0, memory=4 * GIB)
    assert rated(scores.least_allocated, world, shape(1000.0, GIB)) == [81, 62]
    assert rated(scores.most_allocated, world, shape(1000.0, GIB)) == [18, 37]


def test_balanced_allocation_prefers_the_node_whose_shares_stay_even() -> None:
    world = World()
    world.node("even", cpu=2000.0, memory=2 * GIB)
    world.node("odd", cpu=4000.0, memory=2 * GIB)
    even, odd = rated(scores.balanced_allocation, world, shape(1000.0, GIB))
    assert even > odd


def test_a_node_that_offers_nothing_of_a_resource_is_judged_on_the_rest() -> None:
    world = World()
    world.node("n", cpu=0.0, memory=4 * GIB)
    assert rated(scores.least_allocated, world, shape(1000.0, GIB)) == [75]


def test_images_count_by_size_and_by_how_many_nodes_have_them() -> None:
    world = World()
    for name in "ab":
        world.node(name)
    node = world.cluster.node_by_name["a"]
    assert node.object is not None
    image = ContainerImage(names=("docker.io/big:latest",), size_bytes=1000 * 2**20)
    from msgspec.structs import replace  # noqa: PLC0415  # one use

    world.cluster.set_node(replace(node.object, status=replace(node.object.status, images=(image,))), node.allocatable)
    from generated.core.v1 import Container  # noqa: PLC0415  # one use

    wanted = shape(containers=(Container(name="c", image="docker.io/big"),))
    assert rated(scores.image_locality, world, wanted) == [48, 0]


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [([0, 0], False, [0, 0]), ([0, 0], True, [100, 100]), ([1, 3], False, [33, 100]), ([1, 3], True, [67, 0])],
)
def test_the_default_normaliser_scales_in_whole_numbers(raw: list[int], reverse: bool, expected: list[int]) -> None:
    normaliser = DefaultNormaliser(reverse)
    values = np.array(raw, dtype=np.float64)
    assert normaliser.scale(values, normaliser.bounds(values)).tolist() == expected


def test_a_weight_of_zero_registers_no_score_and_a_negative_one_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    plugin = NodeOrder(Arguments({"leastrequested.weight": 0, "nodeaffinity.weight": -1, "mostrequested.weight": 2}))
    assert sorted(score.name for score in plugin.scores) == [
        "balancedresource", "imagelocality", "mostrequested", "podaffinity", "podtopologyspread", "tainttoleration",
    ]  # fmt: skip
    assert "nodeaffinity.weight=-1" in caplog.text
