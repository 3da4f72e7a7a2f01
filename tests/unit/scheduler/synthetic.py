"""A plugin with a filter and a score of every effect class, in the kernel's array form and in the oracle's plain form."""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler.contract.effects import Code, DefaultNormaliser, Effect, Filter, Refusal, Score
from scheduler.contract.view import View
from scheduler.plugin import Plugin
from scheduler.state.dimensions import PODS, Floats
from tests.unit.scheduler.slow import Slow, SlowNode, SlowTask

ZONE_LIMIT = 4
NO = (Refusal(Code.UNSCHEDULABLE, "synthetic"),)


class Synthetic(Plugin):
    """`arguments` switches the functions on by name."""

    name = "synthetic"

    def on_session_open(self, session: Any) -> None:
        on = self.arguments.text("functions", "")
        for name, effect, function in (
            ("row", Effect.ROW, odd_tasks),
            ("domain", Effect.DOMAIN, zone_full),
            ("all", Effect.ALL, cluster_full),
        ):
            if f"{name}," in on:
                key = "zone" if effect is Effect.DOMAIN else ""
                session.add_filter(
                    Filter(name=name, plugin=self.name, refusals=NO, evaluate=function, reads=("request",),
                           effect=effect, topology_key=key)
                )  # fmt: skip
        for name, effect, rating, normaliser in (
            ("columns-score", Effect.COLUMNS, pods_left, None),
            ("row-score", Effect.ROW, tasks_there, DefaultNormaliser()),
            ("domain-score", Effect.DOMAIN, zone_pods, DefaultNormaliser(reverse=True)),
            ("all-score", Effect.ALL, pods_everywhere, None),
        ):
            if f"{name}," in on:
                key = "zone" if effect is Effect.DOMAIN else ""
                session.add_score(
                    Score(name=name, plugin=self.name, evaluate=rating, weight=2.0, reads=("request",), effect=effect,
                          topology_key=key, normaliser=normaliser)
                )  # fmt: skip
        if "loose" in on:
            session.add_predicate(self.name, lambda task, node: "no" if (task.ordinal + node.row) % 3 == 0 else None)
            session.add_node_order(self.name, lambda task, node: float((task.ordinal * 7 + node.row * 5) % 11))


def odd_tasks(task: Any, view: View) -> Any:
    return np.array([len(node.tasks) % 4 == 3 for node in view.nodes], dtype=np.int32)


def _zone_pods(view: View) -> Floats:
    cluster = view.cluster
    facet = cluster.label("zone")
    weights = cluster.columns.requested[PODS]
    # What has weights is summed in float64, which numpy's types don't say.
    pods = np.bincount(facet.numbers, weights=weights, minlength=len(facet.values)).astype(np.float64)
    pods[[place for place, value in enumerate(facet.values) if value is None]] = 0.0
    result: Floats = pods[facet.numbers[view.rows]]
    return result


def zone_full(task: Any, view: View) -> Any:
    return (_zone_pods(view) >= ZONE_LIMIT).astype(np.int32)


def cluster_full(task: Any, view: View) -> Any:
    total = view.cluster.columns.requested[PODS].sum()
    return ((view.rows + int(total)) % 5 == 0).astype(np.int32)


def pods_left(task: Any, view: View) -> Floats:
    result: Floats = view.requested[PODS] % 3.0
    return result


def tasks_there(task: Any, view: View) -> Floats:
    return np.array([float(len(node.tasks) % 5) for node in view.nodes])


def zone_pods(task: Any, view: View) -> Floats:
    return _zone_pods(view)


def pods_everywhere(task: Any, view: View) -> Floats:
    total = int(view.cluster.columns.requested[PODS].sum())
    return ((view.rows * 3 + total) % 7).astype(np.float64)


class SlowSynthetic:
    """The same for the oracle."""

    def __init__(self, on: str) -> None:
        self.on = on

    def passes(self, task: SlowTask, node: SlowNode, slow: Slow) -> bool:
        row = slow.nodes.index(node)
        if "row," in self.on and len(node.tasks) % 4 == 3:
            return False
        if "domain," in self.on and self.zone_pods(node, slow) >= ZONE_LIMIT:
            return False
        if "all," in self.on and (row + self.everywhere(slow)) % 5 == 0:
            return False
        return not ("loose," in self.on and (task.ordinal + row) % 3 == 0)

    def plain(self, task: SlowTask, node: SlowNode, slow: Slow) -> float:
        row = slow.nodes.index(node)
        score = 0.0
        if "columns-score," in self.on:
            score += 2.0 * (len(node.tasks) % 3)
        if "all-score," in self.on:
            score += 2.0 * ((row * 3 + self.everywhere(slow)) % 7)
        if "loose," in self.on:
            score += (task.ordinal * 7 + row * 5) % 11
        return score

    def normalised(self, candidates: list[SlowNode], slow: Slow) -> list[float]:
        parts = [0.0] * len(candidates)
        if "row-score," in self.on:
            raw = [len(node.tasks) % 5 for node in candidates]
            parts = [part + 2.0 * (100 * r // max(raw) if max(raw) else r) for part, r in zip(parts, raw, strict=True)]
        if "domain-score," in self.on:
            raw = [int(self.zone_pods(node, slow)) for node in candidates]
            parts = [
                part + 2.0 * (100 - 100 * r // max(raw) if max(raw) else 100)
                for part, r in zip(parts, raw, strict=True)
            ]
        return parts

    @staticmethod
    def everywhere(slow: Slow) -> int:
        return sum(len(node.tasks) for node in slow.nodes)

    @staticmethod
    def zone_pods(node: SlowNode, slow: Slow) -> int:
        zone = node.object.metadata.labels.get("zone")
        if zone is None:
            return 0
        return sum(len(other.tasks) for other in slow.nodes if other.object.metadata.labels.get("zone") == zone)
