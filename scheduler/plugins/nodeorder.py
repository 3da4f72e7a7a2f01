"""nodeorder: Kubernetes' node scores, each with a weight (plugins.md 17)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import msgspec

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.cells import Rate
from scheduler.contract.effects import DefaultNormaliser, Effect, Normaliser, Score
from scheduler.contract.view import View
from scheduler.kube import scores, single, spread
from scheduler.kube.interpod import Preferences, SpanNormaliser
from scheduler.plugin import Plugin
from scheduler.state.dimensions import Dimensions, Floats

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments
    from scheduler.placing.tracks import ScoreTrack
    from scheduler.session import Session
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)


class _Row(msgspec.Struct, frozen=True):
    argument: str
    default: int
    evaluate: Callable[[Task, View], Floats]
    reads: tuple[str, ...]
    effect: Effect
    normaliser: Normaliser | None = None
    applies: Callable[[Task], bool] | None = None
    among: bool = False
    track: Callable[[Task, Cluster], ScoreTrack | None] | None = None
    single: Callable[[Task, Dimensions], Rate] | None = None


_NODE_AFFINITY = "spec.affinity.node_affinity"
_HARD_WEIGHT = "interpodaffinity.hardPodAffinityWeight"
_MAX_HARD_WEIGHT = 100
_SCORES = (
    _Row(
        "imagelocality", 1, scores.image_locality,
        ("spec.containers", "spec.init_containers", "spec.volumes"), Effect.STATIC,
    ),
    _Row("leastrequested", 1, scores.least_allocated, ("request",), Effect.COLUMNS, single=single.least_allocated),
    _Row("mostrequested", 0, scores.most_allocated, ("request",), Effect.COLUMNS, single=single.most_allocated),
    _Row(
        "balancedresource", 1, scores.balanced_allocation, ("request",), Effect.COLUMNS, applies=scores.wants_balance,
        single=single.balanced_allocation,
    ),
    _Row(
        "nodeaffinity", 2, scores.node_affinity, (_NODE_AFFINITY,), Effect.STATIC,
        DefaultNormaliser(), scores.has_preferences,
    ),
    _Row(
        "tainttoleration", 3, scores.taint_toleration, ("spec.tolerations",), Effect.STATIC,
        DefaultNormaliser(reverse=True),
    ),
    _Row(
        "podtopologyspread", 2, spread.rate,
        ("pods", "spec.topology_spread_constraints", "spec.tolerations", "spec.node_selector", _NODE_AFFINITY),
        Effect.ALL, spread.SpreadNormaliser(), spread.has_soft, among=True, track=spread.track_rate,
    ),
)  # fmt: skip


def _pod_affinity(preferences: Preferences) -> _Row:
    return _Row(
        "podaffinity", 2, preferences.rate,
        ("pods", "spec.affinity.pod_affinity", "spec.affinity.pod_anti_affinity"),
        Effect.ALL, SpanNormaliser(), preferences.applies, track=preferences.track,
    )  # fmt: skip


class NodeOrder(Plugin):
    """Registers each score whose weight isn't 0."""

    name = "nodeorder"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared | None] = {
        "imagelocality.weight": Type.INT,
        "leastrequested.weight": Type.INT,
        "mostrequested.weight": Type.INT,
        "balancedresource.weight": Type.INT,
        "nodeaffinity.weight": Type.INT,
        "tainttoleration.weight": Type.INT,
        "podtopologyspread.weight": Type.INT,
        "podaffinity.weight": Type.INT,
        _HARD_WEIGHT: Type.INT,
    }

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        rows = (*_SCORES, _pod_affinity(Preferences(self._hard_weight())))
        self.scores = [score for row in rows if (score := self._score(row)) is not None]

    def _hard_weight(self) -> int:
        weight = self.arguments.int(_HARD_WEIGHT, 0)
        if 0 <= weight <= _MAX_HARD_WEIGHT:
            return weight
        log.warning(
            "argument refused plugin=%s %s=%d: it must be between 0 and %d; using 0",
            self.name, _HARD_WEIGHT, weight, _MAX_HARD_WEIGHT,
        )  # fmt: skip
        return 0

    def _score(self, row: _Row) -> Score | None:
        key = f"{row.argument}.weight"
        weight = self.arguments.int(key, row.default)
        if weight < 0:
            log.warning("argument refused plugin=%s %s=%d: a weight is 0 or more; using 0", self.name, key, weight)
        if weight <= 0:
            return None
        return Score(
            name=row.argument,
            plugin=self.name,
            evaluate=row.evaluate,
            weight=float(weight),
            reads=row.reads,
            effect=row.effect,
            normaliser=row.normaliser,
            applies=row.applies,
            among=row.among,
            track=row.track,
            single=row.single,
        )

    def on_session_open(self, session: Session) -> None:
        """Register the scores."""
        for score in self.scores:
            session.add_score(score)
