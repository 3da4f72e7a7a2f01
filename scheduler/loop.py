"""
The scheduling thread: drains what the informers saw, runs a cycle when something changed, hands its outcome on.

Only this thread touches the state. The event loop appends changes and wakes it; decisions leave through a call into
the loop. New work starts a cycle at once; the schedule period is the longest wait between two.
"""

from __future__ import annotations

import gc
import logging
import resource
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

from scheduler.budget import Budget
from scheduler.cycle import Result, run_cycle
from scheduler.dump import overview
from scheduler.dump.taking import Taking
from scheduler.evicting.nominations import Nominations
from scheduler.explain.asking import Questions
from scheduler.gates import Gates
from scheduler.memory import Memory
from scheduler.placing.sampling import Sampling
from scheduler.shards import Shards

if TYPE_CHECKING:
    from scheduler.cache.facts import Change, Facts
    from scheduler.reporting.timings import Span
    from scheduler.settings.reload import Loaded

log = logging.getLogger(__name__)

BUDGET = 5.0
"""Seconds after which a cycle leaves the rest of the jobs to the next ones."""
_SHORTEST = 0.01
"""Seconds; a period of nothing would keep a core busy."""
_STANDBY = 0.1
"""Seconds between two looks whether cycles may begin."""
_SETTLE = 0.002
"""Seconds that a burst of changes is given to arrive before a cycle begins."""
_SHARE = 0.05
"""Part of the time that cycles take while changes pour in, most of them echoes of what was decided before."""


class Scheduler:
    """
    Owns the state. Everything but `run`, `drain` and `cycle` may be called from any thread; those belong to one.

    `hand_on` takes a cycle's result to the writers and `keep` the content of a dump to its file; both are called on
    the scheduling thread. `sampling` cuts the search for nodes short and `opens_gates` lets queues admit pods by their
    gates, over all configurations; `shards` say which nodes are this scheduler's.
    """

    def __init__(
        self,
        facts: Facts,
        loaded: Loaded,
        hand_on: Callable[[Result], None],
        *,
        period: float,
        keep: Callable[[bytes], None] | None = None,
        sampling: Sampling | None = None,
        opens_gates: bool = False,
        shards: Shards | None = None,
        clock: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self.facts = facts
        self.cycles = 0
        self.memory: Memory
        self._loaded: Loaded
        self._hand_on = hand_on
        self._keep = keep
        self._sampling = sampling
        self._nominations = Nominations(facts.cluster)
        self._shards = shards
        self._gates = Gates(facts.cluster, is_on=opens_gates)
        self._period = max(period, _SHORTEST)
        self._clock = clock
        self._stopwatch = stopwatch
        self._changes: deque[Change] = deque()
        self._failed_binds: deque[str] = deque()
        self._shut_gates: deque[str] = deque()
        self._configurations: deque[Loaded] = deque()
        self._dumps = threading.Event()
        self._overviews = threading.Event()
        self._halting = threading.Event()
        self._halted = threading.Event()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        """Somebody waits for the next turn, which isn't put off then."""
        self._rested = 0.0
        """When the next cycle may begin, by the stopwatch."""
        self.questions = Questions(self._hasten)
        """Why jobs wait: answered between two cycles."""
        self._spans: tuple[Span, ...] = ()
        self._built = 0.0
        """Seconds that the state took to become what it was in the first cycle."""
        self._seen = -1
        self._begun = 0.0
        """When the last cycle began, in unix seconds."""
        self._take_up(loaded)

    # From any thread.

    def push(self, change: Change) -> None:
        """Queue a change of an object."""
        self._changes.append(change)
        self._wake.set()

    def unbound(self, uid: str) -> None:
        """Queue the news that a bind failed."""
        self._failed_binds.append(uid)
        self._wake.set()

    def still_gated(self, uid: str) -> None:
        """Queue the news that the gate of a pod could not be removed."""
        self._shut_gates.append(uid)
        self._wake.set()

    def configure(self, loaded: Loaded) -> None:
        """Have the next cycle follow another configuration."""
        self._configurations.append(loaded)
        self._hasten()

    def dump(self) -> None:
        """Have the next cycle, which comes at once, written to a file."""
        self._dumps.set()
        self._hasten()

    def show(self) -> None:
        """Have the state written to the log."""
        self._overviews.set()
        self._hasten()

    def halt(self, seconds: float) -> bool:
        """Have no further cycle start, and wait for the one under way; whether it ended in time."""
        self._halting.set()
        self._hasten()
        return self._halted.wait(seconds)

    def _hasten(self) -> None:
        self._hurry.set()
        self._wake.set()

    # The scheduling thread.

    def run(self, stop: threading.Event, ready: threading.Event) -> None:
        """
        Follow changes until `stop`.

        Cycles begin when `ready` says that this process leads and the first lists were delivered, and end with `halt`.
        """
        try:
            while not stop.is_set():
                self._wake.clear()
                self.facts.follows_phases = not ready.is_set()
                begin = self._stopwatch()
                self.drain()
                if not self.cycles:
                    self._built += self._stopwatch() - begin
                if self._halting.is_set():
                    self.questions.refuse("this scheduler is ending")
                    self._halted.set()
                elif ready.is_set():
                    self.cycle()
                    self.explain()
                else:
                    self.questions.refuse("this scheduler runs no cycles yet")
                    self._refuse_dump()
                is_at_work = ready.is_set() and not self._halting.is_set()
                if self._wake.wait(self._pause() if is_at_work else _STANDBY):
                    self._hurry.wait(max(_SETTLE, self._rested - self._stopwatch()))
                    self._hurry.clear()
        finally:
            self._halted.set()

    def _pause(self) -> float:
        """How long to wait for news, at most, in seconds."""
        return self._period

    def explain(self) -> None:
        """Answer the questions that wait, as far as there is time before the next cycle."""
        if not self.questions:
            return
        promised = len(self._nominations)
        self.questions.answer(self.facts.cluster, self.memory, self._clock(), self._spans, self._stopwatch)
        if len(self._nominations) != promised:
            # Room is promised no more: the next cycle is to say so.
            self._seen = -1
        if self.questions or self._seen < 0:
            self._hasten()

    def _refuse_dump(self) -> None:
        if self._dumps.is_set():
            self._dumps.clear()
            log.warning("no dump: this process runs no cycles yet")

    def drain(self) -> None:
        """Apply the changes that wait."""
        changes, failed, configurations = self._changes, self._failed_binds, self._configurations
        while changes:
            self.facts.apply(changes.popleft())
        while failed:
            self.facts.unbound(failed.popleft())
        while self._shut_gates:
            self._gates.refused(self._shut_gates.popleft())
        while configurations:
            self._take_up(configurations.popleft())
        if self._shards is not None:
            self._shards.report()

    def _take_up(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.memory = Memory(self.facts.cluster, loaded.configuration, dict(loaded.catalog.plugins))
        self.memory.sampling = self._sampling
        # Room that was promised stays so under another configuration.
        self.memory.nominations = self._nominations
        self.memory.gates = self._gates
        self.memory.shards = self._shards
        self._seen = -1

    def cycle(self) -> Result | None:
        """Run one cycle, if something changed since the last, time alone may change something, or a dump is wanted."""
        cluster = self.facts.cluster
        if self._overviews.is_set():
            self._overviews.clear()
            self._show()
        now = self._clock()
        if cluster.version == self._seen and not self._dumps.is_set() and not self._is_due(now):
            return None
        if not self.memory.round.is_on:
            # What changes while a round lasts is looked at by all only after it.
            self._seen = cluster.version
        self._begun = now
        begin = self._stopwatch()
        uid = str(uuid4())
        taking = self._begin_dump(uid, now)
        budget = Budget.of_seconds(BUDGET, self._stopwatch)
        result = run_cycle(
            cluster,
            self.memory,
            self._loaded.catalog.actions,
            uid=uid,
            now=now,
            expired=budget,
            stopwatch=self._stopwatch,
        )
        self.cycles += 1
        self._spans = result.spans
        if budget.over_at is not None:
            log.info(
                "cycle budget spent seconds=%.1f last job=%s: the rest of the jobs waits for the next cycle",
                BUDGET,
                result.last_job,
            )
        if self.memory.round.goes_on:
            self._wake.set()
        else:
            self._rest(self._stopwatch() - begin)
        if self.cycles == 1:
            took = self._stopwatch() - begin
            counts = len(cluster.nodes), len(cluster.jobs), len(cluster.tasks)
            log.info("first cycle built=%.2f took=%.2f nodes=%d jobs=%d pods=%d", self._built, took, *counts)
        self._hand_on(result)
        if taking is not None and self._keep is not None:
            self._keep(taking.finish(budget, result))
        return result

    def _is_due(self, now: float) -> bool:
        """Whether a cycle may decide or tell something though nothing changed since the last."""
        memory = self.memory
        is_late = not 0.0 <= now - self._begun < self._period
        return (
            bool(self._nominations)
            or memory.round.goes_on
            or memory.dormancy.is_due(now)
            or memory.refused.is_due(now)
            or (is_late and memory.is_restless)
        )

    def _rest(self, seconds: float) -> None:
        """After a cycle that took so long: have the next one wait for more to do, never longer than a period."""
        self._rested = self._stopwatch() + min(self._period, seconds * (1.0 / _SHARE - 1.0))

    def _begin_dump(self, uid: str, now: float) -> Taking | None:
        if not self._dumps.is_set():
            return None
        self._dumps.clear()
        try:
            return Taking(self.facts.cluster, self.memory, uid=uid, now=now, configuration=self._loaded.text)
        except Exception:
            log.exception("dump could not be taken session=%s", uid)
            return None

    def _show(self) -> None:
        cluster = self.facts.cluster
        cluster.settle()
        for line in overview.text(cluster):
            log.info("dump %s", line)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        log.info(
            "dump memory peak=%d objects=%d collections=%d nodes=%d jobs=%d tasks=%d",
            usage.ru_maxrss,
            len(gc.get_objects()) + gc.get_freeze_count(),
            sum(generation["collections"] for generation in gc.get_stats()),
            len(cluster.nodes),
            len(cluster.jobs),
            len(cluster.tasks),
        )
