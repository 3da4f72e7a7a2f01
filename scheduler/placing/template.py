"""
What is known of the nodes for one kind of task: who passes, who has room, how they score.

Kept by column over placements and over sessions. Before each use only the columns that changed since are computed
again, and of these only by the functions whose declared effect reaches them: a template has a layer for each effect.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.cells import NodeCells
from scheduler.contract.effects import Effect, Filter, Score
from scheduler.contract.view import View
from scheduler.placing.ranking import NO, Bound, Totals, on_grid
from scheduler.placing.single import single_of
from scheduler.state.cluster import coefficients
from scheduler.state.dimensions import MIN_RESOURCE, Coefficients, Floats, Mask, Rows
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

ALLOCATE = coefficients(Status.ALLOCATED, in_kube=True)
PIPELINE = coefficients(Status.PIPELINED, in_kube=True)
_NEAR = (Effect.COLUMNS, Effect.ROW)
_FEW = 24
"""So many nodes are looked at sooner one by one than as arrays."""


class Layer:
    """The functions of a template that go stale together, and their answers by column."""

    def __init__(self, filters: Iterable[Filter], scores: Sequence[Score], topology_key: str = "") -> None:
        self.filters = tuple(filters)
        self.scores = tuple(score for score in scores if score.normaliser is None)
        self.normalised = tuple(score for score in scores if score.normaliser is not None)
        self.topology_key = topology_key
        self.resize(0)

    @property
    def is_empty(self) -> bool:
        """Whether no function belongs here."""
        return not (self.filters or self.scores or self.normalised)

    def resize(self, nodes: int) -> None:
        """Make room for that many nodes; what was known is void."""
        self.passes: Mask = np.ones(nodes, dtype=np.bool_)
        self.plain: Floats = np.zeros(nodes)
        self.raw: list[Floats] = [np.zeros(nodes) for _ in self.normalised]

    def evaluate(self, task: Task, view: View) -> None:
        """Compute the columns of a view again."""
        rows = view.rows
        self.passes[rows] = self.test(task, view)
        self.plain[rows] = self.rate(task, view)
        for raw, score in zip(self.raw, self.normalised, strict=True):
            if not score.among:
                raw[rows] = score.evaluate(task, view)

    def test(self, task: Task, view: View) -> Mask:
        """Which nodes of a view no filter of this layer refuses."""
        passes = np.ones(len(view), dtype=np.bool_)
        for function in self.filters:
            passes &= function.evaluate(task, view) == 0
        return passes

    def rate(self, task: Task, view: View) -> Floats:
        """Weighted sum of this layer's scores without normaliser."""
        total = np.zeros(len(view))
        for score in self.scores:
            total += score.weight * score.evaluate(task, view)
        return on_grid(total) if self.scores else total


class Template:
    """
    Rows of answers for one kind of task. Masks and scores have one cell a node, in rank order.

    `passes`: no filter refuses. `fits_idle`, `fits_future`: the request is within idle, or within what will be idle.
    `candidates`: passes and fits now; `totals` keeps the summed scores of exactly these.
    """

    def __init__(self, cluster: Cluster, task: Task, filters: Sequence[Filter], scores: Sequence[Score]) -> None:
        self.cluster = cluster
        self.task = task
        self.request = task.request
        self.filters = tuple(f for f in filters if f.applies is None or f.applies(task))
        self.scores = tuple(s for s in scores if s.applies is None or s.applies(task))
        self.static = self._layer(Effect.STATIC)
        self.near = self._layer(*_NEAR)
        self.functions: tuple[Filter | Score, ...] = (*self.filters, *self.scores)
        keys = sorted({f.topology_key for f in self.functions if f.effect is Effect.DOMAIN})
        self.domains = [self._layer(Effect.DOMAIN, topology_key=key) for key in keys]
        self.all = self._layer(Effect.ALL)
        self.tracked = Layer([f for f in self.filters if f.track], [s for s in self.scores if s.track])
        """Functions of the pods that stand elsewhere: stale only when a count of these changed."""
        self.layers = (self.static, self.near, *self.domains, self.all, self.tracked)
        self.can_run = self._can_run()
        """Whether the outcome of a run of placements can be computed ahead."""
        self.single = single_of(task, cluster.dimensions, self.near.filters, (*self.near.scores, *self.near.normalised))
        """The layer `near` for one node at a time, None where a function of it has no single form."""
        self.is_near = self.can_run and self.tracked.is_empty and self.single is not None
        """Whether a placement changes what is known of one node only, and that by its columns."""
        self.near_key = self._near_key()
        """Templates with an equal one get the same from `single`, and take the same room."""
        self._moved = self._changed = self._sighted = 0

    def _layer(self, *effects: Effect, topology_key: str = "") -> Layer:
        def belongs(function: Filter | Score) -> bool:
            return function.effect in effects and function.topology_key == topology_key and function.track is None

        return Layer(
            [function for function in self.filters if belongs(function)],
            [function for function in self.scores if belongs(function)],
            topology_key,
        )

    def _near_key(self) -> Hashable:
        functions: tuple[Filter | Score, ...] = (*self.near.filters, *self.near.scores)
        if any(set(function.reads) - {"request"} for function in functions):
            return self
        names = tuple((function.plugin, function.name) for function in functions)
        return names, tuple(sorted(self.request.amounts.items())), self.request.nonzero

    def _can_run(self) -> bool:
        others = [function for function in self.functions if function.track is None]
        ahead = all(function.effect <= Effect.COLUMNS for function in others)
        normalised = [score for score in self.scores if score.normaliser is not None and score.track is None]
        return ahead and all(score.effect is Effect.STATIC for score in normalised)

    # Keeping up with the cluster.

    def refresh(self) -> None:
        """Bring all rows up to date."""
        touched = self.cluster.touched
        changed, moved = touched.changed.since(self._changed), touched.moved.since(self._moved)
        self._changed, self._moved = touched.changed.position, touched.moved.position
        sighted, self._sighted = self._sighted, self.cluster.sight.moves
        if changed is None or moved is None:
            self._start()
            return
        if len(changed):
            self.static.evaluate(self.task, View(self.cluster, changed))
            moved = np.union1d(changed, moved)
        counted = not self.tracked.is_empty and (sighted != self._sighted or len(changed) > 0)
        if not len(moved) and not counted:
            return
        if self.is_near and len(moved) <= _FEW and not len(changed):
            self._renew(moved.tolist())
            return
        view = View(self.cluster, moved)
        self.near.evaluate(self.task, view)
        self.fits_idle[moved], self.fits_future[moved] = self.fits(view)
        for layer in self.domains:
            # A node that changed may have left its domain, and which one that was is no longer known.
            rows = View.all(self.cluster).rows if len(changed) else self.cluster.domain_mates(layer.topology_key, moved)
            layer.evaluate(self.task, View(self.cluster, rows))
        for layer, is_stale in ((self.all, True), (self.tracked, counted)):
            if is_stale and not layer.is_empty:
                layer.evaluate(self.task, View.all(self.cluster))
        if self.domains or not (self.all.is_empty and self.tracked.is_empty) or self.near.normalised:
            # Answers changed elsewhere, or raw values of nodes that stay candidates: the bounds must be taken anew.
            self._join_all()
            return
        self._join(moved)
        self.totals.update(moved, self.candidates, self.plain)

    def _renew(self, rows: Sequence[int]) -> None:
        """What `refresh` does about nodes where tasks came or went, one by one."""
        single, columns, near = self.single, self.cluster.columns, self.near
        assert single is not None
        for row in rows:
            node = NodeCells(columns.allocatable[:, row].tolist(), columns.dynamic[:, row].tolist())
            near.passes[row], worth = single.passes(node), single.plain(node)
            self.fits_idle[row], self.fits_future[row] = single.fits_idle(node), single.fits_future(node)
            self.passes[row] = self.static.passes[row] and near.passes[row] and self.all.passes[row]
            is_candidate = self.candidates[row] = self.passes[row] and self.fits_idle[row]
            change, near.plain[row] = worth - near.plain[row], worth
            self.plain[row] += change
            if is_candidate and self.totals.total[row] != NO:
                # Scores are on a grid, so that this is exact.
                self.totals.total[row] += change
            else:
                self.totals.update(np.array([row]), self.candidates, self.plain)

    def _start(self) -> None:
        nodes = len(self.cluster.nodes)
        view = View.all(self.cluster)
        for layer in self.layers:
            layer.resize(nodes)
            layer.evaluate(self.task, view)
        self.fits_idle, self.fits_future = self.fits(view)
        self.passes = np.ones(nodes, dtype=np.bool_)
        self.plain = np.zeros(nodes)
        self.candidates = np.ones(nodes, dtype=np.bool_)
        self.totals = Totals(nodes, self.bounds())
        self._join_all()

    def _join(self, rows: Rows | slice) -> None:
        self.passes[rows] = self.static.passes[rows] & self.near.passes[rows] & self.all.passes[rows]
        self.plain[rows] = self.static.plain[rows] + self.near.plain[rows] + self.all.plain[rows]
        self.candidates[rows] = self.passes[rows] & self.fits_idle[rows]

    def _join_all(self) -> None:
        self._join(slice(None))
        for layer in (*self.domains, self.tracked):
            self.passes &= layer.passes
            self.plain += layer.plain
        self.candidates &= self.passes
        self.totals.rebuild(self.candidates, self.plain)

    def fits(self, view: View) -> tuple[Mask, Mask]:
        """
        Which nodes of a view have room now, and which once releasing resources are free.

        Room that is free now but promised to pipelined tasks is no room (scheduler.md 12.1).
        """
        idle = np.ones(len(view), dtype=np.bool_)
        needed = self.request.needed(self.cluster.dimensions)
        for column, amount in needed:
            idle &= amount - view.idle[column] < MIN_RESOURCE
        if not view.releasing.any() and not view.pipelined.any():
            return idle, idle.copy()
        future = np.ones(len(view), dtype=np.bool_)
        for column, amount in needed:
            future &= amount - view.future_idle[column] < MIN_RESOURCE
        return idle & future, future

    # Scores.

    def worth(self, view: View) -> Floats:
        """What `Single.worth` gives for the nodes of a view. Only for templates that are `is_near`."""
        idle, _ = self.fits(view)
        worth: Floats = np.where(idle & self.near.test(self.task, view), self.near.rate(self.task, view), NO)
        return worth

    def plain_future(self) -> Floats:
        """The plain scores for a task that waits for room to be released, of all nodes."""
        view = View(self.cluster, View.all(self.cluster).rows, is_future=True)
        return self.plain - self.near.plain + self.near.rate(self.task, view)

    def bounds(self) -> list[Bound]:
        """The scores with a normaliser and their raw values of all nodes, in the order in which they are added."""
        return [
            Bound(score, raw, partial(self._among, score) if score.among else None)
            for layer in self.layers
            for score, raw in zip(layer.normalised, layer.raw, strict=True)
        ]

    def _among(self, score: Score, candidates: Rows) -> Floats:
        return score.evaluate(self.task, View(self.cluster, candidates))

    def ahead(self, rows: Rows, first: int, count: int, coefficients: Coefficients) -> tuple[Mask, Floats]:
        """
        How nodes would answer after `first` ... `first + count - 1` placements of this template there.

        Returns whether one more placement is possible, and the plain score it would get, both
        `(len(rows), count)`. Only for templates that `can_run`.
        """
        nodes = View(self.cluster, rows, is_future=coefficients == PIPELINE)
        view = nodes.steps(first, count, self.request, coefficients)
        idle, future = self.fits(view)
        passes = self.near.test(self.task, view) & (idle if coefficients == ALLOCATE else future)
        plain = np.repeat(self.static.plain[rows], count) + self.near.rate(self.task, view) + self.all.plain[view.rows]
        return passes.reshape(len(rows), count), plain.reshape(len(rows), count)
