"""
Nodes for a sequence of unlike tasks, one after the other, where each placement changes one node alone.

A template is a lane: its nodes as they were ranked at the start, and a heap of those that were touched since, by any
lane, under their scores of now. What a lane has not looked at yet are the nodes that were touched last. Columns with
the same numbers are one state: what a template makes of it is worked out once.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from scheduler.contract.cells import NodeCells
from scheduler.placing.ranking import NO, Bound, top
from scheduler.placing.template import ALLOCATE, Template

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from scheduler.state.cluster import Cluster
    from scheduler.state.dimensions import Floats

_FIRST_ROWS = 512
_MAX_STATES = 20_000
"""With more states than this all are dropped, so that they take no more than some tens of MB."""


class States:
    """Columns by number, and how placements lead from one to another. Lives as long as the dimensions stay."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.nodes: list[NodeCells] = []
        self._columns: list[tuple[tuple[float, ...], tuple[float, ...]]] = []
        self._numbers: dict[tuple[tuple[float, ...], tuple[float, ...]], int] = {}
        self._steps: dict[Hashable, dict[int, int]] = {}
        self._worth: dict[Hashable, dict[int, float]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def of_row(self, row: int) -> int:
        """The state of a node as it is."""
        columns = self.cluster.columns
        return self._number(tuple(columns.allocatable[:, row].tolist()), tuple(columns.dynamic[:, row].tolist()))

    def worth(self, template: Template) -> dict[int, float]:
        """By state the plain score, `NO` where the template is refused; as far as anybody asked."""
        return self._worth.setdefault(template.near_key, {})

    def after(self, state: int, template: Template) -> int:
        """The state after one more placement of a template."""
        steps = self._steps.setdefault(template.near_key, {})
        known = steps.get(state)
        if known is None:
            allocatable, dynamic = self._columns[state]
            effect = template.request.effect(self.cluster.dimensions, ALLOCATE).tolist()
            moved = tuple([held + more for held, more in zip(dynamic, effect, strict=True)])
            known = steps[state] = self._number(allocatable, moved)
        return known

    def _number(self, allocatable: tuple[float, ...], dynamic: tuple[float, ...]) -> int:
        key = allocatable, dynamic
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self._columns.append(key)
            self.nodes.append(NodeCells(allocatable, dynamic))
        return number


class _Lane:
    """One template. `length` is how many placements the whole run has at most."""

    def __init__(self, template: Template, states: States, length: int) -> None:
        template.refresh()
        totals = template.totals
        self.totals: Floats = totals.total
        self.length = length
        fixed: Floats = template.static.plain + template.all.plain
        for bound in totals.bounds:
            fixed = fixed + bound.part(bound.raw)
        fixed[~template.static.passes] = NO
        assert template.single is not None
        self.single = template.single
        self.states = states
        self.worth = states.worth(template)
        self.fixed: list[float] = fixed.tolist()
        """What a node's score has beside what its columns give, `NO` for a node that never passes."""
        self.rows: list[int] = []
        self.initial: list[float] = []
        self.rank(min(length, _FIRST_ROWS))
        self.candidate: list[bool] = (totals.total != NO).tolist()
        self.holders = [_Holders(bound) for bound in totals.bounds]
        self.heap: list[tuple[float, int, int]] = []
        self.fresh = 0
        self.seen = 0
        """How many placements were looked at."""

    def rank(self, number: int) -> None:
        """Look up so many of the best nodes, as they were ranked at the start."""
        rows = top(self.totals, number)
        self.rows, self.initial = rows.tolist(), (-self.totals[rows]).tolist()

    def skip(self, last: Sequence[int]) -> None:
        """Pass over what was touched."""
        heap, rows, fresh = self.heap, self.rows, self.fresh
        while heap and last[heap[0][1]] != heap[0][2]:
            heapq.heappop(heap)
        while True:
            while fresh < len(rows) and last[rows[fresh]] >= 0:
                fresh += 1
            number = 4 * len(rows)
            if fresh < len(rows) or not fresh or len(rows) >= self.length:
                break
            self.rank(min(number, self.length))
            if len(self.rows) == len(rows):
                break
            rows = self.rows
        self.fresh = fresh

    def catch_up(self, touched: dict[int, int], state_of: Sequence[int]) -> bool:
        """Take in which nodes were touched; whether the bounds of normalised scores still stand."""
        fixed, worth, candidate, heap = self.fixed, self.worth, self.candidate, self.heap
        seen = self.seen
        self.seen = next(reversed(touched.values())) + 1 if touched else 0
        for row, entry in reversed(touched.items()):
            if entry < seen:
                break
            own = fixed[row]
            if own == NO:
                continue
            state = state_of[row]
            value = worth.get(state)
            if value is None:
                value = worth[state] = self._worth_of(state)
            if value != NO:
                if not candidate[row]:
                    # It joins again, and may lie beyond the bounds.
                    return False
                heapq.heappush(heap, (-own - value, row, entry))
            elif candidate[row]:
                candidate[row] = False
                if any([not holders.leaves(row) for holders in self.holders]):  # noqa: C419  # each must count
                    return False
        return True

    def _worth_of(self, state: int) -> float:
        node, single = self.states.nodes[state], self.single
        return single.plain(node) if single.fits_idle(node) and single.passes(node) else NO


class _Holders:
    """How many nodes hold each bound of a normalised score."""

    def __init__(self, bound: Bound) -> None:
        self._raw: list[float] = bound.raw.tolist()
        self._bounds = bound.bounds
        self._number = list(bound.holders)

    def leaves(self, row: int) -> bool:
        """A node takes no more; whether each bound keeps a holder."""
        for side, bound in enumerate(self._bounds):
            if self._raw[row] == bound:
                self._number[side] -= 1
                if not self._number[side]:
                    return False
        return True


class MixedRun:
    """One run. Only for templates that are `is_near`; nobody else may place anything meanwhile."""

    def __init__(self, states: States) -> None:
        if len(states) > _MAX_STATES:
            states.clear()
        self.states = states
        self._lanes: dict[Template, _Lane] = {}
        self._touched: dict[int, int] = {}
        """By touched node the number of the last placement there, the latest one last."""
        nodes = len(states.cluster.nodes)
        self._last = [-1] * nodes
        """The same by row, -1 for an untouched node."""
        self._state = [-1] * nodes

    def place(self, templates: Sequence[Template]) -> list[int]:
        """
        The rows for tasks of these templates, in their order: each the node that a search of its own would find.

        Fewer where one finds no node that is idle, or where a normalised score changes for all nodes.
        """
        chosen: list[int] = []
        states, touched, last, state_of = self.states, self._touched, self._last, self._state
        for template in templates:
            lane = self._lanes.get(template)
            if lane is None:
                lane = self._lanes[template] = _Lane(template, states, len(templates))
            row = self._best(lane)
            if row is None:
                break
            before = state_of[row] if last[row] >= 0 else states.of_row(row)
            state_of[row] = states.after(before, template)
            touched.pop(row, None)
            touched[row] = last[row] = len(chosen)
            chosen.append(row)
        return chosen

    def _best(self, lane: _Lane) -> int | None:
        """The best node of a lane, None where there is none or the ranking no longer holds."""
        if not lane.catch_up(self._touched, self._state):
            return None
        lane.skip(self._last)
        heap, rows, fresh = lane.heap, lane.rows, lane.fresh
        if fresh < len(rows) and (not heap or (lane.initial[fresh], rows[fresh]) < heap[0]):
            return rows[fresh]
        return heap[0][1] if heap else None
