"""The single forms of filters and scores give the bits of the array forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.contract.arguments import Arguments
from scheduler.contract.cells import NodeCells
from scheduler.contract.view import View
from scheduler.kube import filters, scores, single
from scheduler.plugins.binpack import BinPack
from scheduler.state.task import Task
from tests.unit.scheduler.build import GIB, World, shape

PAIRS = [
    (scores.least_allocated, single.least_allocated),
    (scores.most_allocated, single.most_allocated),
    (scores.balanced_allocation, single.balanced_allocation),
]
AMOUNT = st.floats(0.0, 9000.0).map(lambda amount: round(amount, 6)) | st.sampled_from([0.0, 250.0, 1000.0, 4000.0])
"""In thousandths; a quantity is no finer than a billionth."""


def case(cpu: float, memory: float, gpu: float, offered: float, held: float) -> tuple[Task, View, NodeCells]:
    world = World()
    scalars = {"nvidia.com/gpu": 4000.0}
    world.node("n", cpu=offered, memory=offered * 2.0**20, pods=3.0, scalars=scalars if gpu < 3000.0 else {})
    world.running("old", "n", shape(held, held * 2.0**20, {"nvidia.com/gpu": 1000.0}))
    task = Task(
        uid="u", namespace="ns", name="p-0", job="",
        shape=shape(cpu, memory * 2.0**20, {"nvidia.com/gpu": gpu} if gpu else None),
    )  # fmt: skip
    world.cluster.learn(task.request.amounts)
    world.cluster.settle()
    columns = world.cluster.columns
    node = NodeCells(columns.allocatable[:, 0].tolist(), columns.dynamic[:, 0].tolist())
    return task, View.all(world.cluster), node


@given(AMOUNT, AMOUNT, st.sampled_from([0.0, 1000.0, 5000.0]), AMOUNT, AMOUNT)
def test_scores_of_one_node_are_those_of_the_arrays(
    cpu: float, memory: float, gpu: float, offered: float, held: float
) -> None:
    task, view, node = case(cpu, memory, gpu, offered, held)
    for array, one in PAIRS:
        assert one(task, view.cluster.dimensions)(node) == array(task, view)[0], array.__name__
    for arguments in ({}, {"binpack.cpu": 5, "binpack.memory": 0, "binpack.resources": "nvidia.com/gpu"}):
        plugin = BinPack(Arguments(arguments))
        assert plugin.rate_one(task, view.cluster.dimensions)(node) == plugin.rate(task, view)[0]


@pytest.mark.parametrize("pods", [0, 1, 2, 3])
def test_the_number_of_pods_is_told_alike(pods: int) -> None:
    world = World()
    world.node("n", pods=2.0)
    for number in range(pods):
        world.running(f"old-{number}", "n", shape(0.0, 0.0))
    task = Task(uid="u", namespace="ns", name="p-0", job="", shape=shape(100.0, GIB))
    world.cluster.settle()
    columns = world.cluster.columns
    node = NodeCells(columns.allocatable[:, 0].tolist(), columns.dynamic[:, 0].tolist())
    passes = single.pod_number(task, world.cluster.dimensions)(node)
    assert passes == (filters.pod_number(task, View.all(world.cluster))[0] == 0) == (pods < 2)


def test_cells_have_the_blocks_of_a_view() -> None:
    _, view, node = case(500.0, 500.0, 1000.0, 8000.0, 250.0)
    for name in ("allocatable", "used", "releasing", "pipelined", "requested", "nonzero", "idle"):
        assert np.array_equal(np.array(getattr(node, name)), getattr(view, name)[:, 0]), name
    assert node.is_plain
    assert list(node.future) == view.future_idle[:, 0].tolist()
