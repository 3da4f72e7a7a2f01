"""
The state machine of a job, as a table: what each action does in each phase (controllers.md 3.6).

A cell says what happens to the pods and which rule then decides on the phase (`controllers.job.rules`). Nothing here
reads or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from controllers.job.counts import FAILED, SUCCEEDED
from controllers.job.rules import Rule, done, exhausted_or_pending, finished_or_pending, go_on, move, restart, run
from generated.batch.v1alpha1 import JobPhase
from generated.bus.v1alpha1 import Action

NONE: Final[frozenset[str]] = frozenset()
SOFT: Final = frozenset((SUCCEEDED, FAILED))
"""Phases of pods that a kill leaves alone."""


class Operation(Enum):
    """What happens to the pods."""

    SYNC = "sync"
    """Those that are missing are created, those too many deleted."""
    KILL = "kill"
    """All are deleted but those in phases to retain."""
    KILL_TARGET = "kill target"
    """Those of the request's task, pod or partition are deleted."""


class Cell(NamedTuple):
    operation: Operation
    rule: Rule
    retain: frozenset[str] = NONE


class Row(NamedTuple):
    """One phase. `restart_target` is RestartTask, RestartPod, RestartPartition; `other` is every action not named."""

    sync: Cell
    restart_job: Cell
    restart_target: Cell
    abort: Cell
    complete: Cell
    terminate: Cell
    resume: Cell
    other: Cell


def _everywhere(cell: Cell) -> Row:
    return Row(cell, cell, cell, cell, cell, cell, cell, cell)


_ABORT: Final = Cell(Operation.KILL, move(JobPhase.ABORTING), SOFT)
_COMPLETE: Final = Cell(Operation.KILL, move(JobPhase.COMPLETING), SOFT)
_TERMINATE: Final = Cell(Operation.KILL, move(JobPhase.TERMINATING), SOFT)
_RESTART: Final = Cell(Operation.KILL, restart, NONE)
_RESTART_TARGET: Final = Cell(Operation.KILL_TARGET, restart)
_RUN: Final = Cell(Operation.SYNC, run)
_RULE_R: Final = Cell(Operation.SYNC, finished_or_pending)
_RULE_X: Final = Cell(Operation.SYNC, exhausted_or_pending)
_KILL_X: Final = Cell(Operation.KILL, exhausted_or_pending, NONE)
_KILL_TARGET_X: Final = Cell(Operation.KILL_TARGET, exhausted_or_pending)
_RESUME: Final = Cell(Operation.KILL, restart, SOFT)
_ABORTING: Final = Cell(Operation.KILL, done(JobPhase.ABORTED), SOFT)
_COMPLETING: Final = Cell(Operation.KILL, done(JobPhase.COMPLETED), SOFT)
_TERMINATING: Final = Cell(Operation.KILL, done(JobPhase.TERMINATED), SOFT)
_REST: Final = Cell(Operation.KILL, go_on, SOFT)

TABLE: Final[Mapping[str, Row]] = {
    # SyncJob, RestartJob, RestartTask|Pod|Partition, AbortJob, CompleteJob, TerminateJob, ResumeJob, other
    JobPhase.PENDING: Row(_RUN, _RESTART, _RESTART_TARGET, _ABORT, _COMPLETE, _TERMINATE, _RUN, _RUN),
    JobPhase.RUNNING: Row(_RULE_R, _RESTART, _RESTART_TARGET, _ABORT, _COMPLETE, _TERMINATE, _RULE_R, _RULE_R),
    JobPhase.RESTARTING: Row(_RULE_X, _KILL_X, _KILL_TARGET_X, _ABORT, _COMPLETE, _TERMINATE, _KILL_X, _KILL_X),
    JobPhase.ABORTING: _everywhere(_ABORTING)._replace(resume=_RESUME),
    JobPhase.ABORTED: _everywhere(_REST)._replace(resume=_RESUME),
    JobPhase.COMPLETING: _everywhere(_COMPLETING),
    JobPhase.TERMINATING: _everywhere(_TERMINATING),
    JobPhase.COMPLETED: _everywhere(_REST),
    JobPhase.FAILED: _everywhere(_REST),
    JobPhase.TERMINATED: _everywhere(_REST),
}

COLUMNS: Final[Mapping[str, str]] = {
    Action.SYNC_JOB: "sync",
    Action.RESTART_JOB: "restart_job",
    Action.RESTART_TASK: "restart_target",
    Action.RESTART_POD: "restart_target",
    Action.RESTART_PARTITION: "restart_target",
    Action.ABORT_JOB: "abort",
    Action.COMPLETE_JOB: "complete",
    Action.TERMINATE_JOB: "terminate",
    Action.RESUME_JOB: "resume",
}


def known_phase(phase: str) -> str:
    """A job without phase, or in one that nobody knows, is pending."""
    return phase if phase in TABLE else JobPhase.PENDING


def cell(phase: str, action: str) -> Cell:
    """What an action does to a job in a phase."""
    found: Cell = getattr(TABLE[known_phase(phase)], COLUMNS.get(action, "other"))
    return found
