"""
How many tasks of a kind all nodes together have room for, and what nodes say once they are full of them.

For gangs that wait though some of their tasks would find a node: as long as the room for all kinds together is less
than they need, another try comes to nothing. It is an upper bound: one kind takes what another one counts as its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Effect
from scheduler.placing.fiterrors import sayings
from scheduler.placing.verdicts import Verdicts
from scheduler.topology.capacity import slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.placing.fiterrors import Saying
    from scheduler.placing.template import Template
    from scheduler.state.dimensions import Floats, Rows


class Fill(Verdicts):
    """Belongs to a template; call `refresh` before anything else is asked. Its errors are those of full nodes."""

    def __init__(self, template: Template) -> None:
        super().__init__(template)
        self._slots: Floats = np.zeros((2, 0))
        self.room = self.room_now = 0.0
        """So many tasks at most find a node: now or once the pods that are leaving are gone; now."""

    @staticmethod
    def can_follow(template: Template) -> bool:
        """Whether what a node would say follows from its columns alone, for all tasks of the template alike."""
        return bool(template.request.needed(template.cluster.dimensions)) and not any(
            function.upfront or function.track is not None or function.effect > Effect.COLUMNS
            for function in template.filters
        )

    def refresh(self) -> None:
        """Ask the nodes that were touched since the last time."""
        self._template.refresh()  # which nodes come into question at all
        super().refresh()

    def _begin(self, nodes: int) -> None:
        super()._begin(nodes)
        self._slots, self.room, self.room_now = np.zeros((2, nodes)), 0.0, 0.0

    def _asked(self, rows: Rows) -> Iterable[Saying]:
        template = self._template
        found = np.array([slots(template, rows, future=True), slots(template, rows)])
        if not np.array_equal(self._slots[:, rows], found):
            self._slots[:, rows] = found
            self.room, self.room_now = self._slots.sum(axis=1).tolist()
        return sayings(template, template.task, rows, taken=found[0])
