"""
Topology-aware preemption: clears several nodes on trial and takes the one whose victims matter least.

"Topology" is that of pod affinity: whether a node takes the task may depend on each single pod that leaves or stays, so
a trial goes through the plugins' `simulate_*` functions besides all filters (scheduler.md 11.4.5).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.contexts import Simulation
from scheduler.evicting.victims import Clearing
from scheduler.state.task import pod_priority

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments
    from scheduler.evicting.prospects import Need
    from scheduler.evicting.relief import Relief
    from scheduler.evicting.victims import Pool
    from scheduler.state.node import Node
    from scheduler.state.task import Task

_OFFSET = 2**31
"""Added to each priority in a sum, so that more victims weigh more even where priorities are negative."""


class Found(msgspec.Struct, frozen=True):
    """A node, and who has to leave it, first to go first."""

    node: Node
    victims: tuple[Task, ...]


class Rehearsal(msgspec.Struct, frozen=True):
    """How many nodes are examined: a share in percent between two bounds. Without workers none is."""

    workers: int = 16
    percentage: int = 10
    at_least: int = 1
    at_most: int = 100

    @classmethod
    def of(cls, arguments: Arguments) -> Rehearsal:
        """From the arguments of the action."""
        return cls(
            arguments.int("topologyAwarePreemptWorkerNum", 16),
            arguments.int("minCandidateNodesPercentage", 10),
            arguments.int("minCandidateNodesAbsolute", 1),
            arguments.int("maxCandidateNodesAbsolute", 100),
        )

    def wanted(self, nodes: int) -> int:
        """How many candidates are enough, of so many nodes."""
        if self.workers <= 0:
            return 0
        return min(nodes, self.at_most, max(self.at_least, nodes * self.percentage // 100))

    def best(self, relief: Relief, need: Need, nodes: Sequence[Node], pool: Pool) -> Found | None:
        """The least harmful of the candidates found first, from a place on that depends on the task."""
        wanted = self.wanted(len(nodes))
        if wanted <= 0:
            return None
        start = zlib.crc32(need.task.uid.encode()) % len(nodes)
        found = list(islice(_candidates(relief, need, (*nodes[start:], *nodes[:start]), pool), wanted))
        now = relief.session.now
        return min(found, key=lambda candidate: harm(candidate.victims, now), default=None)


def _candidates(relief: Relief, need: Need, nodes: Sequence[Node], pool: Pool) -> Iterator[Found]:
    for node in nodes:
        victims = relief.victims_on(need, node, pool)
        if not victims:
            continue
        statement = relief.session.statement()
        trial = Trial(relief.prospects, need, node, statement, relief.kind.value, Simulation(need.task))
        gone = trial.make_room(victims)
        statement.discard()
        if gone is not None:
            yield Found(node, tuple(gone))


class Trial(Clearing):
    """A clearing in which the plugins' simulations take part; one that fails makes the node no candidate."""

    simulation: Simulation

    def fits(self) -> bool:
        """As for a placement, and the simulations agree."""
        session = self.prospects.session
        return (
            self.prospects.fits(self.need, self.node)
            and session.simulate_allocatable(self.simulation, self.need.queue)
            and session.simulate_predicate(self.simulation, self.node) is None
        )

    def remove(self, victim: Task) -> bool:
        """Take a victim off in the session and in the simulations."""
        self.statement.evict(victim, self.reason, self.need.task.job)
        return self.prospects.session.simulate_remove_task(self.simulation, victim, self.node) is None

    def put_back(self, spared: Task, rest: Sequence[Task]) -> bool:
        """Put one back, in the session and in the simulations."""
        self.statement.discard()
        for task in rest:
            self.statement.evict(task, self.reason, self.need.task.job)
        return self.prospects.session.simulate_add_task(self.simulation, spared, self.node) is None


def harm(victims: Sequence[Task], now: float) -> tuple[int, int, int, float]:
    """
    What speaks against evicting these, worst first; less is better. `now` is in unix seconds.

    The highest priority among them, their sum, their number, and how long the longest-running of the highest has run.
    """
    priorities = [pod_priority(task) for task in victims]
    highest = max(priorities)
    started = min(_started(task, now) for task in victims if pod_priority(task) == highest)
    return highest, sum(priority + _OFFSET for priority in priorities), len(victims), -started


def _started(task: Task, now: float) -> float:
    text = task.pod.status.start_time if task.pod is not None else None
    try:
        return datetime.fromisoformat(text).timestamp() if text else now
    except ValueError:
        return now
