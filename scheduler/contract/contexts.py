"""What functions of plugins are told besides the objects they judge: the purpose of a search, the kind of an eviction."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from scheduler.state.job import Job
    from scheduler.state.task import Task


class Purpose(Enum):
    """What a search among hypernodes is for."""

    ALLOCATE = "allocate"
    EVICT = "evict"


class Kind(Enum):
    """Which action evicts; the value is the reason that its victims are told."""

    PREEMPT = "preempt"
    RECLAIM = "reclaim"
    GANG_PREEMPT = "gangpreempt"
    GANG_RECLAIM = "gangreclaim"
    SHUFFLE = "shuffle"


class EvictionContext(msgspec.Struct, frozen=True):
    """For whom bundles of a gang action are judged: its kind, the job in need, and the hypernode to be cleared."""

    kind: Kind
    job: Job
    hyper_node: str = ""
    task: Task | None = None


class Simulation(msgspec.Struct):
    """
    One trial of evictions on one node, as the `simulate_*` functions share it.

    The trial takes effect in the session (columns, nodes' tasks, ledgers) and is taken back afterwards, so a plugin
    that keeps its accounts there needs nothing of this; one with its own keeps copies in `state`, by its name.
    """

    task: Task
    state: dict[str, Any] = msgspec.field(default_factory=dict)
