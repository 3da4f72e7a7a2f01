"""
The single forms of the filters and scores that read a node's columns alone: `filters` and `scores` for one node.

Each factory takes the task and gives a function of one node, with what depends on the task worked out. Every step is
the same floating point operation as in the array form, so that both give the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scheduler.kube.scores import BALANCED_RESOURCES, MAX_SCORE
from scheduler.state.dimensions import CPU, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.cells import NodeCells, Passes, Rate
    from scheduler.state.dimensions import Dimensions
    from scheduler.state.task import Task


def pod_number(task: Task, dimensions: Dimensions) -> Passes:
    """See `filters.pod_number`."""
    del task, dimensions
    return lambda node: node.allocatable[PODS] > node.requested[PODS]


def least_allocated(task: Task, dimensions: Dimensions) -> Rate:
    """See `scores.least_allocated`."""
    del dimensions
    ask_cpu, ask_memory = (int(amount) for amount in task.request.nonzero)

    def rate(node: NodeCells) -> float:
        total = weights = 0
        cpu, memory = int(node.allocatable[CPU]), int(node.allocatable[MEMORY])
        if cpu > 0:
            weights = 1
            free = cpu - int(node.nonzero[0]) - ask_cpu
            if free > 0:
                total = free * MAX_SCORE // cpu
        if memory > 0:
            weights += 1
            free = memory - int(node.nonzero[1]) - ask_memory
            if free > 0:
                total += free * MAX_SCORE // memory
        return float(total // weights) if weights else 0.0

    return rate


def most_allocated(task: Task, dimensions: Dimensions) -> Rate:
    """See `scores.most_allocated`."""
    del dimensions
    asked = [int(amount) for amount in task.request.nonzero]

    def rate(node: NodeCells) -> float:
        total = weights = 0
        for column, held, ask in zip((CPU, MEMORY), node.nonzero, asked, strict=True):
            alloc = int(node.allocatable[column])
            if alloc > 0:
                total += min(int(held) + ask, alloc) * MAX_SCORE // alloc
                weights += 1
        return float(total // weights) if weights else 0.0

    return rate


def balanced_allocation(task: Task, dimensions: Dimensions) -> Rate:
    """See `scores.balanced_allocation`."""
    amounts, row = task.request.amounts, task.request.row(dimensions)
    wanted = (name for name in BALANCED_RESOURCES if name in {"cpu", "memory"} or amounts.get(name, 0.0) > 0.0)
    columns = [column for name in wanted if (column := dimensions.get(name)) is not None]
    if len(columns) == 2:
        return _balance_of_two(columns[0], columns[1], float(row[columns[0]]), float(row[columns[1]]))
    asked = [(column, float(row[column])) for column in columns]

    def rate(node: NodeCells) -> float:
        offered = [(node.allocatable[column], node.requested[column], ask) for column, ask in asked]
        with_pod = _evenness([(held + ask, alloc) for alloc, held, ask in offered if alloc > 0.0])
        without = _evenness([(held, alloc) for alloc, held, _ in offered if alloc > 0.0])
        return 50.0 + math.trunc((50.0 + with_pod - without) / 2.0)

    return rate


def _balance_of_two(first: int, second: int, ask_first: float, ask_second: float) -> Rate:
    """The usual case: cpu and memory."""

    def rate(node: NodeCells) -> float:
        one, other = node.allocatable[first], node.allocatable[second]
        if not (one > 0.0 and other > 0.0):
            # With no deviation both are even.
            return 75.0
        held_one, held_other = node.requested[first], node.requested[second]
        with_pod = _evenness_of_two((held_one + ask_first) / one, (held_other + ask_second) / other)
        return 50.0 + math.trunc((50.0 + with_pod - _evenness_of_two(held_one / one, held_other / other)) / 2.0)

    return rate


def _evenness_of_two(one: float, other: float) -> int:
    """`_evenness` of two shares."""
    deviation = abs((one if one < 1.0 else 1.0) - (other if other < 1.0 else 1.0)) / 2.0  # noqa: FURB136  # `min` costs a call
    return math.trunc((1.0 - deviation) * MAX_SCORE)


def _evenness(offered: Sequence[tuple[float, float]]) -> int:
    """(held, offered) of each resource that the node has."""
    number = len(offered)
    deviation = 0.0
    if number >= 2:
        shares = [min(held / alloc, 1.0) for held, alloc in offered]
        # Not `sum`: it rounds better than adding up does, so that the bits would differ.
        total = spread = 0.0
        for share in shares:
            total += share
        mean = total / number
        for share in shares:
            spread += (share - mean) * (share - mean)
        deviation = math.sqrt(spread / number)
    return math.trunc((1.0 - deviation) * MAX_SCORE)
