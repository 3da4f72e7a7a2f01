"""
Where a flow stands, from where its jobs stand (controllers.md 7): a table and a pure function.

| phase | its jobs | next |
|---|---|---|
| Pending | one Running or Completed, none Failed | Running |
| Pending | one Failed; or one Terminated and none Running or Completed | Failed |
| Running | all entries Completed | Succeed |
| Running | else, one Failed or Terminated | Failed |
| Failed | none Failed or Terminated any more | Running |
| else | | as it was |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from generated.batch.v1alpha1 import Job, JobPhase
from generated.flow.v1alpha1 import FlowPhase

PENDING, RUNNING, FAILED, COMPLETED, TERMINATED = "pending", "running", "failed", "completed", "terminated"
UNKNOWN: Final = "unknown"
_LIST_OF: Final[Mapping[str, str]] = {
    JobPhase.PENDING: PENDING,
    JobPhase.RUNNING: RUNNING,
    JobPhase.FAILED: FAILED,
    JobPhase.COMPLETED: COMPLETED,
    JobPhase.TERMINATED: TERMINATED,
}
_IN_NO_LIST: Final = frozenset((JobPhase.COMPLETING, JobPhase.TERMINATING))
KNOWN: Final = frozenset(("", *FlowPhase.VALUES))


class Census(msgspec.Struct, frozen=True):
    """Names of a flow's jobs by where they stand, in the order of their names."""

    by_list: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self.by_list.get(name, ())


def census(jobs: Iterable[Job]) -> Census:
    """Sort jobs by phase. Those that are just ending are in no list, those in any other phase in `unknown`."""
    found: dict[str, list[str]] = {}
    for job in sorted(jobs, key=lambda job: job.metadata.name):
        phase = job.status.state.phase
        if phase not in _IN_NO_LIST:
            found.setdefault(_LIST_OF.get(phase, UNKNOWN), []).append(job.metadata.name)
    return Census({name: tuple(names) for name, names in found.items()})


def next_phase(phase: str, jobs: Census, entries: int) -> str:
    """The phase of a flow of so many entries; raises ValueError for one that isn't known."""
    if phase not in KNOWN:
        raise ValueError(phase)
    if phase in {"", FlowPhase.PENDING}:
        return _from_pending(jobs)
    if phase == FlowPhase.RUNNING:
        return _from_running(jobs, entries)
    if phase == FlowPhase.FAILED and not jobs[FAILED] and not jobs[TERMINATED]:
        return FlowPhase.RUNNING
    return phase


def _from_pending(jobs: Census) -> str:
    if (jobs[RUNNING] or jobs[COMPLETED]) and not jobs[FAILED]:
        return FlowPhase.RUNNING
    return FlowPhase.FAILED if jobs[FAILED] or jobs[TERMINATED] else FlowPhase.PENDING


def _from_running(jobs: Census, entries: int) -> str:
    if len(jobs[COMPLETED]) == entries:
        return FlowPhase.SUCCEED
    return FlowPhase.FAILED if jobs[FAILED] or jobs[TERMINATED] else FlowPhase.RUNNING
