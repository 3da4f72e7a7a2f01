"""
Array functions of plugins that never throw: a filter that fails refuses its nodes, a score that fails gives 0.

What a filter or score answered is kept over sessions, so its guard must be equal to that of the next session. It
remembers nothing itself; how often a function threw in this session stands in `Throws`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from msgspec.structs import replace

from scheduler.contract.effects import Code, Filter, Refusal, Score, Verdicts
from scheduler.contract.points import MAX_FAILURES
from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from scheduler.contract.view import View
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

_FAILED = "plugin function failed plugin=%s name=%s point=%s task=%s"

Who = tuple[str, str]
"""A function, by plugin and its own name."""


class Throws:
    """
    How often each function threw in this session; `on_failure(plugin, point)` hears of each.

    `any` is True from the first throw on until `begin`: what was computed meanwhile may be the answer of a failure.
    """

    def __init__(self, on_failure: Callable[[str, str], None]) -> None:
        self._on_failure = on_failure
        self._counts: Counter[Who] = Counter()
        self.any = False

    def begin(self) -> None:
        """A session begins: every function is asked again."""
        self._counts.clear()
        self.any = False

    def is_spent(self, who: Who) -> bool:
        """Whether a function threw too often to be asked again."""
        return self._counts[who] >= MAX_FAILURES

    def note(self, who: Who, point: str) -> None:
        """A function just threw."""
        self.any = True
        self._counts[who] += 1
        self._on_failure(who[0], point)


def _checked(answer: Any, view: View) -> Any:
    if len(answer) != len(view):
        raise ValueError(f"{len(answer)} answers were given for {len(view)} nodes")
    return answer


# The guards are asked for each placement; what costs a call is written out.


@dataclass(frozen=True, slots=True)
class _Verdicts:
    who: Who
    function: Callable[[Task, View], Verdicts]
    refusals: Sequence[Refusal]
    throws: Throws = field(compare=False, repr=False)

    def __call__(self, task: Task, view: View) -> Verdicts:
        if not (self.throws.any and self.throws.is_spent(self.who)):
            try:
                answer: Verdicts = self.function(task, view)
                return answer if len(answer) == len(view.rows) else _checked(answer, view)
            except (Exception, SystemExit):
                log.exception(_FAILED, *self.who, "predicate", task.key)
                self.throws.note(self.who, "predicate")
        return np.full(len(view), len(self.refusals), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class _Ratings:
    who: Who
    function: Callable[[Task, View], Floats]
    throws: Throws = field(compare=False, repr=False)

    def __call__(self, task: Task, view: View) -> Floats:
        if not (self.throws.any and self.throws.is_spent(self.who)):
            try:
                answer: Floats = self.function(task, view)
                return answer if len(answer) == len(view.rows) else _checked(answer, view)
            except (Exception, SystemExit):
                log.exception(_FAILED, *self.who, "node_order", task.key)
                self.throws.note(self.who, "node_order")
        return np.zeros(len(view))


@dataclass(frozen=True, slots=True)
class _Applies:
    who: Who
    function: Callable[[Task], bool]
    throws: Throws = field(compare=False, repr=False)

    def __call__(self, task: Task) -> bool:
        if not (self.throws.any and self.throws.is_spent(self.who)):
            try:
                return self.function(task)
            except (Exception, SystemExit):
                log.exception(_FAILED, *self.who, "applies", task.key)
                self.throws.note(self.who, "applies")
        return True


@dataclass(frozen=True, slots=True)
class _Refusals(Sequence[Refusal]):
    """A filter's refusals, which may grow, and after them the one for its failures."""

    own: Sequence[Refusal]
    failure: Refusal

    def __len__(self) -> int:
        return len(self.own) + 1

    @overload
    def __getitem__(self, place: int) -> Refusal: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Refusal]: ...
    def __getitem__(self, place: int | slice) -> Refusal | Sequence[Refusal]:
        return (*self.own, self.failure)[place]


def guarded_filter(function: Filter, throws: Throws) -> Filter:
    """The filter, which refuses a node with an error when it fails."""
    who = (function.plugin, function.name)
    failure = Refusal(Code.ERROR, f"plugin {function.plugin} failed in its predicate")
    refusals = _Refusals(function.refusals, failure)
    return replace(
        function,
        refusals=refusals,
        evaluate=_Verdicts(who, function.evaluate, refusals, throws),
        applies=_Applies(who, function.applies, throws) if function.applies is not None else None,
    )


def guarded_score(score: Score, throws: Throws) -> Score:
    """The score, which rates every node 0 when it fails."""
    who = (score.plugin, score.name)
    return replace(
        score,
        evaluate=_Ratings(who, score.evaluate, throws),
        applies=_Applies(who, score.applies, throws) if score.applies is not None else None,
    )
