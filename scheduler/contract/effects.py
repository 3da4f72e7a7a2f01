"""
Filters and scores with their declared effects: what they read of a task, and what a placement makes stale.

The declaration is what speed rests on. From `reads` follows which tasks are identical, from `effect` how much must
be computed again after a placement. A function that declares nothing is correct and slow: it is asked for each task
and each node anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from scheduler.contract.cells import Passes, Rate
from scheduler.contract.view import View
from scheduler.state.dimensions import Dimensions, Floats

if TYPE_CHECKING:
    from scheduler.placing.tracks import FilterTrack, ScoreTrack
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

Verdicts = NDArray[np.int32]
"""A node each: 0 passes, `i` is refused with the filter's `refusals[i - 1]`."""

UNIQUE = ("task",)
"""`reads` of a function that may look at anything of the task: no two tasks are identical to it."""


class Code(IntEnum):
    """Answers of a filter (scheduler.md 12.1)."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    """Evicting others may help."""
    UNRESOLVABLE = 3
    """Evicting others can't help."""
    WAIT = 4
    SKIP = 5

    @property
    def aborts(self) -> bool:
        """Whether the later filters of that node are not asked."""
        return self not in {Code.SUCCESS, Code.UNSCHEDULABLE}


class Effect(IntEnum):
    """What a placement makes stale of a filter's or score's answers, from cheap to dear."""

    STATIC = 0
    """Nothing: only a change of the node object itself."""
    COLUMNS = 1
    """The node placed on, through its columns alone: may be evaluated ahead."""
    ROW = 2
    """The node placed on, through anything about it, such as its tasks."""
    DOMAIN = 3
    """All nodes with the same value of a topology label."""
    ALL = 4
    """Every node."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a filter turns a node down. The reason is text that users and autoscalers read."""

    code: Code
    reason: str


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """
    A test of nodes for a task.

    `evaluate(task, view)` gives `(len(view),) int32` verdicts; `applies(task)` False passes the filter over.
    `topology_key` is the node label of a `DOMAIN` effect. `upfront` filters say the same of every node, and are told
    before any node is looked at. `single(task, dimensions)`, of a `COLUMNS` effect that reads nothing of a node but its
    columns, gives a function of one node (`NodeCells`) that answers True where the array form says 0: it makes
    placements that alternate between jobs fast. `foremost` filters are told before a lack of resources is. `track` (of an `ALL` effect) follows the verdicts through a run of identical tasks; it gives None when it can't.
    """

    name: str
    plugin: str
    refusals: Sequence[Refusal]
    evaluate: Callable[[Task, View], Verdicts]
    reads: tuple[str, ...] = UNIQUE
    effect: Effect = Effect.ALL
    topology_key: str = ""
    applies: Callable[[Task], bool] | None = None
    upfront: bool = False
    foremost: bool = False
    single: Callable[[Task, Dimensions], Passes] | None = None
    track: Callable[[Task, Cluster], FilterTrack | None] | None = None


class Normaliser(Protocol):
    """Maps raw scores of the candidates to 0..100. The result depends on their bounds alone."""

    def bounds(self, raw: Floats) -> tuple[float, ...]:
        """Those of the minimum and maximum of the candidates' raw scores that `scale` needs."""

    def scale(self, raw: Floats, bounds: tuple[float, ...]) -> Floats:
        """The normalised scores."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """
    A rating of nodes for a task; higher is better.

    `evaluate(task, view)` gives `(len(view),) float64` raw scores. They are normalised over the candidates if there
    is a normaliser, then multiplied by `weight`, and added up: plain scores first, then normalised ones, each in the
    order of registration. A score that is rated `among` the candidates (it needs a normaliser) is asked once these
    are known, with a view of all of them. `track` is explained at `Filter`, and so is `single`, which gives the raw
    score, to the very bit.
    """

    name: str
    plugin: str
    evaluate: Callable[[Task, View], Floats]
    weight: float = 1.0
    reads: tuple[str, ...] = UNIQUE
    effect: Effect = Effect.ALL
    topology_key: str = ""
    normaliser: Normaliser | None = None
    applies: Callable[[Task], bool] | None = None
    among: bool = False
    single: Callable[[Task, Dimensions], Rate] | None = None
    track: Callable[[Task, Cluster], ScoreTrack | None] | None = None

    def normalise(self, raw: Floats) -> Floats:
        """The raw scores of the candidates, normalised if this score is."""
        if self.normaliser is None:
            return raw
        return self.normaliser.scale(raw, self.normaliser.bounds(raw))


class DefaultNormaliser(msgspec.Struct, frozen=True):
    """Kubernetes' usual one: 100 * s / max in whole numbers, then 100 - s if reversed (plugins.md 18)."""

    reverse: bool = False

    def bounds(self, raw: Floats) -> tuple[float, ...]:
        """Only the maximum counts."""
        return (float(raw.max()) if len(raw) else 0.0,)

    def scale(self, raw: Floats, bounds: tuple[float, ...]) -> Floats:
        """All 100 (reversed) or unchanged where the maximum is 0."""
        top = bounds[0]
        if top == 0.0:
            return np.full(len(raw), 100.0) if self.reverse else raw
        scaled = np.trunc(100.0 * raw / top)
        return 100.0 - scaled if self.reverse else scaled


class PerNode(msgspec.Struct):
    """Adapts a plain predicate of (task, node) to a filter's array form, keeping each reason that it gives."""

    function: Callable[..., Refusal | str | None]
    refusals: list[Refusal] = msgspec.field(default_factory=list)

    def __call__(self, task: Task, view: View) -> Verdicts:
        """Ask for each node in turn."""
        verdicts = np.zeros(len(view), dtype=np.int32)
        for place, node in enumerate(view.nodes):
            answer = self.function(task, node)
            if answer is not None:
                verdicts[place] = self._number(answer)
        return verdicts

    def _number(self, answer: Refusal | str) -> int:
        refusal = Refusal(Code.ERROR, answer) if isinstance(answer, str) else answer
        if not isinstance(refusal, Refusal):
            raise TypeError(f"a predicate answered {answer!r}; a Refusal or a text is needed, or None where it passes")
        if refusal not in self.refusals:
            self.refusals.append(refusal)
        return self.refusals.index(refusal) + 1
