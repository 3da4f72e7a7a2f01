"""
Where a task could go if others left, and whether it fits a node as things stand.

Nothing is evicted on a guess: the nodes given here are only those that no refusal rules out for good, and `fits` asks
the queue, the resources and every filter again, in the state that the evictions of a statement have made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Code, Filter, Refusal
from scheduler.contract.view import View
from scheduler.placing.ranking import Totals
from scheduler.state.dimensions import MIN_RESOURCE, Floats, Mask, Rows

if TYPE_CHECKING:
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task

_FIRST = 64
"""So many nodes are ranked at first: the best ones usually do."""


class Need:
    """One task in need of a place, with what is asked again and again for it."""

    __slots__ = ("amounts", "filters", "queue", "task", "template")

    def __init__(self, session: Session, task: Task, queue: Queue) -> None:
        self.task = task
        self.queue = queue
        self.template: Template = session.template(task)
        self.amounts = task.request.needed(session.cluster.dimensions)
        self.filters: Sequence[Filter] = self.template.filters
        if session.loose is not None:
            loose = session.loose.filters
            self.filters = (*self.filters, *(f for f in loose if f.applies is None or f.applies(task)))


class Prospects:
    """The nodes of one session, for tasks that need others to leave. Kept for one action."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: dict[int, tuple[tuple[int, int, int], Mask]] = {}

    # Candidates.

    def rows(self, need: Need, within: Mask | None = None) -> Rows:
        """
        The nodes worth a try, by rank: evicting everybody there would make room, and no refusal is final.

        `within` is a mask over all nodes.
        """
        columns = self.session.cluster.columns
        mask = self._resolvable(need).copy()
        for column, amount in need.amounts:
            mask &= amount - (columns.allocatable[column] - columns.pipelined[column]) < MIN_RESOURCE
        if within is not None:
            mask &= within
        return np.flatnonzero(mask)

    def groups(self, rows: Rows) -> tuple[Rows, ...]:
        """Rows in the groups that are tried one after the other: preferred nodes before others."""
        preferred = self.session.cluster.preferred
        return (rows,) if preferred is None else (rows[preferred[rows]], rows[~preferred[rows]])

    def ranked(self, need: Need, rows: Rows) -> Iterator[Node]:
        """The nodes of `rows`, highest score first, ties by rank (scheduler.md 13.2)."""
        nodes = self.session.nodes
        for place in _descending(self._totals(need, rows)):
            yield nodes[int(rows[place])]

    def _totals(self, need: Need, rows: Rows) -> Floats:
        template = need.template
        candidates = np.zeros(len(self.session.nodes), dtype=np.bool_)
        candidates[rows] = True
        totals = Totals(len(candidates), template.bounds())
        totals.rebuild(candidates, template.plain)
        total: Floats = totals.total[rows]
        loose = self.session.loose
        if loose is not None and len(rows):
            view = View(self.session.cluster, rows)
            for score in loose.scores:
                if score.applies is None or score.applies(need.task):
                    total = total + score.weight * score.normalise(score.evaluate(need.task, view))
        return total

    def _resolvable(self, need: Need) -> Mask:
        """`(nodes,)`: where no filter refuses for a reason that evictions can't mend."""
        template = need.template
        template.refresh()
        cluster = self.session.cluster
        position = (cluster.touched.changed.position, cluster.touched.moved.position, cluster.sight.moves)
        known = self._known.get(id(template))
        if known is not None and known[0] == position:
            mask = known[1]
        else:
            mask = template.passes.copy()
            self._judge(template.filters, need.task, np.flatnonzero(~mask), mask)
            self._known[id(template)] = position, mask
        own = need.filters[len(template.filters) :]
        if own:
            # What declares nothing may say something else to each task.
            mask = mask.copy()
            self._judge(own, need.task, np.flatnonzero(mask), mask)
        return mask

    def _judge(self, filters: Sequence[Filter], task: Task, rows: Rows, mask: Mask) -> None:
        """Set the cells of `rows`: True unless a filter's refusal there is final."""
        for function in filters:
            if not len(rows):
                break
            verdicts = function.evaluate(task, View(self.session.cluster, rows))
            final = np.array([False, *(refusal.code.aborts for refusal in function.refusals)])
            ruled_out = final[verdicts]
            mask[rows[ruled_out]] = False
            rows = rows[~ruled_out]
        mask[rows] = True

    # Proof.

    def is_enough(self, need: Need, free: Floats) -> bool:
        """Whether the request is within `free`, a row of resources."""
        return all(amount - free[column] < MIN_RESOURCE for column, amount in need.amounts)

    def future_idle(self, node: Node) -> Floats:
        """`(dims,)`: idle, plus what is being released, less what waits for it."""
        columns, row = self.session.cluster.columns, node.row
        future: Floats = (
            columns.allocatable[:, row] - columns.used[:, row] + columns.releasing[:, row] - columns.pipelined[:, row]
        )
        return future

    def fits(self, need: Need, node: Node) -> bool:
        """Whether the task may go to the node right now: room, queue, and every filter."""
        if not self.is_enough(need, self.future_idle(node)):
            return False
        if not self.session.allocatable(need.queue, need.task):
            return False
        return next(self.refusals(need, node), None) is None

    def is_ruled_out(self, need: Need, node: Node) -> bool:
        """Whether a filter has something against the node that no eviction mends."""
        return any(refusal.code is Code.UNRESOLVABLE for refusal in self.refusals(need, node))

    def refusals(self, need: Need, node: Node) -> Iterator[Refusal]:
        """What the filters have against the task on the node right now."""
        view = View(self.session.cluster, np.array((node.row,), dtype=np.intp))
        for function in need.filters:
            verdict = int(function.evaluate(need.task, view)[0])
            if verdict:
                yield function.refusals[verdict - 1]


def _descending(total: Floats) -> Iterator[int]:
    """Places by value, highest first, equal ones in order; few are sorted before they are wanted."""
    if len(total) > _FIRST:
        threshold = np.partition(total, len(total) - _FIRST)[len(total) - _FIRST]
        top = np.flatnonzero(total >= threshold)
        # Not made a list of: mostly the first one is taken.
        yield from map(int, top[np.argsort(-total[top], kind="stable")])
        rest = np.flatnonzero(total < threshold)
    else:
        rest = np.arange(len(total))
    yield from map(int, rest[np.argsort(-total[rest], kind="stable")])
