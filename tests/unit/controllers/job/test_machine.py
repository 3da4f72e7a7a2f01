"""Every cell of the job's state table, checked against the rules it names by what they do."""

from __future__ import annotations

import pytest

from controllers.job.counts import Counts
from controllers.job.machine import COLUMNS, TABLE, Operation, cell, known_phase
from controllers.job.rules import Facts
from generated.bus.v1alpha1 import Action
from tests.unit.controllers.job.samples import a_job

ACTIONS = (
    "SyncJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "AbortJob",
    "CompleteJob",
    "TerminateJob",
    "ResumeJob",
    "EnqueueJob",
    "CloseQueue",
    "",
    "whatever",
)
# sync, restart job, restart target (three actions), abort, complete, terminate, resume, other (four actions)
ROWS = {
    "Pending": ("sync run", "kill none restart", "target restart", *3 * ["move"], "sync run", "sync run"),
    "Running": ("sync R", "kill none restart", "target restart", *3 * ["move"], "sync R", "sync R"),
    "Restarting": ("sync X", "kill none X", "target X", *3 * ["move"], "kill none X", "kill none X"),
    "Aborting": (*6 * ["kill soft done Aborted"], "kill soft restart", "kill soft done Aborted"),
    "Aborted": (*6 * ["kill soft -"], "kill soft restart", "kill soft -"),
    "Completing": tuple(8 * ["kill soft done Completed"]),
    "Terminating": tuple(8 * ["kill soft done Terminated"]),
    "Completed": tuple(8 * ["kill soft -"]),
    "Failed": tuple(8 * ["kill soft -"]),
    "Terminated": tuple(8 * ["kill soft -"]),
}
WIDTHS = (1, 1, 3, 1, 1, 1, 1, 4)
MOVES = {"AbortJob": "Aborting", "CompleteJob": "Completing", "TerminateJob": "Terminating"}
CELLS = [
    (phase, action, expected if expected != "move" else f"kill soft to {MOVES[action]}")
    for phase, row in ROWS.items()
    for action, expected in zip(
        ACTIONS, [text for text, width in zip(row, WIDTHS, strict=True) for _ in range(width)], strict=True
    )
]


def facts(counts: Counts, *, retry_count: int = 0, min_available: int = 3) -> Facts:
    return Facts(a_job(min_success=3).spec, counts, min_available, retry_count)


SITUATIONS = {
    "nothing left": facts(Counts()),
    "running": facts(Counts({"Running": 3})),
    "succeeded": facts(Counts({"Succeeded": 3})),
    "exhausted": facts(Counts({"Running": 3}, terminating=1), retry_count=3),
}
"""What each rule makes of the situations above, in their order."""
OUTCOMES = {
    "run": (None, "Running", "Running", "Running"),
    "R": (None, None, "Completed", None),
    "X": ("Pending", "Pending", "Pending", "Failed"),
    "restart": ("Restarting",) * 4,
    "-": (None,) * 4,
    **{f"to {phase}": (phase,) * 4 for phase in MOVES.values()},
    **{f"done {phase}": (phase, None, phase, None) for phase in ("Aborted", "Completed", "Terminated")},
}


@pytest.mark.parametrize(("phase", "action", "expected"), CELLS)
def test_a_phase_and_an_action_give_what_happens_to_pods_and_phase(phase: str, action: str, expected: str) -> None:
    kind, _, rest = expected.partition(" ")
    found = cell(phase, action)
    if kind == "kill":
        retain, _, rest = rest.partition(" ")
        assert found.retain == (frozenset() if retain == "none" else {"Succeeded", "Failed"})
    operations = {"sync": Operation.SYNC, "kill": Operation.KILL, "target": Operation.KILL_TARGET}
    assert found.operation is operations[kind]
    changes = [found.rule(each) for each in SITUATIONS.values()]
    assert tuple(change.phase if change else None for change in changes) == OUTCOMES[rest]


def test_every_phase_and_every_column_is_in_the_table_above() -> None:
    assert set(TABLE) == set(ROWS)
    assert set(COLUMNS) <= set(ACTIONS)
    assert set(COLUMNS) <= set(Action.VALUES)


@pytest.mark.parametrize("phase", ["", "Strange"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_job_without_a_known_phase_is_pending(phase: str, action: str) -> None:
    assert known_phase(phase) == "Pending"
    assert cell(phase, action) == cell("Pending", action)


def test_only_restarts_use_up_a_retry() -> None:
    using = {
        (phase, action)
        for phase, action, _ in CELLS
        if any((change := cell(phase, action).rule(each)) and change.is_retry for each in SITUATIONS.values())
    }
    restarts = {"RestartJob", "RestartTask", "RestartPod", "RestartPartition"}
    expected = {(phase, action) for phase in ("Pending", "Running") for action in restarts}
    assert using == expected | {("Aborting", "ResumeJob"), ("Aborted", "ResumeJob")}
