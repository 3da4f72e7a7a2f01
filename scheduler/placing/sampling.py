"""
A search that stops when enough nodes take a pod (scheduler.md 13.1).

Looking at all nodes costs little here and finds the best one, so this is used only where `--percentage-nodes-to-find`
asks for it. The place where the last search ended outlives sessions, so that all nodes get their turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Mask, Rows

if TYPE_CHECKING:
    from scheduler.contract.loose import Loose
    from scheduler.placing.template import Template
    from scheduler.state.task import Task

_ALL = 100


class Sampling:
    """Finds `percentage` of the nodes, from 1 to 100, but at least `minimum`. `cursor` is where the next one begins."""

    def __init__(self, percentage: int, minimum: int, cursor: int = 0) -> None:
        self.percentage = percentage
        self.minimum = minimum
        self.cursor = cursor

    def wanted(self, nodes: int) -> int:
        """How many of so many nodes are enough."""
        if nodes <= self.minimum or self.percentage >= _ALL:
            return nodes
        return max(nodes * self.percentage // _ALL, self.minimum)

    def limit(self, template: Template, task: Task, within: Mask | None, loose: Loose | None) -> Mask:
        """
        The nodes that the search for one task finds, as a mask over all; the cursor moves on.

        `within` limits the nodes that are searched; `loose` are the functions that declare nothing.
        """
        template.refresh()
        searched = np.flatnonzero(within) if within is not None else np.arange(len(template.passes), dtype=np.intp)
        takes = template.passes & template.fits_future
        found = self._found(searched, takes, task, loose)
        mask = np.zeros(len(takes), dtype=np.bool_)
        mask[found] = True
        return mask

    def _found(self, searched: Rows, takes: Mask, task: Task, loose: Loose | None) -> Rows:
        count = len(searched)
        if not count:
            return searched
        begin = self.cursor % count
        turn = np.concatenate([searched[begin:], searched[:begin]])
        places = np.flatnonzero(takes[turn])
        if loose is not None and len(places):
            passing = np.isin(turn[places], loose.passing(task, np.sort(turn[places])))
            places = places[passing]
        wanted = self.wanted(count)
        # One match more than wanted ends the search; it was visited, but is not among the results.
        visited = int(places[wanted]) + 1 if len(places) > wanted else count
        self.cursor = (begin + visited) % count
        result: Rows = turn[places[:wanted]]
        return result
