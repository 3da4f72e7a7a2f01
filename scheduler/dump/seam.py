"""What a part of the state has to bring along to be in dumps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scheduler.evicting.nominations import Nomination
from scheduler.state.cluster import Cluster
from scheduler.state.task import Shape

if TYPE_CHECKING:
    from scheduler.memory import Memory


@dataclass(slots=True)
class Writing:
    """What the parts of one dump share while it is taken."""

    cluster: Cluster
    memory: Memory
    shapes: dict[int, int] = field(default_factory=dict)
    """Number of a shape by its identity."""


@dataclass(slots=True)
class Reading:
    """What the parts of one dump share while it is put back."""

    cluster: Cluster = field(default_factory=Cluster)
    shapes: list[Shape] = field(default_factory=list)
    nominations: list[Nomination] = field(default_factory=list)

    def remember(self, memory: Memory) -> None:
        """Put back what outlives sessions beside the cluster, into the memory that was made for it."""
        memory.nominations.by_task.update({nomination.uid: nomination for nomination in self.nominations})


@dataclass(frozen=True, slots=True)
class Part:
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
