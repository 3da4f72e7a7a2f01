"""
The summed scores of all nodes that have room now, kept up to date node by node.

A normalised score depends on the bounds of the raw values among the candidates. As long as no bound loses its last
holder and no new candidate lies beyond one, only the touched nodes are summed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Floats, Mask, Rows

if TYPE_CHECKING:
    from scheduler.contract.effects import Score

NO = -np.inf
"""The total of a node that is no candidate."""
GRID = 2.0**24


def on_grid(scores: Floats) -> Floats:
    """
    Scores rounded to multiples of 2**-24, so that summing them up is exact below 2**29, in whatever order.

    What is computed ahead, or by class of nodes, then equals what is computed node by node to the last bit.
    """
    result: Floats = np.rint(scores * GRID) / GRID
    return result


class Bound:
    """
    A normalised score with its raw values, the bounds among the candidates and how many hold each.

    `rate(candidates)` gives the raw values of a score that depends on which nodes are candidates.
    """

    __slots__ = ("bounds", "holders", "rate", "raw", "score")

    def __init__(self, score: Score, raw: Floats, rate: Callable[[Rows], Floats] | None = None) -> None:
        self.score = score
        self.raw = raw
        self.rate = rate
        self.bounds: tuple[float, ...] = ()
        self.holders: list[int] = []

    def measure(self, candidates: Rows) -> None:
        """Take the bounds anew."""
        if self.rate is not None:
            self.raw = np.zeros(len(self.raw))
            self.raw[candidates] = self.rate(candidates)
        picked = self.raw[candidates]
        assert self.score.normaliser is not None
        self.bounds = self.score.normaliser.bounds(picked)
        self.holders = [int(np.count_nonzero(picked == bound)) for bound in self.bounds]

    def survives(self, left: Floats, joined: Floats) -> bool:
        """Whether the bounds still hold after these raw values left and joined the candidates."""
        for place, bound in enumerate(self.bounds):
            self.holders[place] += int(np.count_nonzero(joined == bound)) - int(np.count_nonzero(left == bound))
            if self.holders[place] <= 0:
                return False
        assert self.score.normaliser is not None
        return not len(joined) or self.score.normaliser.bounds(np.append(joined, self.bounds)) == self.bounds

    def part(self, raw: Floats) -> Floats:
        """What this score adds for nodes with these raw values."""
        return weighted(self.score, raw, self.bounds)


def weighted(score: Score, raw: Floats, bounds: tuple[float, ...]) -> Floats:
    """What a normalised score adds for nodes with these raw values, under these bounds."""
    assert score.normaliser is not None
    return on_grid(score.weight * score.normaliser.scale(raw, bounds))


class Totals:
    """`total` is `(nodes,) float64`, `NO` for nodes that are no candidates."""

    __slots__ = ("bounds", "total")

    def __init__(self, nodes: int, bounds: Sequence[Bound]) -> None:
        self.total: Floats = np.full(nodes, NO)
        self.bounds = bounds

    def rebuild(self, candidates: Mask, plain: Floats) -> None:
        """Sum up all candidates anew."""
        rows = np.flatnonzero(candidates)
        for bound in self.bounds:
            bound.measure(rows)
        self.total.fill(NO)
        self.total[rows] = self._sum(rows, plain)

    def update(self, rows: Rows, candidates: Mask, plain: Floats) -> None:
        """Sum up the nodes of `rows` anew; `candidates` and `plain` are those of all nodes."""
        is_one = candidates[rows]
        was_one = self.total[rows] != NO
        left, joined = rows[was_one & ~is_one], rows[is_one & ~was_one]
        if len(left) or len(joined):
            for bound in self.bounds:
                if not bound.survives(bound.raw[left], bound.raw[joined]):
                    self.rebuild(candidates, plain)
                    return
        self.total[rows] = np.where(is_one, self._sum(rows, plain), NO)

    def _sum(self, rows: Rows, plain: Floats) -> Floats:
        total: Floats = plain[rows]
        for bound in self.bounds:
            total = total + bound.part(bound.raw[rows])
        return total


def top(total: Floats, count: int) -> Rows:
    """Rows of the `count` highest totals, best first, ties by rank; fewer when there are no more candidates."""
    kept = np.flatnonzero(total != NO)
    if count < len(kept):
        threshold = np.partition(total, len(total) - count)[len(total) - count]
        kept = np.flatnonzero(total >= threshold)
    order: Rows = kept[np.argsort(-total[kept], kind="stable")[:count]]
    return order
