"""
The extension points of a session: which plugin answers what, in the order of tiers.

A function that throws is logged with the object's name, counted, and answers as design section 3 says; after three
throws in a session it isn't called again and keeps giving that answer. An answer of another kind counts as a throw.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scheduler.settings.conf import PluginOption

log = logging.getLogger(__name__)

MAX_FAILURES = 3


class Point(Enum):
    """
    The points. Each names itself, then the switches of a plugin option that turn the use of its function off.

    A point with several switches is off only when all of them are; one without any is always on.
    """

    JOB_ORDER = "job_order", "enableJobOrder"
    QUEUE_ORDER = "queue_order", "enableQueueOrder"
    VICTIM_QUEUE_ORDER = ("victim_queue_order",)
    TASK_ORDER = "task_order", "enableTaskOrder"
    SUB_JOB_ORDER = "sub_job_order", "enabledSubJobOrder"
    CLUSTER_ORDER = "cluster_order", "enabledClusterOrder"
    JOB_READY = "job_ready", "enableJobReady"
    JOB_PIPELINED = "job_pipelined", "enableJobPipelined"
    JOB_STARVING = "job_starving", "enableJobStarving"
    JOB_VALID = ("job_valid",)
    JOB_ENQUEUEABLE = "job_enqueueable", "enableJobEnqueued"
    JOB_ENQUEUED = "job_enqueued", "enableJobEnqueued"
    GATE_OPENED = ("gate_opened",)
    SUB_JOB_READY = "sub_job_ready", "enabledSubJobReady"
    SUB_JOB_PIPELINED = "sub_job_pipelined", "enabledSubJobPipelined"
    TARGET_JOB = "target_job", "enableTargetJob"
    RESERVED_NODES = "reserved_nodes", "enableReservedNodes"
    PRE_PREDICATE = "pre_predicate", "enablePredicate"
    PREDICATE = "predicate", "enablePredicate"
    NODE_ORDER = "node_order", "enableNodeOrder"
    BEST_NODE = "best_node", "enableBestNode"
    HYPER_NODE_ORDER = "hyper_node_order", "enabledHyperNodeOrder"
    HYPER_NODE_ORDER_ALONE = "hyper_node_order_alone", "enabledHyperNodeOrder"
    HYPER_NODE_GRADIENT_FOR_JOB = "hyper_node_gradient_for_job", "enabledHyperNodeGradient"
    HYPER_NODE_GRADIENT_FOR_SUB_JOB = "hyper_node_gradient_for_sub_job", "enabledHyperNodeGradient"
    OVERUSED = "overused", "enabledOverused"
    OVERUSED_ROOM = "overused_room", "enabledOverused"
    OVERUSED_STRETCH = "overused_stretch", "enabledOverused"
    ALLOCATABLE = "allocatable", "enabledAllocatable"
    ALLOCATABLE_ROOM = "allocatable_room", "enabledAllocatable"
    ALLOCATABLE_STRETCH = "allocatable_stretch", "enabledAllocatable"
    ALLOCATABLE_REASON = "allocatable_reason", "enabledAllocatable"
    ALLOCATABLE_REASON_AFTER = "allocatable_reason_after", "enabledAllocatable"
    PREEMPTABLE = "preemptable", "enablePreemptable"
    PREEMPTABLE_JOBS = "preemptable_jobs", "enablePreemptable"
    RECLAIMABLE = "reclaimable", "enableReclaimable"
    RECLAIMABLE_JOBS = "reclaimable_jobs", "enableReclaimable"
    UNIFIED_EVICTABLE = ("unified_evictable",)
    PREEMPTIVE = "preemptive", "enablePreemptive"
    VICTIM_TASKS = "victim_tasks", "enabledVictim"
    SIMULATE_ADD_TASK = "simulate_add_task", "enablePreemptable", "enabledAllocatable"
    SIMULATE_REMOVE_TASK = "simulate_remove_task", "enablePreemptable", "enabledAllocatable"
    SIMULATE_PREDICATE = "simulate_predicate", "enablePredicate"
    SIMULATE_ALLOCATABLE = "simulate_allocatable", "enabledAllocatable"

    def __init__(self, label: str, *switches: str) -> None:
        self.label = label
        self.switches = switches

    def is_on(self, option: PluginOption) -> bool:
        """Whether a listing of a plugin lets its function be used."""
        return not self.switches or any(option.is_on(switch) for switch in self.switches)


class Guarded:
    """A plugin's function that never throws: it gives the failing answer instead."""

    __slots__ = ("answer", "failures", "function", "kinds", "on_failure", "plugin", "point")

    def __init__(
        self,
        function: Callable[..., Any],
        answer: Any,
        plugin: str,
        point: str,
        on_failure: Callable[[str, str], None],
        *,
        kinds: tuple[type, ...] | None = None,
    ) -> None:
        """`kinds` are those that an answer may be of; by default they follow from the failing `answer`."""
        self.function = function
        self.answer = answer
        self.kinds = _KINDS.get(type(answer), ()) if kinds is None else kinds
        self.plugin = plugin
        self.point = point
        self.failures = 0
        self.on_failure = on_failure

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, or answer for it once it failed too often."""
        if self.failures >= MAX_FAILURES:
            return self.answer
        try:
            return self._sensible(self.function(*arguments))
        except (Exception, SystemExit):
            self.failures += 1
            subjects = ", ".join(str(argument) for argument in arguments[:2])
            log.exception("plugin function failed plugin=%s point=%s subjects=%s", self.plugin, self.point, subjects)
            self.on_failure(self.plugin, self.point)
            return self.answer

    def _sensible(self, answer: Any) -> Any:
        if self.kinds and not isinstance(answer, self.kinds):
            raise TypeError(f"answered {answer!r}, {_told(self.kinds)} is needed")
        if isinstance(answer, float) and not math.isfinite(answer):
            raise ValueError(f"answered {answer}, a finite number is needed")
        return answer


_NUMBERS = (int, float, np.number, np.bool_)
_KINDS: Mapping[type, tuple[type, ...]] = {
    int: _NUMBERS,
    float: _NUMBERS,
    str: (str, type(None)),
    tuple: (Iterable, type(None)),
    dict: (Mapping,),
}
"""By kind of a failing answer what others may be. For yes and no anything serves, as in any condition."""


def _told(kinds: tuple[type, ...]) -> str:
    names = ("None" if kind is type(None) else kind.__name__ for kind in kinds[:2])
    return " or ".join(names)


class Points:
    """Registered functions by point and plugin, given out tier by tier for the plugins whose switch is on."""

    def __init__(self, tiers: Sequence[Sequence[PluginOption]]) -> None:
        self._tiers = tiers
        self._functions: dict[Point, dict[str, Any]] = {point: {} for point in Point}
        self._ordered: dict[Point, tuple[tuple[Any, ...], ...]] = {}
        self._flat: dict[Point, tuple[Any, ...]] = {}

    def register(self, point: Point, plugin: str, function: Any) -> None:
        """Take in a function; the same plugin's earlier one is replaced."""
        self._functions[point][plugin] = function
        self._ordered.pop(point, None)
        self._flat.pop(point, None)

    def append(self, point: Point, plugin: str, function: Any) -> None:
        """Take in a function beside those that the same plugin registered before; they are given out as a tuple."""
        self.register(point, plugin, (*self._functions[point].get(plugin, ()), function))

    def tiers(self, point: Point) -> tuple[tuple[Any, ...], ...]:
        """The functions in use, a tuple a tier; tiers without any are left out."""
        ordered = self._ordered.get(point)
        if ordered is None:
            functions = self._functions[point]
            tiers = (
                tuple(functions[option.name] for option in tier if option.name in functions and point.is_on(option))
                for tier in self._tiers
            )
            ordered = self._ordered[point] = tuple(tier for tier in tiers if tier)
        return ordered

    def all(self, point: Point) -> tuple[Any, ...]:
        """The functions in use, in order."""
        functions = self._flat.get(point)
        if functions is None:
            functions = self._flat[point] = tuple(function for tier in self.tiers(point) for function in tier)
        return functions

    def named(self, point: Point) -> list[tuple[str, Any]]:
        """The functions in use with their plugins, in order: for those who tell which of them decided."""
        functions = self._functions[point]
        options = (option for tier in self._tiers for option in tier)
        return [
            (option.name, functions[option.name])
            for option in options
            if option.name in functions and point.is_on(option)
        ]

    def vote(self, point: Point, subject: object) -> bool:
        """
        Whether the plugins are for it: no as soon as one rejects, else yes.

        After a tier in which one permits the later ones are not asked (scheduler.md 7.2).
        """
        for tier in self.tiers(point):
            permitted = False
            for function in tier:
                vote = function(subject)
                if vote < 0:
                    return False
                permitted |= vote > 0
            if permitted:
                return True
        return True
