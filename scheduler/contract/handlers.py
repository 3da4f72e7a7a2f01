"""
Plugins that account for what is allocated, told of each change at once or in batches.

All handlers are told even when one refuses: the caller then takes the change back and tells all of them again, so
taking back something that a handler never counted must be harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.points import Guarded

if TYPE_CHECKING:
    from scheduler.state.node import Node
    from scheduler.state.task import Task

Allocate = Callable[[Sequence["Task"], Sequence["Node"]], "str | None"]
Deallocate = Callable[[Sequence["Task"]], None]


class _Handler(msgspec.Struct, frozen=True):
    allocate: Guarded | None
    deallocate: Guarded | None


class Handlers:
    """The event handlers of a session, in order of registration."""

    def __init__(self, on_failure: Callable[[str, str], None]) -> None:
        self._on_failure = on_failure
        self._handlers: list[_Handler] = []

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def add(self, plugin: str, allocate: Allocate | None, deallocate: Deallocate | None) -> None:
        """Take in a handler in its batch form."""

        def guarded(function: Callable[..., object] | None, point: str, answer: object) -> Guarded | None:
            return Guarded(function, answer, plugin, point, self._on_failure) if function is not None else None

        self._handlers.append(
            _Handler(
                guarded(allocate, "allocate", f"plugin {plugin} failed in its allocate handler"),
                guarded(deallocate, "deallocate", None),
            )
        )

    def allocate(self, tasks: Sequence[Task], nodes: Sequence[Node]) -> str | None:
        """Tell all; the first refusal, or None."""
        first: str | None = None
        for handler in self._handlers:
            if handler.allocate is not None:
                refusal = handler.allocate(tasks, nodes)
                first = first or refusal
        return first

    def deallocate(self, tasks: Sequence[Task]) -> None:
        """Tell all."""
        for handler in self._handlers:
            if handler.deallocate is not None:
                handler.deallocate(tasks)


def one_by_one(allocate: Callable[[Task, Node], str | None]) -> Allocate:
    """Adapts a handler of single tasks."""

    def batch(tasks: Sequence[Task], nodes: Sequence[Node]) -> str | None:
        first: str | None = None
        for task, node in zip(tasks, nodes, strict=True):
            refusal = allocate(task, node)
            first = first or refusal
        return first

    return batch


def each(deallocate: Callable[[Task], None]) -> Deallocate:
    """Adapts a handler of single tasks."""

    def batch(tasks: Sequence[Task]) -> None:
        for task in tasks:
            deallocate(task)

    return batch
