"""
Functions of plugins that declare nothing: asked for every task and every node, after the declared ones.

They are kept apart so that one such plugin costs its own calls, and doesn't take from the built-in functions what
their declarations gain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from scheduler.contract.effects import Filter, Score
from scheduler.contract.view import View
from scheduler.state.dimensions import Floats, Rows

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.node import Node
    from scheduler.state.task import Task

BestNode = Callable[["Task", Mapping[float, Sequence["Node"]]], "Node | None"]
"""Picks among nodes by score; None leaves the choice to the scores."""


class Loose:
    """Filters and scores that read `task`, and the functions that pick a best node."""

    def __init__(
        self, cluster: Cluster, filters: Sequence[Filter], scores: Sequence[Score], pickers: Sequence[BestNode]
    ) -> None:
        self.cluster = cluster
        self.filters = filters
        self.scores = scores
        self.pickers = pickers

    def passing(self, task: Task, candidates: Rows) -> Rows:
        """Those of the candidates that no loose filter refuses."""
        for function in self.filters:
            if len(candidates) and (function.applies is None or function.applies(task)):
                candidates = candidates[function.evaluate(task, View(self.cluster, candidates)) == 0]
        return candidates

    def best(self, task: Task, candidates: Rows, totals: Floats) -> int:
        """The row of the best candidate, by the declared scores in `totals` (a cell a node) and the loose ones."""
        view = View(self.cluster, candidates)
        total = totals[candidates]
        for score in self.scores:
            if score.applies is None or score.applies(task):
                total = total + score.weight * score.normalise(score.evaluate(task, view))
        if self.pickers:
            picked = self._pick(task, view, total)
            if picked is not None:
                return picked
        return int(candidates[total.argmax()])

    def _pick(self, task: Task, view: View, total: Floats) -> int | None:
        by_score: dict[float, list[Node]] = {}
        for node, score in zip(view.nodes, total.tolist(), strict=True):
            by_score.setdefault(score, []).append(node)
        for picker in self.pickers:
            picked = picker(task, by_score)
            if picked is not None:
                return picked.row
        return None
