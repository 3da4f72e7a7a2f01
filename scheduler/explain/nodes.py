"""What the nodes say to one pod: how many refuse it for which reason, and which one comes nearest, in numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.view import View
from scheduler.explain.report import FilterCount, InsufficientCount, NearestNode, NodeCounts
from scheduler.explain.wording import joined, quantity, shortage
from scheduler.state.dimensions import MIN_RESOURCE, Mask

if TYPE_CHECKING:
    from scheduler.contract.effects import Filter, Verdicts
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.task import Task

MILLISECONDS = 1000.0


class Survey:
    """
    One pod against all nodes, as they stand now. Every filter is asked about every node, so the counts overlap.

    `stopwatch` gives seconds.
    """

    def __init__(self, session: Session, task: Task, stopwatch: Callable[[], float]) -> None:
        cluster = session.cluster
        template = session.template(task)
        self.session = session
        self.task = task
        self.view = View.all(cluster)
        self.names = cluster.dimensions.names
        self.needed = task.request.needed(cluster.dimensions)
        self.filters: Sequence[Filter] = template.filters
        if session.loose is not None:
            loose = session.loose.filters
            self.filters = (*self.filters, *(f for f in loose if f.applies is None or f.applies(task)))
        self.seconds: list[float] = []
        self.verdicts = [self._ask(function, stopwatch) for function in self.filters]
        columns = [column for column, _ in self.needed]
        asked: Floats = np.array([amount for _, amount in self.needed])
        self.free: Floats = self.view.future_idle[columns]
        self.missing: Floats = asked[:, None] - self.free
        self.offered: Floats = self.view.allocatable[columns]
        self.large: Mask = np.logical_not((asked[:, None] - self.offered >= MIN_RESOURCE).any(axis=0))
        """`(nodes,)`: which would have room if nothing else ran on them."""
        self.short = self.missing >= MIN_RESOURCE
        """`(needed resources, nodes)`: where too little is free, counting what is being released."""
        self.refused: Mask = np.array([verdicts > 0 for verdicts in self.verdicts], dtype=np.bool_).reshape(
            len(self.filters), len(self.view)
        )
        self.obstacles = self.short.sum(axis=0) + self.refused.sum(axis=0)
        self.roomy: Mask = np.logical_not(self.short.any(axis=0))
        self.passing: Mask = np.logical_not(self.refused.any(axis=0))

    def _ask(self, function: Filter, stopwatch: Callable[[], float]) -> Verdicts:
        begun = stopwatch()
        verdicts = function.evaluate(self.task, self.view)
        self.seconds.append(stopwatch() - begun)
        return verdicts

    # Counts.

    def counts(self) -> NodeCounts:
        """How many nodes are in which case; filters and resources that are in nobody's way are left out."""
        only = self.obstacles == 1
        insufficient = [
            InsufficientCount(
                resource=self.names[column], nodes=int(short.sum()), alone=int(np.count_nonzero(short & only))
            )
            for (column, _), short in zip(self.needed, self.short, strict=True)
            if short.any()
        ]
        return NodeCounts(
            total=len(self.view),
            roomy=int(self.roomy.sum()),
            passing=int(self.passing.sum()),
            fitting=int(np.count_nonzero(self.roomy & self.passing)),
            insufficient=insufficient,
            filters=[self._filter(number, only) for number in range(len(self.filters)) if self.refused[number].any()],
        )

    def _filter(self, number: int, only: Mask) -> FilterCount:
        function, verdicts = self.filters[number], self.verdicts[number]
        reasons: dict[str, int] = {}
        for verdict in np.unique(verdicts[verdicts > 0]).tolist():
            reason = function.refusals[verdict - 1].reason
            reasons[reason] = reasons.get(reason, 0) + int(np.count_nonzero(verdicts == verdict))
        return FilterCount(
            name=function.name,
            plugin=function.plugin,
            refused=int(self.refused[number].sum()),
            alone=int(np.count_nonzero(self.refused[number] & only)),
            reasons=reasons,
            milliseconds=round(self.seconds[number] * MILLISECONDS, 3),
        )

    # The nearest one.

    def nearest(self) -> NearestNode | None:
        """
        The node where least is in the way; None when a node takes the pod, or there are none.

        First those that no filter refuses, by how small a part of the request is missing; then those with room, by
        the number of refusals; then any. A node that is too small even when empty comes after all others. Of equal
        ones the first by name.
        """
        if not len(self.view) or bool((self.roomy & self.passing).any()):
            return None
        refusals = self.refused.sum(axis=0)
        if not self.large.any():
            cost = refusals + self._part_missing()
        elif (self.passing & self.large).any():
            cost = np.where(self.passing & self.large, self._part_missing(), np.inf)
        elif self.roomy.any():
            cost = np.where(self.roomy, refusals, np.inf)
        else:
            cost = np.where(self.large, refusals + self._part_missing(), np.inf)
        return self._describe(int(np.argmin(cost)))

    def held_at_most(self) -> int:
        """So many such pods would find room if nothing else ran on any node, filters left aside."""
        asked = np.array([amount for _, amount in self.needed])
        if not len(asked):
            return sys.maxsize
        fitting = np.floor((self.offered + MIN_RESOURCE) / asked[:, None]).min(axis=0)
        return int(np.maximum(fitting, 0.0).sum())

    def _part_missing(self) -> Floats:
        """`(nodes,)`: the largest part that is missing of any resource, 0 to 1 and beyond where a node is overfull."""
        asked = np.array([amount for _, amount in self.needed])
        parts: Floats = np.maximum(self.missing, 0.0) / asked[:, None]
        largest: Floats = parts.max(axis=0, initial=0.0)
        return largest

    def _describe(self, row: int) -> NearestNode:
        lacking = [place for place in range(len(self.needed)) if self.short[place, row]]
        lacks = [
            shortage(self.names[self.needed[place][0]], self.needed[place][1], float(self.free[place, row]))
            for place in lacking
        ]
        refusals = [
            function.refusals[int(verdicts[row]) - 1].reason
            for function, verdicts in zip(self.filters, self.verdicts, strict=True)
            if verdicts[row]
        ]
        node = self.session.nodes[row].name
        if not self.large.any():
            return NearestNode(node=node, text=self._too_large(row), lacks=lacks, refusals=refusals, is_too_small=True)
        told = f", and is refused: {'; '.join(refusals)}" if refusals else ""
        if lacks:
            needs = joined([f"{lack.needs} {lack.resource}" for lack in lacks])
            text = f"needs {needs}, the best node {node} has {joined([lack.free for lack in lacks])} free{told}"
        else:
            text = f"node {node} has room, but refuses: {'; '.join(refusals)}"
        return NearestNode(node=node, text=text, lacks=lacks, refusals=refusals)

    def _too_large(self, row: int) -> str:
        """How far the request is beyond every node: what it asks for that the largest ones don't have."""
        largest = self.offered.max(axis=1)
        places = [
            place for place, (_, amount) in enumerate(self.needed) if amount - largest[place] >= MIN_RESOURCE
        ] or [
            place for place, (_, amount) in enumerate(self.needed) if amount - self.offered[place, row] >= MIN_RESOURCE
        ]
        has_each = all(self.needed[place][1] - largest[place] < MIN_RESOURCE for place in places)
        held = self.offered[:, row] if has_each else largest
        needs, has = (
            joined(
                [
                    f"{quantity(self.names[self.needed[place][0]], amount)} {self._name(place)}"
                    for place, amount in pairs
                ]
            )
            for pairs in (
                [(place, self.needed[place][1]) for place in places],
                [(place, float(held[place])) for place in places],
            )
        )
        if has_each:
            return f"needs {needs} beside the rest, and no node is that large (the nearest, {self.session.nodes[row].name}, has {has} in all)"
        return f"needs {needs}, and no node is that large (largest: {has})"

    def _name(self, place: int) -> str:
        return self.names[self.needed[place][0]]


def room_wanted(nearest: NearestNode) -> str:
    """What would have to change on the nearest node."""
    if nearest.refusals:
        return f"a node that none of this refuses: {'; '.join(nearest.refusals)}"
    return f"{joined([f'{lack.missing} {lack.resource}' for lack in nearest.lacks])} more free on node {nearest.node}"


def request_words(task: Task) -> str:
    """What a pod asks for, `pods` left out."""
    asked = [f"{quantity(name, amount)} {name}" for name, amount in task.request.amounts.items() if name != "pods"]
    return joined(asked) if asked else "nothing"
