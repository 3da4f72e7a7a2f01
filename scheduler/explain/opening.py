"""
A session for questions, between two cycles: it sees what the next cycle would see, and leaves nothing behind.

Its plugins register as in any session, but are not told of a close, and no decision of it is ever carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scheduler.gates import Gates
from scheduler.session import Session

if TYPE_CHECKING:
    from scheduler.memory import Memory
    from scheduler.state.cluster import Cluster

UID = "explain"


@contextmanager
def opened(cluster: Cluster, memory: Memory, now: float) -> Iterator[Session]:
    """A session over the state as it is. `now` is in unix seconds. What changed since the last cycle stays news."""
    changed = set(cluster.changed_jobs)
    # A search that is cut short moves on with each use, and would begin elsewhere in the next cycle; a gate that
    # counts as opened would stay closed.
    sampling, memory.sampling = memory.sampling, None
    gates, memory.gates = memory.gates, Gates(cluster, is_on=memory.gates.is_on, granted=memory.gates.granted)
    try:
        session = Session(cluster, memory.configuration, memory, uid=UID, now=now)
        try:
            session.open()
            yield session
        finally:
            session.close()
    finally:
        memory.sampling, memory.gates = sampling, gates
        cluster.changed_jobs |= changed
