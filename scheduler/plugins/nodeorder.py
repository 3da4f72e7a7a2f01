"""nodeorder: Kubernetes' node scores, each with a weight (plugins.md 17)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.effects import DefaultNormaliser, Effect, Normaliser, Score
from scheduler.kube import scores
from scheduler.plugin import Plugin
from scheduler.state.dimensions import Floats
from scheduler.view import View

if TYPE_CHECKING:
    from scheduler.arguments import Arguments
    from scheduler.session import Session
    from scheduler.state.task import Task

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Row:
    argument: str
    default: int
    evaluate: Callable[[Task, View], Floats]
    reads: tuple[str, ...]
    effect: Effect
    normaliser: Normaliser | None = None
    applies: Callable[[Task], bool] | None = None


_SCORES = (
    _Row(
        "imagelocality", 1, scores.image_locality,
        ("spec.containers", "spec.init_containers", "spec.volumes"), Effect.STATIC,
    ),
    _Row("leastrequested", 1, scores.least_allocated, ("request",), Effect.COLUMNS),
    _Row("mostrequested", 0, scores.most_allocated, ("request",), Effect.COLUMNS),
    _Row(
        "balancedresource", 1, scores.balanced_allocation, ("request",), Effect.COLUMNS, applies=scores.wants_balance
    ),
    _Row(
        "nodeaffinity", 2, scores.node_affinity, ("spec.affinity.node_affinity",), Effect.STATIC,
        DefaultNormaliser(), scores.has_preferences,
    ),
    _Row(
        "tainttoleration", 3, scores.taint_toleration, ("spec.tolerations",), Effect.STATIC,
        DefaultNormaliser(reverse=True),
    ),
)  # fmt: skip


class NodeOrder(Plugin):
    """Registers each score whose weight isn't 0."""

    name = "nodeorder"
    outlives_session = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.scores = [score for row in _SCORES if (score := self._score(row)) is not None]

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
        )

    def on_session_open(self, session: Session) -> None:
        """Register the scores."""
        for score in self.scores:
            session.add_score(score)
