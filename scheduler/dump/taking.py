"""Taking a dump beside a running cycle: the state before it, then what it decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from scheduler.budget import Budget
from scheduler.cycle import Result
from scheduler.dump import overview, parts
from scheduler.dump.files import Dump, encode
from scheduler.dump.record import CycleRecord, GatesRecord, RoundRecord, SamplingRecord, ShardsRecord, decisions_of

if TYPE_CHECKING:
    from scheduler.memory import Memory
    from scheduler.state.cluster import Cluster


class Taking:
    """Made before a cycle; `finish` after it gives the content of the file."""

    def __init__(self, cluster: Cluster, memory: Memory, *, uid: str, now: float, configuration: str) -> None:
        self._uid, self._now, self._configuration = uid, now, configuration
        sampling = memory.sampling
        self._sampling = (
            SamplingRecord(sampling.percentage, sampling.minimum, sampling.cursor) if sampling is not None else None
        )
        gates = memory.gates
        self._gates = GatesRecord(sorted(gates.granted)) if gates.is_on else None
        shards = memory.shards
        self._shards = (
            ShardsRecord(shards.mode.value, shards.name, sorted(shards.nodes)) if shards is not None else None
        )
        self._round = _round(memory)
        # A replay begins with a memory that knows of no sleepers: this cycle visits all jobs, as that one will.
        memory.dormancy.clear()
        memory.refused.clear()
        # Records hold what the cycle doesn't change: copies, numbers, and objects of the API.
        self._parts: dict[str, list[Any]] = parts.take(cluster, memory)
        self._overview = [msgspec.Raw(msgspec.json.encode(line)) for line in overview.lines(cluster)]

    def finish(self, budget: Budget, result: Result) -> bytes:
        """The dump of the cycle that ran meanwhile."""
        cycle = CycleRecord(
            self._uid,
            self._now,
            self._configuration,
            budget.over_at,
            result.last_job,
            decisions_of(result),
            self._sampling,
            self._gates,
            self._shards,
            self._round,
        )
        return encode(Dump(cycle, self._parts), self._overview)


def _round(memory: Memory) -> RoundRecord | None:
    turns = memory.round
    if not turns.is_on:
        return None
    owed, vain = ({stage: sorted(jobs) for stage, jobs in each.items()} for each in (turns.owed, turns.vain))
    return RoundRecord(owed, vain, turns.owed_only)
