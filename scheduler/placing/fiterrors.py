"""Why no node takes a task, as the text that users, autoscalers and tests read (scheduler.md 12.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Filter, Verdicts
from scheduler.contract.view import View
from scheduler.state.dimensions import MIN_RESOURCE, Mask, Rows

if TYPE_CHECKING:
    from scheduler.placing.template import Template
    from scheduler.state.task import Task


@dataclass(frozen=True, slots=True)
class FitErrors:
    """
    What the examined nodes said, counted by reason.

    `nodes` is the number of nodes with an error; a node that gave two reasons counts once there, and in both.
    """

    reasons: Mapping[str, int] = field(default_factory=dict)
    nodes: int = 0
    base: str = ""
    hyper_node: str = ""

    def __str__(self) -> str:
        base = self.base or f"0/{self.nodes} nodes are unavailable"
        if not self.nodes:
            return base
        counted = ", ".join(sorted(f"{count} {reason}" for reason, count in self.reasons.items()))
        prefix = f"In hyperNode {self.hyper_node}: " if self.hyper_node else ""
        return f"{prefix}{base}: {counted}."


def everywhere(reason: str, nodes: int) -> FitErrors:
    """The same reason on every node: what held for the task alone."""
    return FitErrors({reason: nodes}, nodes) if nodes else FitErrors(base=reason)


def examine(
    template: Template, task: Task, rows: Rows, loose: tuple[Filter, ...] = (), *, is_now: bool = False
) -> FitErrors:
    """
    Ask every filter about nodes none of which took the task.

    A node without room in the future, or with `is_now` without room now, is told so and asked no further; a refusal that eviction can't mend ends the
    chain of that node, others are collected (scheduler.md 12.1, plugins.md 1.5).
    """
    for function in template.filters:
        if function.upfront:
            said = int(function.evaluate(task, View(template.cluster, rows[:1])).max(initial=0))
            if said:
                return everywhere(function.refusals[said - 1].reason, len(rows))
    reasons: dict[str, int] = {}
    asked = _tally_foremost(template, task, rows, reasons)
    left = np.flatnonzero(asked)
    asked[left] = ~_tally_insufficient(template, View(template.cluster, rows[left]), reasons, is_now=is_now)
    refused = ~asked
    for function in (*(found for found in template.filters if not found.foremost), *loose):
        if not asked.any():
            break
        places = np.flatnonzero(asked)
        verdicts = function.evaluate(task, View(template.cluster, rows[places]))
        for number, hit in _refused(verdicts, places):
            refusal = function.refusals[number - 1]
            if refusal.reason:
                reasons[refusal.reason] = reasons.get(refusal.reason, 0) + len(hit)
            refused[hit] = True
            if refusal.code.aborts:
                asked[hit] = False
    return FitErrors(reasons, int(np.count_nonzero(refused)))


def _tally_foremost(template: Template, task: Task, rows: Rows, reasons: dict[str, int]) -> Mask:
    """Count what is said before resources are looked at; which of the rows are asked further."""
    asked = np.ones(len(rows), dtype=np.bool_)
    for function in template.filters:
        if function.foremost:
            places = np.flatnonzero(asked)
            for number, hit in _refused(function.evaluate(task, View(template.cluster, rows[places])), places):
                reasons[function.refusals[number - 1].reason] = len(hit)
                asked[hit] = False
    return asked


def _tally_insufficient(template: Template, view: View, reasons: dict[str, int], *, is_now: bool) -> Mask:
    dimensions = template.cluster.dimensions
    short = np.zeros(len(view), dtype=np.bool_)
    free = view.idle if is_now else view.future_idle
    for column, amount in template.request.needed(dimensions):
        lacking = (amount - free[column] >= MIN_RESOURCE) & ~short
        count = int(np.count_nonzero(lacking))
        if count:
            reasons[f"Insufficient {dimensions.names[column]}"] = count
            short |= lacking
    return short


def _refused(verdicts: Verdicts, places: Rows) -> list[tuple[int, Rows]]:
    """The numbers of the refusals that were given, and where."""
    return [(number, places[verdicts == number]) for number in np.unique(verdicts[verdicts > 0]).tolist()]
