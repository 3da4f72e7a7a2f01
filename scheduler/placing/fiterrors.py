"""Why no node takes a task, as the text that users, autoscalers and tests read (scheduler.md 12.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.contract.effects import Filter, Verdicts
from scheduler.contract.view import View
from scheduler.placing.template import ALLOCATE
from scheduler.reporting.messages import gist
from scheduler.state.dimensions import MIN_RESOURCE, Floats, Mask, Rows

if TYPE_CHECKING:
    from scheduler.placing.template import Template
    from scheduler.state.task import Task


class FitErrors(msgspec.Struct, frozen=True):
    """
    What the examined nodes said, counted by reason.

    `nodes` is the number of nodes with an error; a node that gave two reasons counts once there, and in both.
    """

    reasons: Mapping[str, int] = msgspec.field(default_factory=dict)
    nodes: int = 0
    base: str = ""
    hyper_node: str = ""

    def is_kin(self, other: FitErrors) -> bool:
        """Whether the other says the same but for numbers."""
        same = gist(self.base) == gist(other.base) and self.hyper_node == other.hyper_node
        return same and self.reasons.keys() == other.reasons.keys() and bool(self.nodes) == bool(other.nodes)

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


def passed_over(task: Task) -> FitErrors:
    """What a task is told that isn't tried, since another one of its role found no node."""
    return FitErrors(base=f"Task {task.name} with role spec {task.role} has already predicated failed, skip")


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
    refused = np.zeros(len(rows), dtype=np.bool_)
    for saying in sayings(template, task, rows, loose, is_now=is_now):
        if saying.reason:
            reasons[saying.reason] = reasons.get(saying.reason, 0) + len(saying.places)
        refused[saying.places] = True
    return FitErrors(reasons, int(np.count_nonzero(refused)))


class Saying(msgspec.Struct, frozen=True):
    """What some of the nodes asked said. `source` tells what said so: no node says the same twice."""

    source: tuple[int, int]
    reason: str
    places: Rows
    """Which of the rows asked."""


_ROOM = -1
"""The source of what is said of resources."""


def sayings(
    template: Template,
    task: Task,
    rows: Rows,
    loose: tuple[Filter, ...] = (),
    *,
    is_now: bool = False,
    taken: Floats | None = None,
) -> Iterator[Saying]:
    """
    What nodes say against a task, filter by filter; the `upfront` ones are not asked. See `examine`.

    `taken` `(len(rows),)`: how many more tasks of the template each node is to hold, where all filters can be asked ahead.
    """

    def seen(places: Rows) -> View:
        ahead = None if taken is None else (template.request, ALLOCATE, taken[places])
        return View(template.cluster, rows[places], ahead)

    asked = np.ones(len(rows), dtype=np.bool_)
    for source, function in enumerate(template.filters):
        if function.foremost:
            places = np.flatnonzero(asked)
            for number, hit in _refused(function.evaluate(task, seen(places)), places):
                asked[hit] = False
                yield Saying((source, number), function.refusals[number - 1].reason, hit)
    places = np.flatnonzero(asked)
    yield from _insufficient(template, seen(places), places, asked, is_now=is_now)
    for source, function in enumerate((*template.filters, *loose)):
        if function.foremost and source < len(template.filters):
            continue
        places = np.flatnonzero(asked)
        if not len(places):
            return
        for number, hit in _refused(function.evaluate(task, seen(places)), places):
            refusal = function.refusals[number - 1]
            if refusal.code.aborts:
                asked[hit] = False
            yield Saying((source, number), refusal.reason, hit)


def _insufficient(template: Template, view: View, left: Rows, asked: Mask, *, is_now: bool) -> Iterator[Saying]:
    """Of the first resource that each node of a view lacks, at the places `left`; those are asked no further."""
    dimensions = template.cluster.dimensions
    short = np.zeros(len(view), dtype=np.bool_)
    free = view.idle if is_now else view.future_idle
    for column, amount in template.request.needed(dimensions):
        lacking = (amount - free[column] >= MIN_RESOURCE) & ~short
        if lacking.any():
            short |= lacking
            yield Saying((_ROOM, column), f"Insufficient {dimensions.names[column]}", left[lacking])
    asked[left[short]] = False


def _refused(verdicts: Verdicts, places: Rows) -> list[tuple[int, Rows]]:
    """The numbers of the refusals that were given, and where."""
    return [(number, places[verdicts == number]) for number in np.unique(verdicts[verdicts > 0]).tolist()]
