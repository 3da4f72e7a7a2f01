"""
One scheduling cycle: a function of the state, the configuration, an identity and a time.

Nothing else goes in and nothing but data comes out, so a cycle can be replayed from a dump, asked "what if", and
tested without a server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.decisions import Bind, Decision, Evict
from scheduler.outcome import Outcome, outcome
from scheduler.points import Guarded
from scheduler.session import Session

if TYPE_CHECKING:
    from scheduler.memory import Memory
    from scheduler.state.cluster import Cluster

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """What a cycle decided, and what is to be told."""

    decisions: tuple[Decision, ...]
    outcome: Outcome


def run_cycle(
    cluster: Cluster,
    memory: Memory,
    actions: Mapping[str, Callable[[Session], None]],
    *,
    uid: str,
    now: float,
    expired: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Open a session, run the configured actions in order, close it.

    `now` is in unix seconds; `expired()` says that the budget of the cycle is spent: jobs that were not reached wait
    for the next one. An action that throws is logged and counted, and the next one runs.
    """
    session = Session(cluster, memory.configuration, memory, uid=uid, now=now, expired=expired)
    session.open()
    try:
        for name in memory.configuration.actions:
            Guarded(actions[name], None, name, "action", memory.on_failure)(session)
        session.notify_close()
        told = outcome(session, session.looked_at())
    finally:
        session.close()
    binds = sum(isinstance(decision, Bind) for decision in session.decisions)
    evictions = sum(isinstance(decision, Evict) for decision in session.decisions)
    log.info("cycle done session=%s binds=%d evictions=%d jobs=%d", uid, binds, evictions, len(told.jobs))
    return Result(tuple(session.decisions), told)
