"""
Choosing nodes for identical tasks, one after the other, with the outcome of asking for each anew.

A run of tasks is placed at once where the declared effects allow: only the best nodes of the first ranking can be
chosen, because a node that nothing was placed on keeps its rank. Touched nodes wait in a heap under the score that
they would get next, computed ahead for several steps in one array operation. The run stops early when a node that
held the maximum or minimum of a normalised score drops out, since then every score changes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.placing.classrun import prepare
from scheduler.placing.ranking import NO, Bound, Totals, top
from scheduler.placing.template import ALLOCATE, PIPELINE, Template
from scheduler.state.dimensions import Floats, Mask, Rows
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.contract.loose import Loose
    from scheduler.state.dimensions import Coefficients
    from scheduler.state.task import Task

_FIRST_STEPS = 4
_TOGETHER = 32
_FULL = np.inf
"""The negated score of a node that takes no more."""


class Choice(msgspec.Struct, frozen=True):
    """Nodes for the first tasks of a run, in the order of the tasks. Empty when no node takes the first one."""

    rows: Sequence[int]
    status: Status
    """Allocated, or Pipelined where the room is still being released."""


NONE = Choice((), Status.PENDING)

Extra = Callable[[Rows], Floats]
"""A rating of candidate rows that holds for this choice alone, added to their plain scores."""


def choose(
    template: Template,
    tasks: Sequence[Task],
    within: Mask | None = None,
    loose: Loose | None = None,
    extra: Extra | None = None,
) -> Choice:
    """
    Find nodes for the first of `tasks`, and for as many after it as can be decided without looking again.

    `tasks` are identical, `within` limits the nodes, `loose` are the functions that declare nothing, `extra` rates
    the candidates besides. The caller places what was chosen and asks again for the rest. Nodes with room now come
    before nodes where room is being released, and within each of these the cluster's preferred nodes before others
    (scheduler.md 13.2); ties go to the lower rank.
    """
    template.refresh()
    for status, group in product((Status.ALLOCATED, Status.PIPELINED), _groups(template.cluster.preferred, within)):
        totals, added = _totals(template, status, group, tasks[0], loose, extra=extra)
        if not len(totals.total):
            continue
        best = int(totals.total.argmax())
        if totals.total[best] == NO:
            continue
        if loose is not None:
            return Choice((loose.best(tasks[0], np.flatnonzero(totals.total != NO), totals.total),), status)
        if len(tasks) > 1 and template.can_run:
            coefficients = ALLOCATE if status is Status.ALLOCATED else PIPELINE
            if template.tracked.is_empty:
                return Choice(_Run(template, totals, len(tasks), coefficients, added).place(), status)
            run = prepare(template, totals, len(tasks), coefficients, group) if added is None else None
            if run is not None:
                return Choice(run.place(), status)
        return Choice((best,), status)
    return NONE


def _groups(preferred: Mask | None, within: Mask | None) -> tuple[Mask | None, ...]:
    """The nodes that are looked at one group after the other: all at once unless some are preferred."""
    if preferred is None:
        return (within,)
    return (preferred, ~preferred) if within is None else (preferred & within, ~preferred & within)


def _totals(
    template: Template, status: Status, within: Mask | None, task: Task, loose: Loose | None, *, extra: Extra | None
) -> tuple[Totals, Floats | None]:
    """The summed scores of the nodes that may take a task under that status, and what `extra` added to each."""
    if status is Status.ALLOCATED and within is None and extra is None and (loose is None or not loose.filters):
        return template.totals, None
    mask = template.candidates.copy() if status is Status.ALLOCATED else template.passes & template.fits_future
    if within is not None:
        mask &= within
    if loose is not None:
        passing = loose.passing(task, np.flatnonzero(mask))
        mask[:] = False
        mask[passing] = True
    if not mask.any():
        return Totals(len(mask), ()), None
    plain = template.plain if status is Status.ALLOCATED else template.plain_future()
    totals = Totals(len(mask), template.bounds())
    if extra is None:
        totals.rebuild(mask, plain)
        return totals, None
    added = np.zeros(len(mask))
    rows = np.flatnonzero(mask)
    added[rows] = extra(rows)
    totals.rebuild(mask, plain + added)
    return totals, added


class _Run:
    """One run: the ranking at its start, and what becomes of the nodes that it touches."""

    def __init__(
        self, template: Template, totals: Totals, count: int, coefficients: Coefficients, added: Floats | None = None
    ) -> None:
        self.template = template
        self.coefficients = coefficients
        self.left = count
        self.rows = top(totals.total, count)
        self.added = added[self.rows] if added is not None else None
        self.offsets = [bound.part(bound.raw[self.rows]) for bound in totals.bounds]
        self.initial: list[float] = (-totals.total[self.rows]).tolist()
        self.guards = [_Guard(bound, self.rows) for bound in totals.bounds]
        self.upcoming = self._ahead(np.arange(len(self.rows)), 1, _FIRST_STEPS)

    def _ahead(self, places: Rows, first: int, count: int) -> list[list[float]]:
        """For nodes by place in the ranking: the negated score after each further placement, inf when it is full."""
        possible, plain = self.template.ahead(self.rows[places], first, count, self.coefficients)
        if self.added is not None:
            plain = plain + self.added[places][:, None]
        for offset in self.offsets:
            plain = plain + offset[places][:, None]
        table: list[list[float]] = np.where(possible, -plain, _FULL).tolist()
        return table

    def _look_further(self, place: int, known: int) -> None:
        """Look further ahead for a node that takes many, and for those that will come after it: they may well too."""
        places = [other for other in range(place, len(self.upcoming)) if len(self.upcoming[other]) == known]
        several = np.array(places[:_TOGETHER], dtype=np.intp)
        for other, more in zip(several.tolist(), self._ahead(several, known + 1, 2 * known), strict=True):
            self.upcoming[other] += more

    def place(self) -> list[int]:
        """The chosen rows, in the order of the tasks."""
        rows: list[int] = self.rows.tolist()
        initial, upcoming, count = self.initial, self.upcoming, len(rows)
        taken = [0] * count
        heap: list[tuple[float, int, int]] = []
        chosen: list[int] = []
        fresh = 0
        for _ in range(self.left):
            from_heap = bool(heap) and (fresh >= count or heap[0] < (initial[fresh], rows[fresh], fresh))
            if from_heap:
                place = heap[0][2]
            elif fresh < count:
                place = fresh
                fresh += 1
            else:
                break
            chosen.append(rows[place])
            number = taken[place]
            taken[place] = number + 1
            if number == len(upcoming[place]):
                self._look_further(place, number)
            score = upcoming[place][number]
            if score != _FULL:
                entry = (score, rows[place], place)
                if from_heap:
                    heapq.heapreplace(heap, entry)
                else:
                    heapq.heappush(heap, entry)
                continue
            if from_heap:
                heapq.heappop(heap)
            if _any_breaks(self.guards, place):
                break
        return chosen


class _Guard:
    """Watches the nodes that hold a bound of a normalised score."""

    def __init__(self, bound: Bound, rows: Rows) -> None:
        ranked = bound.raw[rows]
        self._holds = [(ranked == value).tolist() for value in bound.bounds]
        self._holders = list(bound.holders)

    def breaks(self, place: int) -> bool:
        """Take a node out; whether a bound lost its last holder."""
        broken = False
        for side, holds in enumerate(self._holds):
            if holds[place]:
                self._holders[side] -= 1
                broken |= self._holders[side] == 0
        return broken


def _any_breaks(guards: Sequence[_Guard], place: int) -> bool:
    broken = False
    for guard in guards:
        broken |= guard.breaks(place)
    return broken
