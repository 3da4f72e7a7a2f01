"""The rules that choose a job's next phase."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.job.counts import Counts, count
from controllers.job.requests import Request, Target
from controllers.job.rules import (
    Facts,
    done,
    exhausted_or_pending,
    finished_or_pending,
    move,
    restart,
    run,
)
from generated.batch.v1alpha1 import TaskSpec
from tests.unit.controllers.job.samples import a_job, a_task


def counts(terminating: int = 0, **phases: int) -> Counts:
    return count([("t", phase) for phase, number in phases.items() for _ in range(number)], terminating)


def facts(found: Counts, *tasks: TaskSpec, retry_count: int = 0, admitted: bool = True, **spec: Any) -> Facts:
    job = a_job(*tasks, **spec)
    return Facts(job.spec, found, job.status.min_available, retry_count, admitted)


RULE_R = [
    ("scaled to zero keeps its phase", facts(counts(), a_task(replicas=0)), None, ""),
    (
        "enough succeeded",
        facts(counts(Succeeded=2, Running=3), a_task(replicas=5), min_success=2),
        "Completed",
        "MinSuccessReached",
    ),
    (
        "a task fell short",
        facts(counts(Succeeded=2, Failed=1), a_task(min_available=3)),
        "Failed",
        "MinAvailableNotMet",
    ),
    (
        "no check of tasks below the sum of their minimums",
        facts(counts(Succeeded=3, Failed=2), a_task(replicas=5), min_available=3),
        "Completed",
        "TaskCompleted",
    ),
    ("too few succeeded", facts(counts(Succeeded=1, Failed=2), min_success=2), "Failed", "MinSuccessNotReached"),
    ("all succeeded", facts(counts(Succeeded=3)), "Completed", "TaskCompleted"),
    ("all failed", facts(counts(Failed=3), min_available=1), "Failed", "MinAvailableNotMet"),
    ("too many pending", facts(counts(Pending=2, Running=1), min_available=2), "Pending", "MinAvailableNotMet"),
    ("few enough pending", facts(counts(Pending=1, Running=2), min_available=2), None, ""),
    ("more ended than there should be", facts(counts(Succeeded=4)), None, ""),
    ("not admitted", facts(counts(Succeeded=3), admitted=False), None, ""),
    (
        "a task without pods is not looked at",
        facts(counts(Succeeded=3), a_task(min_available=3), a_task("other", 0, 0)),
        "Completed",
        "TaskCompleted",
    ),
]


@pytest.mark.parametrize(("seen", "phase", "reason"), [row[1:] for row in RULE_R], ids=[row[0] for row in RULE_R])
def test_rule_r(seen: Facts, phase: str | None, reason: str) -> None:
    change = finished_or_pending(seen)
    assert (change.phase if change else None, change.reason if change else "") == (phase, reason)


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (facts(counts(terminating=2), min_available=2), None),
        (facts(counts(terminating=1), min_available=2), "Pending"),
        (facts(counts(), min_available=3), "Pending"),
        (facts(counts(), retry_count=3, max_retry=3), "Failed"),
        (facts(counts(), retry_count=1, max_retry=0), "Failed"),
        (facts(counts(terminating=3), retry_count=2, max_retry=3), None),
        (facts(counts(), retry_count=2), "Pending"),
        (facts(counts(), retry_count=3), "Failed"),
    ],
)
def test_rule_x(seen: Facts, phase: str | None) -> None:
    change = exhausted_or_pending(seen)
    assert (change.phase if change else None) == phase


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (facts(counts(Running=1, Failed=1), min_available=2), "Running"),
        (facts(counts(Running=1, Pending=2), min_available=2), None),
        (facts(counts(Succeeded=3), admitted=False), None),
        (facts(counts(), a_task(replicas=0), admitted=False), "Running"),
    ],
)
def test_a_job_runs_once_enough_pods_started(seen: Facts, phase: str | None) -> None:
    change = run(seen)
    assert (change.phase if change else None) == phase


@pytest.mark.parametrize(
    ("found", "is_done"),
    [
        (counts(), True),
        (counts(Succeeded=2, Failed=1), True),
        (counts(Unknown=1), True),
        (counts(terminating=1), False),
        (counts(Pending=1), False),
        (counts(Running=1), False),
    ],
)
def test_a_job_is_done_when_no_pod_could_still_run(found: Counts, is_done: bool) -> None:  # a column
    change = done("Aborted")(facts(found))
    assert (change is not None) == is_done


@pytest.mark.parametrize(
    ("request_", "reason", "message"),
    [
        (
            Request("PodFailed", target=Target("t", "j-t-0"), exit_code=3),
            "PodFailed",
            "PodFailed of pod j-t-0 with exit code 3, restart 1 of 3",
        ),
        (Request("TaskFailed", target=Target("t")), "TaskFailed", "TaskFailed of task t, restart 1 of 3"),
        (Request("CommandIssued", action="ResumeJob"), "Command", "command ResumeJob, restart 1 of 3"),
        (Request("Unknown"), "Unknown", "Unknown, restart 1 of 3"),
    ],
)
def test_a_restart_says_why(request_: Request, reason: str, message: str) -> None:
    change = restart(Facts(a_job().spec, counts(), 3, 0, request=request_))
    assert (change.phase, change.reason, change.message, change.is_retry) == ("Restarting", reason, message, True)


def test_a_move_says_why() -> None:
    change = move("Aborting")(
        Facts(a_job().spec, counts(), 3, 0, request=Request("PodEvicted", target=Target("t", "p")))
    )
    assert change is not None
    assert (change.phase, change.reason, change.message) == ("Aborting", "PodEvicted", "PodEvicted of pod p")


PODS = st.lists(st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]), max_size=6)


@given(PODS, st.integers(0, 6), st.integers(0, 6), st.none() | st.integers(1, 6))
def test_rule_r_ends_a_job_only_when_all_pods_ended_or_enough_succeeded(
    pods: list[str], replicas: int, min_available: int, min_success: int | None
) -> None:
    found = count([("t", phase) for phase in pods], 0)
    change = finished_or_pending(
        facts(found, a_task(replicas=replicas), min_available=min_available, min_success=min_success)
    )
    is_over = found.succeeded + found.failed == replicas
    is_enough = min_success is not None and found.succeeded >= min_success
    if change is not None and change.phase in {"Completed", "Failed"}:
        assert is_over or is_enough
    if replicas and (is_over or is_enough):
        assert change is not None
