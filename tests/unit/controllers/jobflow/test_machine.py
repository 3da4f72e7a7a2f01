"""The phases of a flow, cell by cell."""

from __future__ import annotations

import pytest

from controllers.jobflow.machine import census, next_phase
from generated.batch.v1alpha1 import Job, JobState, JobStatus
from generated.meta.v1 import ObjectMeta


def jobs(*phases: str) -> list[Job]:
    return [
        Job(metadata=ObjectMeta(name=f"j{number}"), status=JobStatus(state=JobState(phase=phase)))
        for number, phase in enumerate(phases)
    ]


@pytest.mark.parametrize(
    ("phase", "phases", "expected"),
    [
        ("", [], "Pending"),
        ("Pending", [], "Pending"),
        ("Pending", ["Pending", "Completing", "Terminating", "Aborted", ""], "Pending"),
        ("Pending", ["Running"], "Running"),
        ("Pending", ["Completed"], "Running"),
        ("Pending", ["Running", "Terminated"], "Running"),
        ("Pending", ["Running", "Failed"], "Failed"),
        ("Pending", ["Failed"], "Failed"),
        ("Pending", ["Terminated"], "Failed"),
        ("Running", ["Completed", "Completed"], "Succeed"),
        ("Running", ["Completed"], "Running"),
        ("Running", ["Completed", "Running"], "Running"),
        ("Running", ["Completed", "Failed"], "Failed"),
        ("Running", ["Terminated"], "Failed"),
        ("Running", ["Aborted"], "Running"),
        ("Running", [], "Running"),
        ("Succeed", ["Failed"], "Succeed"),
        ("Succeed", [], "Succeed"),
        ("Failed", ["Failed", "Completed"], "Failed"),
        ("Failed", ["Terminated"], "Failed"),
        ("Failed", ["Restarting", "Completed"], "Running"),
        ("Terminating", ["Running"], "Terminating"),
    ],
)
def test_the_next_phase_of_a_flow_of_two_entries(phase: str, phases: list[str], expected: str) -> None:
    assert next_phase(phase, census(jobs(*phases)), 2) == expected


def test_a_phase_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="Odd"):
        next_phase("Odd", census([]), 1)


def test_jobs_that_are_just_ending_are_in_no_list() -> None:
    found = census(jobs("Completing", "Terminating", "Aborting", "Running"))
    assert dict(found.by_list) == {"unknown": ("j2",), "running": ("j3",)}
