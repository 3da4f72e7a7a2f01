"""
A run of identical tasks whose nodes depend on where their siblings stand: spread over zones, one a host.

Nodes are taken by class (see `tracks`): within a class the order is by the node's own score, which a placement
changes for one node only; between classes it is by what the class is worth, a few numbers that are computed anew after
each placement. So a step costs as much as there are classes, not as there are nodes. The run stops early where what
it assumes would no longer hold.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.placing.ranking import Bound, Totals, weighted
from scheduler.placing.steady import Steady
from scheduler.placing.template import ALLOCATE, Template
from scheduler.placing.tracks import Classes, Domains, FilterTrack, Gate, Rating, ScoreTrack, Watch
from scheduler.state.dimensions import Coefficients, Floats, Mask, Rows

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster

_MAX_CLASSES = 512
"""With more classes than this a step would cost as much as looking at all nodes."""
_MAX_CODES = 1 << 20
_LEVELS = 4
"""A run stops when it would put so many tasks on one node, where that changes what the node is worth."""
_FIRST_STEPS = 4
_TOGETHER = 32

Entry = tuple[float, int, int]
"""Negated score without what the class is worth, column, place in the class."""


class _Class:
    """The nodes of a class that may still be taken, best first: untouched ones in `rows`, touched ones in a heap."""

    __slots__ = ("fresh", "heap", "initial", "limits", "rows", "taken", "upcoming")

    def __init__(self, rows: list[int], initial: list[float], limits: list[float] | None) -> None:
        self.rows = rows
        self.initial = initial
        self.limits = limits
        self.fresh = 0
        self.heap: list[Entry] = []
        self.taken: dict[int, int] = {}
        self.upcoming: dict[int, list[float]] = {}

    def next_level(self) -> _Class:
        """The same nodes one level up: none yet."""
        twin = _Class(self.rows, self.initial, self.limits)
        twin.fresh, twin.taken, twin.upcoming = len(self.rows), self.taken, self.upcoming
        return twin

    def head(self) -> Entry | None:
        """The best node, None when there is none left."""
        fresh = self.fresh
        if fresh < len(self.rows):
            entry = (self.initial[fresh], self.rows[fresh], fresh)
            return min(entry, self.heap[0]) if self.heap else entry
        return self.heap[0] if self.heap else None

    def take(self, entry: Entry) -> int:
        """Take out the head; gives its place."""
        place = entry[2]
        if self.heap and self.heap[0] is entry:
            heapq.heappop(self.heap)
        else:
            self.fresh += 1
        self.taken[place] = self.taken.get(place, 0) + 1
        return place

    def takes_more(self, place: int) -> bool:
        """Whether its limit lets a node take another one."""
        return self.limits is None or self.taken[place] < self.limits[place]


def prepare(
    template: Template, totals: Totals, count: int, coefficients: Coefficients, within: Mask | None
) -> ClassRun | None:
    """A run over what `totals` ranks, or None where the next task must be looked at by itself."""
    tracks = _tracks(template, totals)
    if tracks is None:
        return None
    scores, filters = tracks
    count = min([count, *(track.at_most for track in filters if track.at_most is not None)])
    base = _base(template, coefficients, within, filters)
    if count < 2 or not _is_safe(template, coefficients, base, scores, filters):
        return None
    rows = np.flatnonzero(base)
    rated = [(bound, track) for bound, track in scores if track.rating is not None]
    steady = [bound for bound, track in scores if track.rating is None]
    fixed = [bound for bound in totals.bounds if bound.score.track is None] + steady
    stride = _LEVELS if any(track.gain for _, track in rated) else 1
    if stride > 1 and any((bound.raw[rows] != bound.raw[rows[0]]).any() for bound in fixed):
        return None
    gates = [gate for track in filters for gate in track.gates]
    numbers = _classes(template.cluster, rows, gates, [track for _, track in rated], stride)
    if numbers is None:
        return None
    ratings = [(bound, track.rating) for bound, track in rated if track.rating is not None]
    is_tight = any(track.needs_all for _, track in scores)
    return ClassRun(template, rows, numbers, fixed, gates, ratings, filters, count, coefficients, stride, is_tight)


def _tracks(template: Template, totals: Totals) -> tuple[list[tuple[Bound, ScoreTrack]], list[FilterTrack]] | None:
    """What follows the answers of the tracked functions, None where one can't be followed."""
    cluster, task = template.cluster, template.task
    scores: list[tuple[Bound, ScoreTrack]] = []
    for bound in totals.bounds:
        if bound.score.track is not None:
            score = bound.score.track(task, cluster)
            if score is None:
                return None
            scores.append((bound, score))
    filters: list[FilterTrack] = []
    for function in template.tracked.filters:
        found = function.track(task, cluster) if function.track is not None else None
        if found is None:
            return None
        filters.append(found)
    return scores, filters


def _is_safe(
    template: Template,
    coefficients: Coefficients,
    base: Mask,
    scores: Sequence[tuple[Bound, ScoreTrack]],
    filters: Sequence[FilterTrack],
) -> bool:
    """Whether what the tracks assume holds on all these nodes."""
    if any(track.needs_all for _, track in scores) and any(
        track.gates or track.limits is not None for track in filters
    ):
        # Nodes would drop out with nearly every placement.
        return False
    counted = [track.counted for track in filters] + [track.counted for _, track in scores]
    if any(mask is not None and (base & ~mask).any() for mask in counted):
        return False
    # Where a class with room now may open, tasks would stop waiting for room that is still being released.
    return coefficients == ALLOCATE or not (base & template.fits_idle).any()


def _base(template: Template, coefficients: Coefficients, within: Mask | None, tracks: Sequence[FilterTrack]) -> Mask:
    """Nodes that may take a task, now or when their class opens."""
    base = template.fits_idle if coefficients == ALLOCATE else template.fits_future
    base = base & template.static.passes & template.near.passes
    for track in tracks:
        base &= track.base
    if within is not None:
        base &= within
    return base


def _classes(
    cluster: Cluster, rows: Rows, gates: Sequence[Gate], tracks: Sequence[ScoreTrack], stride: int
) -> Rows | None:
    """
    The class of each row; tells gates and ratings what the classes are. None when there are too many.

    Each class is followed by those of the next `stride - 1` levels of its nodes.
    """
    ratings = [(track.rating, track) for track in tracks if track.rating is not None]
    keys = sorted({key for gate in gates for key in gate.keys} | {key for rating, _ in ratings for key in rating.keys})
    axes: list[tuple[Rows, int]] = [(cluster.label(key).numbers[rows], len(cluster.label(key).values)) for key in keys]
    steps: list[list[float]] = []
    for _, track in ratings:
        found, inverse = np.unique(
            track.levels[rows] if track.levels is not None else np.zeros(len(rows)), return_inverse=True
        )
        axes.append((inverse, len(found)))
        steps.append(found.tolist())
    size, codes = 1, np.zeros(len(rows), dtype=np.intp)
    for numbers, length in axes:
        size *= length
        if size > _MAX_CODES:
            return None
        codes = codes * length + numbers
    sizes = np.bincount(codes, minlength=size)
    present = np.flatnonzero(sizes)
    if len(present) * stride > _MAX_CLASSES:
        return None
    number_of = np.zeros(size, dtype=np.intp)
    number_of[present] = np.arange(len(present)) * stride
    own: list[list[int]] = []
    rest = np.repeat(present, stride)
    for _, length in reversed(axes):
        rest, place = np.divmod(rest, length)
        own.insert(0, place.tolist())
    columns = dict(zip(keys, own, strict=False))
    nodes = [
        count if not number % stride else 0 for number, count in enumerate(np.repeat(sizes[present], stride).tolist())
    ]
    for gate in gates:
        gate.begin(_domains(columns, gate.keys, len(nodes)))
    for (rating, track), values, places in zip(ratings, steps, own[len(keys) :], strict=True):
        worth = [values[place] + number % stride * track.gain for number, place in enumerate(places)]
        rating.begin(Classes(_domains(columns, rating.keys, len(nodes)), worth, nodes))
    result: Rows = number_of[codes]
    return result


def _domains(columns: dict[str, list[int]], keys: Sequence[str], count: int) -> Domains:
    wanted = [columns[key] for key in keys]
    return [tuple(column[place] for column in wanted) for place in range(count)]


class ClassRun:
    """One run, made by `prepare`."""

    def __init__(  # noqa: PLR0917  # one caller, above
        self,
        template: Template,
        rows: Rows,
        numbers: Rows,
        fixed: Sequence[Bound],
        gates: Sequence[Gate],
        rated: Sequence[tuple[Bound, Rating]],
        tracks: Sequence[FilterTrack],
        count: int,
        coefficients: Coefficients,
        stride: int,
        is_tight: bool,  # noqa: FBT001
    ) -> None:
        self.template = template
        self.stride = stride
        self.is_tight = is_tight
        self.gates = gates
        self.rated = rated
        self.count = count
        self.coefficients = coefficients
        self.fixed = fixed
        own = (template.plain if coefficients == ALLOCATE else template.plain_future())[rows]
        for bound in fixed:
            own = own + bound.part(bound.raw[rows])
        limits = _least([track.limits for track in tracks])
        self.steady = [Steady(bound, rows, numbers) for bound in fixed]
        self.watches = [_Watching(watch) for track in tracks for watch in track.watches]
        self.classes: list[_Class] = []
        for number in range(0, int(numbers.max(initial=-stride)) + stride, stride):
            group = _best_of(rows, own, limits, np.flatnonzero(numbers == number), count)
            self.classes += [group, *(group.next_level() for _ in range(stride - 1))]
        self.live: list[int] = []
        self.heads: list[Entry | None] = [each.head() for each in self.classes]
        self.worth: list[float] = [0.0] * len(self.classes)

    def place(self) -> list[int]:
        """The chosen rows, in the order of the tasks."""
        chosen: list[int] = []
        self._look(is_first=True)
        while self.live and len(chosen) < self.count:
            number, entry = self._best()
            row = entry[1]
            chosen.append(row)
            if not self._take(number, entry) or len(chosen) == self.count:
                break
            for gate in self.gates:
                gate.place(number)
            for _, rating in self.rated:
                rating.place(number)
            if not all(watching.holds(row) for watching in self.watches) or not self._look():
                break
        return chosen

    def _best(self) -> tuple[int, Entry]:
        best = self.live[0]
        entry = self.heads[best]
        assert entry is not None
        rank = (entry[0] - self.worth[best], entry[1])
        for number in self.live[1:]:
            other = self.heads[number]
            assert other is not None
            other_rank = (other[0] - self.worth[number], other[1])
            if other_rank < rank:
                best, entry, rank = number, other, other_rank
        return best, entry

    def _take(self, number: int, entry: Entry) -> bool:
        """Put one task on a node; whether the bounds of the fixed scores still stand."""
        group = self.classes[number]
        place = group.take(entry)
        score = self._next(group, place) if group.takes_more(place) else np.inf
        target = number if self.stride == 1 else number + 1
        if score != np.inf:
            if self.stride > 1 and target % self.stride == 0:
                return False
            heapq.heappush(self.classes[target].heap, (score, entry[1], place))
            self.heads[target] = self.classes[target].head()
        self.heads[number] = group.head()
        if score != np.inf:
            return True
        return not self.is_tight and all(steady.leaves(number, entry[1]) for steady in self.steady)

    def _next(self, group: _Class, place: int) -> float:
        """The negated score of a node for one more task, inf when it has no room."""
        taken = group.taken[place]
        upcoming = group.upcoming
        known = len(upcoming.get(place, ()))
        if taken > known:
            near = range(place, min(place + _TOGETHER, len(group.rows)))
            alike = [other for other in near if len(upcoming.get(other, ())) == known]
            rows = np.array([group.rows[other] for other in alike], dtype=np.intp)
            steps = max(_FIRST_STEPS, known)
            possible, plain = self.template.ahead(rows, known + 1, steps, self.coefficients)
            for bound in self.fixed:
                plain = plain + bound.part(bound.raw[rows])[:, None]
            table = np.where(possible, -plain, np.inf).tolist()
            for other, more in zip(alike, table, strict=True):
                upcoming.setdefault(other, []).extend(more)
        return upcoming[place][taken - 1]

    def _look(self, *, is_first: bool = False) -> bool:
        """Find out which classes take a task and what each is worth; whether the fixed scores still stand."""
        opens = [gate.is_open() for gate in self.gates]
        live = [
            number
            for number, head in enumerate(self.heads)
            if head is not None and all(is_open[number] for is_open in opens)
        ]
        if live != self.live:
            self.live = live
            if not is_first and not all(steady.stands(live) for steady in self.steady):
                return False
        if not live:
            return False
        for place, (bound, rating) in enumerate(self.rated):
            raw = np.array(rating.raw(live))
            assert bound.score.normaliser is not None
            parts = weighted(bound.score, raw, bound.score.normaliser.bounds(raw)).tolist()
            for number, part in zip(live, parts, strict=True):
                self.worth[number] = part + (self.worth[number] if place else 0.0)
        return True


class _Watching:
    """Counts down the nodes that hold something up."""

    def __init__(self, watch: Watch) -> None:
        self._nodes = watch.nodes.copy()
        self._holders = watch.holders

    def holds(self, row: int) -> bool:
        """A task went to a node; whether some holder is left."""
        if self._nodes[row]:
            self._nodes[row] = False
            self._holders -= 1
        return self._holders > 0


def _least(limits: Sequence[Floats | None]) -> Floats | None:
    given = [limit for limit in limits if limit is not None]
    return np.minimum.reduce(given) if given else None


def _best_of(rows: Rows, own: Floats, limits: Floats | None, members: Rows, count: int) -> _Class:
    """The best nodes of a class, as many as the run has tasks."""
    scores = own[members]
    if count < len(members):
        threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
        members = members[scores >= threshold]
        scores = own[members]
    order = members[np.argsort(-scores, kind="stable")[:count]]
    picked = rows[order]
    return _Class(picked.tolist(), (-own[order]).tolist(), limits[picked].tolist() if limits is not None else None)
