"""What a cycle was given and what it decided, as data."""

from __future__ import annotations

import msgspec

from scheduler.contract.decisions import Bind, OpenGate
from scheduler.cycle import Result


class DecisionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decision. `kind` is `bind`, `evict` or `open`."""

    kind: str
    pod: str
    uid: str
    node: str = ""
    group: int = 0
    reason: str = ""
    beneficiary: str = ""

    def __str__(self) -> str:
        if self.kind == "bind":
            return f"bind {self.pod} to {self.node}"
        if self.kind == "open":
            return f"open the gate of {self.pod}"
        return f"evict {self.pod} from {self.node}, because of {self.reason}, for {self.beneficiary or 'nobody'}"


class SamplingRecord(msgspec.Struct, frozen=True):
    """A search for nodes that is cut short, and where it began in this cycle."""

    percentage: int
    minimum: int
    cursor: int


class GatesRecord(msgspec.Struct, frozen=True):
    """That queues let pods in by their gates; `granted` are the uids of pods whose gate was on its way out."""

    granted: list[str]


class ShardsRecord(msgspec.Struct, frozen=True):
    """The nodes that were this scheduler's, and what that meant: `hard` or `soft`."""

    mode: str
    name: str
    nodes: list[str]


class RoundRecord(msgspec.Struct, frozen=True):
    """The jobs that were owed a turn by stage, those that had it in vain, and whether this cycle was for the former only."""

    owed: dict[str, list[str]]
    vain: dict[str, list[str]]
    owed_only: bool


class CycleRecord(msgspec.Struct, frozen=True):
    """
    The cycle of a dump. `now` is in unix seconds.

    `over_at` is the number of the question for the time that was answered with yes, `last_job` the job whose tasks
    had been decided last by then; None and empty when the time sufficed.
    """

    uid: str
    now: float
    configuration: str
    over_at: int | None
    last_job: str
    decisions: list[DecisionRecord]
    sampling: SamplingRecord | None = None
    gates: GatesRecord | None = None
    shards: ShardsRecord | None = None
    round: RoundRecord | None = None


def decisions_of(result: Result) -> list[DecisionRecord]:
    """A cycle's decisions, in order."""
    records: list[DecisionRecord] = []
    for decision in result.decisions:
        task = decision.task
        if isinstance(decision, Bind):
            records.append(DecisionRecord("bind", task.key, task.uid, decision.node, decision.group))
        elif isinstance(decision, OpenGate):
            records.append(DecisionRecord("open", task.key, task.uid))
        else:
            node = task.node.name if task.node is not None else ""
            records.append(
                DecisionRecord("evict", task.key, task.uid, node, decision.group, decision.reason, decision.beneficiary)
            )
    return records
