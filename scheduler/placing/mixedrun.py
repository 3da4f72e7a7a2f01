"""
Nodes for a sequence of unlike tasks, one after the other, where each placement changes one node alone.

A template is a lane: its nodes as they were ranked at the start, and a heap of those that were touched since, by any
lane, under their scores of now. What a lane has not looked at yet are the nodes that were touched last. Columns with
the same numbers are one state: what a template makes of it is worked out once.
"""

from __future__ import annotations

import heapq
from itertools import chain, takewhile
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.cells import NodeCells
from scheduler.contract.view import View
from scheduler.placing.ranking import NO, Bound, top
from scheduler.placing.template import ALLOCATE, Template

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from scheduler.state.cluster import Cluster
    from scheduler.state.dimensions import Floats, Rows

_FIRST_ROWS = 512
_MANY = 48
"""From so many on states are looked at sooner as arrays than one by one."""
_MAX_STATES = 20_000
"""With more states than this all are dropped, so that they take no more than some tens of MB."""
_MAX_CELLS = 1_000_000
"""Numbers a node times templates (some 200 bytes each) that are carried on from one piece of a run to the next."""


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

    def steps(self, template: Template) -> dict[int, int]:
        """By state the one after a further placement of a template; as far as anybody asked."""
        return self._steps.setdefault(template.near_key, {})

    def moved(self, state: int, effect: Sequence[float]) -> int:
        """The state that a change of the dynamic columns leads to."""
        allocatable, dynamic = self._columns[state]
        return self._number(allocatable, tuple([held + more for held, more in zip(dynamic, effect, strict=True)]))

    def view(self, states: Sequence[int], rows: Rows) -> View:
        """These nodes, each in a state of its own."""
        cells = chain.from_iterable([self._columns[state][1] for state in states])
        return View.holding(self.cluster, rows, np.fromiter(cells, dtype=np.float64).reshape(len(states), -1).T)

    def _number(self, allocatable: tuple[float, ...], dynamic: tuple[float, ...]) -> int:
        key = allocatable, dynamic
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self._columns.append(key)
            self.nodes.append(NodeCells(allocatable, dynamic))
        return number


class _Lane:
    """
    One template. `score_of` has the scores of all nodes as far as the lane looked, `NO` for those that are no candidates.

    A place in the ranking, or in a bucket, counts as long as the node has that score.
    """

    def __init__(self, template: Template, states: States) -> None:
        template.refresh()
        totals = template.totals
        self.totals: Floats = totals.total
        fixed: Floats = template.static.plain + template.all.plain
        for bound in totals.bounds:
            fixed = fixed + bound.part(bound.raw)
        fixed[~template.static.passes] = NO
        assert template.single is not None
        self.template = template
        self.single = template.single
        self.states = states
        self.worth = states.worth(template)
        self.steps = states.steps(template)
        self.effect: list[float] = template.request.effect(states.cluster.dimensions, ALLOCATE).tolist()
        self.fixed: list[float] = fixed.tolist()
        """What a node's score has beside what its columns give, `NO` for a node that never passes."""
        self.score_of: list[float] = totals.total.tolist()
        self.rows: list[int] = []
        self.initial: list[float] = []
        """The ranking at the start, so much of it as was looked at, and the scores in it."""
        self.rank(_FIRST_ROWS)
        self.fresh = 0
        self.buckets = _Buckets()
        """The nodes whose score has changed since."""
        self.holders = [_Holders(bound) for bound in totals.bounds]
        self.seen = 0
        """How many placements were looked at."""

    def rank(self, number: int) -> None:
        """Look up so many of the best nodes, as they were ranked at the start."""
        rows = top(self.totals, number)
        self.rows, self.initial = rows.tolist(), self.totals[rows].tolist()

    def best(self) -> int | None:
        """The best node, None where there is none."""
        changed = self.buckets.first(self.score_of)
        fresh = self._unchanged()
        if fresh == len(self.rows):
            return changed
        row = self.rows[fresh]
        if changed is None:
            return row
        score, other = self.initial[fresh], self.score_of[changed]
        return row if score > other or (score == other and row < changed) else changed

    def _unchanged(self) -> int:
        """The place in the ranking of the best node that has the score of the start; its end where there is none."""
        rows, fresh, score_of, initial = self.rows, self.fresh, self.score_of, self.initial
        while True:
            while fresh < len(rows) and score_of[rows[fresh]] != initial[fresh]:
                fresh += 1
            known = len(rows)
            if fresh < known or not known or known >= len(self.totals):
                break
            self.rank(4 * known)
            rows, initial = self.rows, self.initial
            if len(rows) == known:
                break
        self.fresh = fresh
        return fresh

    def catch_up(self, touched: dict[int, int], state_of: Sequence[int]) -> bool:
        """Take in which nodes were touched; whether the bounds of normalised scores still stand."""
        fixed, worth, score_of, buckets = self.fixed, self.worth, self.score_of, self.buckets.rows
        seen = self._look_ahead(touched, state_of)
        for row, entry in reversed(touched.items()):
            if entry < seen:
                break
            own = fixed[row]
            if own == NO:
                continue
            value = worth.get(state_of[row])
            if value is None:
                value = self._worth_of(state_of[row])
            score, before = own + value, score_of[row]
            if score == before:
                continue
            score_of[row] = score
            if before == NO:
                # It joins again, and may lie beyond the bounds.
                return False
            bucket = buckets.get(score)
            if isinstance(bucket, list):
                heapq.heappush(bucket, row)
            elif score != NO:
                self.buckets.add(score, row)
            elif any([not holders.leaves(row) for holders in self.holders]):  # noqa: C419  # each must count
                return False
        return True

    def _look_ahead(self, touched: dict[int, int], state_of: Sequence[int]) -> int:
        """Work out together what unknown states are worth, where these are many; how many placements were seen before."""
        fixed, worth, seen = self.fixed, self.worth, self.seen
        self.seen = next(reversed(touched.values())) + 1 if touched else 0
        if self.seen - seen >= _MANY:
            news = takewhile(lambda item: item[1] >= seen, reversed(touched.items()))
            unknown = {state_of[row]: row for row, _ in news if fixed[row] != NO and state_of[row] not in worth}
            if len(unknown) >= _MANY:
                rows = np.fromiter(unknown.values(), dtype=np.intp, count=len(unknown))
                found = self.template.worth(self.states.view(list(unknown), rows))
                worth.update(zip(unknown, found.tolist(), strict=True))
        return seen

    def _worth_of(self, state: int) -> float:
        worth = self.worth[state] = self.single.worth(self.states.nodes[state])
        return worth

    def after(self, state: int) -> int:
        """The state of a node after a placement there."""
        known = self.steps.get(state)
        if known is None:
            known = self.steps[state] = self.states.moved(state, self.effect)
        return known

    def tidy(self, touched: dict[int, int]) -> None:
        """Drop places that count no longer, if these are the most."""
        if len(self.buckets) > 2 * len(touched) + _FIRST_ROWS:
            self.buckets = _Buckets()
            for row in touched:
                if self.score_of[row] != NO:
                    self.buckets.add(self.score_of[row], row)


class _Buckets:
    """Nodes by score: many have the same one, and a number in a heap costs less than a pair."""

    __slots__ = ("_scores", "rows")

    def __init__(self) -> None:
        self.rows: dict[float, int | list[int]] = {}
        """By score a heap of rows. One that is alone stands for itself: where no two scores are equal, lists would cost much."""
        self._scores: list[float] = []
        """A heap of these scores, negated."""

    def add(self, score: float, row: int) -> None:
        """A node has this score now."""
        rows = self.rows.get(score)
        if rows is None:
            self.rows[score] = row
            heapq.heappush(self._scores, -score)
        elif isinstance(rows, int):
            self.rows[score] = [rows, row] if rows < row else [row, rows]
        else:
            heapq.heappush(rows, row)

    def first(self, score_of: Sequence[float]) -> int | None:
        """The lowest row of the highest score, without those that have another one now."""
        scores = self._scores
        while scores:
            score = -scores[0]
            rows = self.rows[score]
            if isinstance(rows, int):
                if score_of[rows] == score:
                    return rows
            else:
                while rows and score_of[rows[0]] != score:
                    heapq.heappop(rows)
                if rows:
                    return rows[0]
            heapq.heappop(scores)
            del self.rows[score]
        return None

    def __len__(self) -> int:
        """How many places there are, those that count no longer included."""
        return sum(1 if isinstance(rows, int) else len(rows) for rows in self.rows.values())


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
    """One run, piece by piece. Only for templates that are `is_near`; nobody else may place anything meanwhile."""

    def __init__(self, states: States) -> None:
        if len(states) > _MAX_STATES:
            states.clear()
        self.states = states
        self.is_over = False
        """Whether a task found no node, or the rankings no longer hold."""
        self._lanes: dict[Template, _Lane] = {}
        self._touched: dict[int, int] = {}
        """By touched node the number of the last placement there, the latest one last."""
        self._state = [-1] * len(states.cluster.nodes)
        """By row, -1 for an untouched node."""
        self._placed = 0

    @property
    def is_large(self) -> bool:
        """Whether it has grown so that it had better be begun anew."""
        return len(self.states) > _MAX_STATES or len(self._lanes) * len(self._state) > _MAX_CELLS

    def place(self, templates: Sequence[Template]) -> list[int]:
        """
        The rows for further tasks of these templates, in their order: each the node that a search of its own would find.

        Fewer where one finds no node that is idle, or where a normalised score changes for all nodes; then it is over.
        The state need not be brought up to date between two pieces.
        """
        chosen: list[int] = []
        lanes, touched, state_of = self._lanes, self._touched, self._state
        for entry, template in enumerate(templates, self._placed):
            lane = lanes.get(template)
            if lane is None:
                lane = lanes[template] = _Lane(template, self.states)
            row = lane.best() if lane.catch_up(touched, state_of) else None
            if row is None:
                self.is_over = True
                break
            before = state_of[row]
            state_of[row] = lane.after(before if before >= 0 else self.states.of_row(row))
            touched.pop(row, None)
            touched[row] = entry
            chosen.append(row)
        self._placed += len(chosen)
        for lane in lanes.values():
            lane.tidy(touched)
        return chosen
