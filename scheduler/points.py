"""
The extension points of a session: which plugin answers what, in the order of tiers.

A function that throws is logged with the object's name, counted, and answers as design section 3 says; after three
throws in a session it isn't called again and keeps giving that answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduler.conf import PluginOption

log = logging.getLogger(__name__)

MAX_FAILURES = 3


class Point(Enum):
    """The points; the value is the switch of a plugin option that turns the use of its function off (or none)."""

    JOB_ORDER = "enableJobOrder"
    QUEUE_ORDER = "enableQueueOrder"
    TASK_ORDER = "enableTaskOrder"
    JOB_READY = "enableJobReady"
    JOB_PIPELINED = "enableJobPipelined"
    JOB_STARVING = "enableJobStarving"
    JOB_VALID = ""
    JOB_ENQUEUEABLE = "enableJobEnqueued"
    JOB_ENQUEUED = "enableJobEnqueued "
    PRE_PREDICATE = "enablePredicate"
    PREDICATE = "enablePredicate "
    NODE_ORDER = "enableNodeOrder"
    BEST_NODE = "enableBestNode"
    OVERUSED = "enabledOverused"
    ALLOCATABLE = "enabledAllocatable"

    @property
    def switch(self) -> str:
        """Key of the plugin option that switches the point; empty when nothing does."""
        return self.value.strip()


class Guarded:
    """A plugin's function that never throws: it gives the failing answer instead."""

    __slots__ = ("answer", "failures", "function", "on_failure", "plugin", "point")

    def __init__(
        self,
        function: Callable[..., Any],
        answer: Any,
        plugin: str,
        point: str,
        on_failure: Callable[[str, str], None],
    ) -> None:
        self.function = function
        self.answer = answer
        self.plugin = plugin
        self.point = point
        self.failures = 0
        self.on_failure = on_failure

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, or answer for it once it failed too often."""
        if self.failures >= MAX_FAILURES:
            return self.answer
        try:
            return self.function(*arguments)
        except Exception:
            self.failures += 1
            subjects = ", ".join(str(argument) for argument in arguments[:2])
            log.exception("plugin function failed plugin=%s point=%s subjects=%s", self.plugin, self.point, subjects)
            self.on_failure(self.plugin, self.point)
            return self.answer


class Points:
    """Registered functions by point and plugin, given out tier by tier for the plugins whose switch is on."""

    def __init__(self, tiers: Sequence[Sequence[PluginOption]]) -> None:
        self._tiers = tiers
        self._functions: dict[Point, dict[str, Any]] = {point: {} for point in Point}
        self._ordered: dict[Point, tuple[tuple[Any, ...], ...]] = {}

    def register(self, point: Point, plugin: str, function: Any) -> None:
        """Take in a function; the same plugin's earlier one is replaced."""
        self._functions[point][plugin] = function
        self._ordered.pop(point, None)

    def tiers(self, point: Point) -> tuple[tuple[Any, ...], ...]:
        """The functions in use, a tuple a tier; tiers without any are left out."""
        ordered = self._ordered.get(point)
        if ordered is None:
            functions = self._functions[point]
            tiers = (
                tuple(
                    functions[option.name] for option in tier if option.name in functions and option.is_on(point.switch)
                )
                for tier in self._tiers
            )
            ordered = self._ordered[point] = tuple(tier for tier in tiers if tier)
        return ordered

    def all(self, point: Point) -> tuple[Any, ...]:
        """The functions in use, in order."""
        return tuple(function for tier in self.tiers(point) for function in tier)
