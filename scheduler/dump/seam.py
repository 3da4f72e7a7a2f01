"""What a part of the state has to bring along to be in dumps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from scheduler.evicting.nominations import Nomination
from scheduler.state.cluster import Cluster
from scheduler.state.task import Shape

if TYPE_CHECKING:
    from scheduler.memory import Memory


class Writing(msgspec.Struct):
    """What the parts of one dump share while it is taken."""

    cluster: Cluster
    memory: Memory
    shapes: dict[int, int] = msgspec.field(default_factory=dict)
    """Number of a shape by its identity."""


class Reading(msgspec.Struct):
    """What the parts of one dump share while it is put back."""

    cluster: Cluster = msgspec.field(default_factory=Cluster)
    shapes: list[Shape] = msgspec.field(default_factory=list)
    nominations: list[Nomination] = msgspec.field(default_factory=list)

    def remember(self, memory: Memory) -> None:
        """Put back what outlives sessions beside the cluster, into the memory that was made for it."""
        memory.nominations.by_task.update({nomination.uid: nomination for nomination in self.nominations})


class Part(msgspec.Struct, frozen=True):
    """
    One part of the state. `record` is the msgspec type of what `take` gives and `put` is given.

    `finish` is called with the same records when all parts are put back: for orders and totals, which then become
    exactly what they were, to the last bit.
    """

    name: str
    record: Any
    take: Callable[[Writing], Iterable[Any]]
    put: Callable[[Reading, Iterable[Any]], None]
    finish: Callable[[Reading, Iterable[Any]], None] | None = None


def put_nothing(reading: Reading, records: Iterable[Any]) -> None:
    """For a part that is put back when all others stand."""
