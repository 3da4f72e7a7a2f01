"""
One scheduling cycle: a function of the state, the configuration, an identity and a time.

Nothing else goes in and nothing but data comes out, so a cycle can be replayed from a dump, asked "what if", and
tested without a server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from scheduler.contract.decisions import Bind, Decision, Evict
from scheduler.contract.points import Guarded
from scheduler.fairness.levels import Level, levels
from scheduler.reporting.gauges import Gauges
from scheduler.reporting.outcome import Outcome, outcome
from scheduler.reporting.timings import Span, Timings
from scheduler.session import Session

if TYPE_CHECKING:
    from scheduler.memory import Memory
    from scheduler.state.cluster import Cluster

log = logging.getLogger(__name__)


class Result(msgspec.Struct, frozen=True):
    """What a cycle decided, and what is to be told."""

    decisions: tuple[Decision, ...]
    outcome: Outcome
    spans: tuple[Span, ...] = ()
    gauges: Gauges = msgspec.field(default_factory=Gauges)
    levels: tuple[Level, ...] = ()
    """What queues hold, the binds of this cycle included."""
    last_job: str = ""
    """The job whose tasks were decided last when the time was over; empty when it never was, or before the first."""


def run_cycle(
    cluster: Cluster,
    memory: Memory,
    actions: Mapping[str, Callable[[Session], None]],
    *,
    uid: str,
    now: float,
    expired: Callable[[], bool] = lambda: False,
    stopwatch: Callable[[], float] | None = None,
) -> Result:
    """
    Open a session, run the configured actions in order, close it.

    `now` is in unix seconds; `expired()` says that the budget of the cycle is spent: jobs that were not reached are
    owed a turn in one of the next (`Round`). An action that throws is logged and counted, and the next one runs.
    `stopwatch` gives seconds, for the spans of the result; nothing else depends on it.
    """
    timings = Timings(stopwatch) if stopwatch is not None else Timings()
    reached: list[str] = []
    turns = memory.round
    turns.begin()

    def is_over() -> bool:
        over = turns.is_over(expired)
        if over and not reached:
            reached.append(session.decisions[-1].task.job if session.decisions else "")
        return over

    session = Session(cluster, memory.configuration, memory, uid=uid, now=now, expired=is_over)
    session.timings = timings
    with timings.measure("cycle", ""):
        with timings.measure("session", "open"):
            session.open()
        try:
            for name in memory.configuration.actions:
                turns.enter(name)
                with timings.measure("action", name):
                    Guarded(actions[name], None, name, "action", memory.on_failure)(session)
                turns.leave()
            served = session.served()
            turns.end(served, is_fruitful=bool(session.decisions))
            session.recall(served)
            session.notify_close()
            told = outcome(session, session.looked_at())
            session.told = {each.job.id: each.phase for each in told.jobs}
        finally:
            session.close()
    binds = sum(isinstance(decision, Bind) for decision in session.decisions)
    evictions = sum(isinstance(decision, Evict) for decision in session.decisions)
    log.info("cycle done session=%s binds=%d evictions=%d jobs=%d", uid, binds, evictions, len(told.jobs))
    last_job = reached[0] if reached else ""
    return Result(tuple(session.decisions), told, tuple(timings.spans), session.gauges, levels(cluster), last_job)
