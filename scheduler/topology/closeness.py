"""
How close nodes are to the tasks of a sub-job placed so far, for whole runs of tasks at once.

The rating changes with every placement, but never against the nodes of the lowest hypernode that was placed in. So a
run that stays in the hypernode of its first node comes out as it would one task after the other; it is cut where it
leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.status import Status
from scheduler.topology.capacity import slots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scheduler.placing.placement import Choice, Extra
    from scheduler.placing.template import Template
    from scheduler.state.dimensions import Floats, Rows
    from scheduler.state.subjob import SubJob
    from scheduler.topology.domain import Domain

    Rating = Callable[[SubJob, str, Rows], Floats]

_PLENTY = 10_000


class Closeness:
    """
    The running place of one trial.

    `allocated` is the lowest hypernode that holds all tasks placed so far, this trial's included; empty at first.
    """

    def __init__(self, sub_job: SubJob, domain: Domain, ratings: Sequence[Rating]) -> None:
        self.sub_job = sub_job
        self.domain = domain
        self.view = domain.view
        self.allocated = sub_job.allocated
        self._ratings = ratings
        self.counts = bool(ratings) and sub_job.topology is not None and not domain.is_one_leaf
        """Whether any node of the domain can be closer than another."""

    @property
    def extra(self) -> Extra | None:
        """The rating of candidates as things stand, None while it makes no difference."""
        if not self.counts or not self.allocated:
            return None
        return self._rate

    def _rate(self, rows: Rows) -> Floats:
        total = np.zeros(len(rows))
        for rating in self._ratings:
            total = total + rating(self.sub_job, self.allocated, rows)
        return total

    def accepted(self, template: Template, choice: Choice) -> int:
        """How many of the first choices of a run hold without looking anew."""
        rows = choice.rows
        if not self.counts or len(rows) < 2:
            return len(rows)
        if choice.status is not Status.ALLOCATED:
            # Which nodes are close is told below by what is idle.
            return 1
        leaves = self.view.leaves
        first = int(leaves[rows[0]])
        same = next((place for place, row in enumerate(rows) if int(leaves[row]) != first), len(rows))
        joined = self._joined(first)
        if joined != self.allocated and len(self._close(template, self.allocated)) == 1:
            # The only close node left ties with others from here on, so what stands beside it will count.
            return 1
        if not self._is_beside(first):
            return same
        # What stands beside a node counts only while two or more tie for the closest: no further than that.
        close = self._close(template, joined)
        slots_left = np.minimum(slots(template, close), _PLENTY).astype(np.int64)
        room = dict(zip(close.tolist(), slots_left.tolist(), strict=True))
        others = len(room)
        for place, row in enumerate(rows[:same]):
            left = room[row] = room.get(row, 0) - 1
            others -= left == 0
            if left == 0 and others < 2:
                return place + 1
        return same

    def _is_beside(self, leaf: int) -> bool:
        """Whether tasks of the sub-job stand in a domain already."""
        nodes = (task.node for task in self.sub_job.tasks.values() if task.node is not None)
        return any(node.row >= 0 and int(self.view.leaves[node.row]) == leaf for node in nodes)

    def _close(self, template: Template, place: str) -> Rows:
        """The columns of the nodes that share the closest place and can take a task now."""
        if place not in self.view:
            return np.zeros(0, dtype=np.intp)
        close = self.view.rows[self.view.numbers[place]]
        close = close[template.candidates[close] & (self.view.leaves[close] >= 0)]
        return close if self.domain.within is None else close[self.domain.within[close]]

    def note(self, rows: Sequence[int]) -> None:
        """These columns were placed on."""
        if self.counts:
            for leaf in dict.fromkeys(int(self.view.leaves[row]) for row in rows):
                self.allocated = self._joined(leaf)

    def _joined(self, leaf: int) -> str:
        return self.view.common(self.allocated, self.view.names[leaf] if leaf >= 0 else "")
