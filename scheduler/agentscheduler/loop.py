"""
The scheduling thread of the fast path: takes ready pods from the queue, decides on them, tells the queue what came out.

Everything else, from following changes to reloads and dumps, is the scheduler's own loop. A reload counts from the next
turn on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec.structs import replace

from api import names
from scheduler.agentscheduler import metrics
from scheduler.agentscheduler.allocation import ACTION, Allocation
from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.loop import BUDGET, Scheduler
from scheduler.reporting.outcome import Outcome
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.agentscheduler.facts import AgentFacts
    from scheduler.settings.reload import Loaded
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

PODS_A_WORKER = 256
"""So many pods are decided on in a turn for each worker, before news is looked at again."""
LONGEST_WAIT = 60.0
_MILLISECONDS = 1000.0


class AgentScheduler(Scheduler):
    """
    Owns the state and the queue of pods.

    `workers` says how much is decided in a turn: one thread decides, so that no worker is in another's way.
    """

    def __init__(
        self,
        facts: AgentFacts,
        loaded: Loaded,
        hand_on: Callable[[Result], None],
        *,
        workers: int,
        stopwatch: Callable[[], float] = time.monotonic,
        **rest: Any,
    ) -> None:
        super().__init__(facts, loaded, hand_on, period=LONGEST_WAIT, stopwatch=stopwatch, **rest)
        self.queue = facts.queue
        self._most = workers * PODS_A_WORKER
        self._drained = 0.0
        """How long following the last changes took, in seconds."""

    def _pause(self) -> float:
        wait = self.queue.wait(self._stopwatch())
        return self._period if wait is None else min(self._period, wait)

    def drain(self) -> None:
        """Apply the changes that wait."""
        begun = self._stopwatch()
        super().drain()
        self._drained = self._stopwatch() - begun

    def cycle(self) -> Result | None:
        """Decide on the pods that are ready; None when none is and nobody wants a dump."""
        if self._overviews.is_set():
            self._overviews.clear()
            self._show()
        tasks = self._take()
        if not tasks and not self._dumps.is_set():
            return None
        uid, now = str(uuid4()), self._clock()
        taking = self._begin_dump(uid, now)
        budget = Budget.of_seconds(BUDGET, self._stopwatch)
        allocation = Allocation(tasks)
        actions = dict.fromkeys(self.memory.configuration.actions, _nothing) | {ACTION: allocation}
        found = run_cycle(
            self.facts.cluster, self.memory, actions, uid=uid, now=now, expired=budget, stopwatch=self._stopwatch
        )
        result = replace(found, outcome=Outcome(tasks=tuple(allocation.failures)))
        self.cycles += 1
        self._spans = result.spans
        self._settle(allocation, is_over=budget.over_at is not None)
        self._measure(result, len(tasks))
        self._hand_on(result)
        if taking is not None and self._keep is not None:
            self._keep(taking.finish(budget, result))
        return result

    def _take(self) -> list[Task]:
        """Pods from the queue; one that the state doesn't know as waiting is done with."""
        known = self.facts.cluster.tasks
        tasks: list[Task] = []
        for uid in self.queue.take(self._most, self._stopwatch()):
            task = known.get(uid)
            if task is None or task.status is not Status.PENDING:
                log.info("pod is not known as waiting, passed over uid=%s", uid)
                self.queue.remove(uid)
            else:
                tasks.append(task)
        return tasks

    def _settle(self, allocation: Allocation, *, is_over: bool) -> None:
        """Tell the queue what became of the pods that got no node; those that did leave it when they are bound."""
        now = self._stopwatch()
        for failure in allocation.failures:
            self.queue.fail(failure.task.uid, now)
        for task in allocation.refused:
            log.warning(
                "placement refused, pod goes to the front pod=%s reason=%s",
                task.key, names.PriorityRaise.BIND_TASK_FAILURE,
            )  # fmt: skip
            self.queue.retry(task.uid, now)
        rest = list(allocation.tasks[allocation.done :])
        if rest and not is_over and ACTION in self.memory.configuration.actions:
            # The action threw at this pod: the others are not to suffer from it for ever.
            self.queue.fail(rest.pop(0).uid, now)
        self._give_back(rest)

    def _give_back(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self.queue.give_back(task.uid)

    def _measure(self, result: Result, pods: int) -> None:
        opening = sum(span.seconds for span in result.spans if span.kind == "session")
        metrics.SNAPSHOT.observe((self._drained + opening) * _MILLISECONDS)
        whole = sum(span.seconds for span in result.spans if span.kind == "cycle")
        for _ in range(pods):
            metrics.WORKER_CYCLE.observe(whole / pods * _MILLISECONDS)


def _nothing(session: object) -> None:
    """An action that has nothing to do with pods."""
    del session
