"""binpack: prefers nodes that are already full, so that others stay free for large jobs (plugins.md 19)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.cells import NodeCells, Rate
from scheduler.contract.effects import Effect, Score
from scheduler.contract.view import View
from scheduler.plugin import Plugin
from scheduler.state.dimensions import MIN_RESOURCE, Dimensions, Floats

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments
    from scheduler.session import Session
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

MAX_SCORE = 100


class BinPack(Plugin):
    """One score: the mean share of use, weighted by resource, 0 where the pod would not fit."""

    name = "binpack"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {
        "binpack.weight": Type.INT,
        "binpack.cpu": Type.INT,
        "binpack.memory": Type.INT,
        "binpack.resources": Type.TEXT,
        "binpack.resources.*": Type.INT,
    }

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.weight = arguments.int("binpack.weight", 1)
        if self.weight < 0:
            log.warning(
                "argument refused plugin=%s binpack.weight=%d: a weight is 0 or more; using 1", self.name, self.weight
            )
            self.weight = 1
        listed = (name.strip() for name in arguments.text("binpack.resources", "").split(","))
        keys = {"cpu": "binpack.cpu", "memory": "binpack.memory"}
        keys |= {name: f"binpack.resources.{name}" for name in listed if name}
        self.weights = {name: self._resource_weight(key) for name, key in keys.items()}
        self._has_warned = False

    def _resource_weight(self, key: str) -> int:
        weight = self.arguments.int(key, 1)
        return weight if weight >= 0 else 1

    def on_session_open(self, session: Session) -> None:
        """Register the score; a weight of 0 registers nothing."""
        self._warn_of_unknown(session.cluster)
        if self.weight:
            session.add_score(
                Score(
                    name="binpack",
                    plugin=self.name,
                    evaluate=self.rate,
                    weight=float(self.weight),
                    reads=("request",),
                    effect=Effect.COLUMNS,
                    single=self.rate_one,
                )
            )

    def _warn_of_unknown(self, cluster: Cluster) -> None:
        """Say once which listed resources no node has: they are misspelt, or not there yet."""
        if self._has_warned or not cluster.nodes:
            return
        self._has_warned = True
        for name in self.weights:
            column = cluster.dimensions.get(name)
            if column is None or not cluster.columns.allocatable[column].any():
                log.warning("resource unknown plugin=%s binpack.resources=%s: no node has it", self.name, name)

    def rate(self, task: Task, view: View) -> Floats:
        """0..100 a node: 100 * sum((used + request) * weight / capacity) / sum(weight)."""
        shares = np.zeros(len(view))
        over = np.zeros(len(view), dtype=np.bool_)
        weights = 0
        for name, weight in self.weights.items():
            asked = task.request.amounts.get(name, 0.0)
            column = view.cluster.dimensions.get(name)
            if asked < MIN_RESOURCE or column is None:
                continue
            weights += weight
            capacity, after = view.allocatable[column], view.staying[column] + asked
            counts = (capacity > 0.0) & (weight > 0)
            over |= counts & (after > capacity)
            shares += np.where(counts, after * weight / np.where(counts, capacity, 1.0), 0.0)
        if not weights:
            return np.zeros(len(view))
        return np.where(over, 0.0, shares / weights * MAX_SCORE)

    def rate_one(self, task: Task, dimensions: Dimensions) -> Rate:
        """`rate` in its single form."""
        asked = [
            (column, amount, weight)
            for name, weight in self.weights.items()
            if (amount := task.request.amounts.get(name, 0.0)) >= MIN_RESOURCE
            and (column := dimensions.get(name)) is not None
        ]
        weights = sum(weight for _, _, weight in asked)

        def rate(node: NodeCells) -> float:
            shares = 0.0
            for column, amount, weight in asked:
                capacity = node.allocatable[column]
                if capacity > 0.0 and weight > 0:
                    after = node.used[column] + amount
                    if after > capacity:
                        return 0.0
                    shares += after * weight / capacity
            return shares / weights * MAX_SCORE

        return rate if weights else lambda _: 0.0
