"""
What every node says against one kind of task, kept over sessions: only nodes that were touched are asked again.

For tasks that wait long: whether some node would take them, and the counts of the reasons why none does, cost as much as
there were changes, however many nodes there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scheduler.contract.effects import Effect
from scheduler.placing.fiterrors import FitErrors, sayings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.placing.fiterrors import Saying
    from scheduler.placing.template import Template
    from scheduler.state.dimensions import Rows

Marks = NDArray[np.int64]
"""A node each: a bit for everything that it says."""

_MOST = 62
"""Different sayings that a mark has room for."""


class Verdicts:
    """Belongs to a template whose filters look at one node at a time. Call `refresh` before anything else is asked."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._bits: dict[tuple[int, int], int] = {}
        """Number of the bit, by source of a saying."""
        self._reasons: list[str] = []
        self._counts: list[int] = []
        self._marks: Marks = np.zeros(0, dtype=np.int64)
        self._free = 0
        self._errors: FitErrors | None = None
        self._moved = self._changed = 0

    @staticmethod
    def can_follow(template: Template) -> bool:
        """Whether what a node says follows from that node alone, for all tasks of the template alike."""
        return not any(
            function.upfront or function.track is not None or function.effect > Effect.ROW
            for function in template.filters
        )

    @property
    def are_lost(self) -> bool:
        """Whether more was said than can be noted."""
        return len(self._reasons) > _MOST

    @property
    def any_free(self) -> bool:
        """Whether some node would take the task, now or once the pods that are leaving it are gone."""
        return self._free > 0

    @property
    def errors(self) -> FitErrors:
        """Why the others would not: what `examine` says of all nodes."""
        if self._errors is None:
            reasons: dict[str, int] = {}
            for reason, count in zip(self._reasons, self._counts, strict=True):
                if reason and count:
                    reasons[reason] = reasons.get(reason, 0) + count
            self._errors = FitErrors(reasons, len(self._marks) - self._free)
        return self._errors

    def refresh(self) -> None:
        """Ask the nodes that were touched since the last time."""
        touched = self._template.cluster.touched
        changed, moved = touched.changed.since(self._changed), touched.moved.since(self._moved)
        self._changed, self._moved = touched.changed.position, touched.moved.position
        if changed is None or moved is None:
            number = len(self._template.cluster.nodes)
            self._begin(number)
            self._ask(np.arange(number, dtype=np.intp))
        elif len(changed) or len(moved):
            self._ask(np.union1d(changed, moved) if len(changed) and len(moved) else changed if len(changed) else moved)

    def _begin(self, nodes: int) -> None:
        """Nothing is known of the nodes, of which there are so many."""
        self._marks, self._free = np.zeros(nodes, dtype=np.int64), nodes
        self._counts = [0] * len(self._reasons)
        self._errors = None

    def _ask(self, rows: Rows) -> None:
        before, after = self._marks[rows], self._marks_of(rows)
        if self.are_lost or np.array_equal(before, after):
            return
        self._marks[rows] = after
        self._free += int(np.count_nonzero(after == 0)) - int(np.count_nonzero(before == 0))
        for bit in range(len(self._reasons)):
            mask = 1 << bit
            self._counts[bit] += int(np.count_nonzero(after & mask)) - int(np.count_nonzero(before & mask))
        self._errors = None

    def _asked(self, rows: Rows) -> Iterable[Saying]:
        """What these nodes say."""
        return sayings(self._template, self._template.task, rows)

    def _marks_of(self, rows: Rows) -> Marks:
        marks: Marks = np.zeros(len(rows), dtype=np.int64)
        for saying in self._asked(rows):
            bit = self._bits.get(saying.source)
            if bit is None:
                bit = self._bits[saying.source] = len(self._reasons)
                self._reasons.append(saying.reason)
                self._counts.append(0)
            if bit < _MOST:
                marks[saying.places] |= 1 << bit
        return marks
