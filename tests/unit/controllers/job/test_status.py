"""A job's next status: history, times, reasons."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controllers.job.counts import count
from controllers.job.rules import Change
from controllers.job.status import changed, counted, explained, initial, touched
from generated.batch.v1alpha1 import JobStatus, TaskState
from tests.unit.controllers.job.samples import NOW, NOW_TEXT, a_job


def later(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


def through(*steps: tuple[str, int]) -> JobStatus:
    """A status that came to each phase so many seconds after noon."""
    status = JobStatus()
    for phase, seconds in steps:
        status = changed(status, Change(phase, "R", "m"), later(seconds))
    return status


def test_a_new_job_is_pending_with_its_minimum() -> None:
    status = initial(a_job(), NOW)
    assert (status.state.phase, status.state.reason, status.min_available) == ("Pending", "Created", 3)
    assert [(each.status, each.last_transition_time) for each in status.conditions] == [("Pending", NOW_TEXT)]


def test_counters_and_tasks_are_replaced() -> None:
    status = counted(JobStatus(running=9, version=3), count([("t", "Pending"), ("t", "Unknown"), ("w", "Failed")], 2))
    assert (status.pending, status.unknown, status.failed, status.running, status.terminating) == (1, 1, 1, 0, 2)
    assert status.task_status_count == {
        "t": TaskState(phase={"Pending": 1, "Unknown": 1}),
        "w": TaskState(phase={"Failed": 1}),
    }
    assert status.version == 3


def test_a_phase_that_comes_again_moves_to_the_end_of_the_history() -> None:
    status = through(("Pending", 0), ("Running", 5), ("Restarting", 9), ("Pending", 10))
    assert [(each.status, each.last_transition_time) for each in status.conditions] == [
        ("Running", "2026-05-01T12:00:05Z"),
        ("Restarting", "2026-05-01T12:00:09Z"),
        ("Pending", "2026-05-01T12:00:10Z"),
    ]


def test_a_change_without_reason_keeps_the_one_before() -> None:
    status = changed(through(("Aborting", 0)), Change("Aborted"), later(3))
    assert (status.state.phase, status.state.reason, status.state.message) == ("Aborted", "R", "m")
    assert status.state.last_transition_time == "2026-05-01T12:00:03Z"


def test_only_a_restart_counts_as_a_retry() -> None:
    status = changed(JobStatus(retry_count=1), Change("Restarting", is_retry=True), NOW)
    assert status.retry_count == 2
    assert changed(status, Change("Pending"), NOW).retry_count == 2


def test_counters_alone_touch_the_time_but_not_the_history() -> None:
    old = through(("Running", 0))
    new = touched(msgspec.structs.replace(old, running=2), old, later(7))
    assert new.state.last_transition_time == "2026-05-01T12:00:07Z"
    assert new.conditions == old.conditions
    assert touched(old, old, later(7)) == old


def test_an_explanation_changes_no_phase() -> None:
    status = explained(through(("Pending", 0)), "QueueNotFound", "no queue")
    assert (status.state.phase, status.state.reason, status.state.message) == ("Pending", "QueueNotFound", "no queue")


def test_the_running_time_is_from_the_first_start_to_the_end() -> None:
    assert through(("Pending", 0)).running_duration == ""
    assert through(("Pending", 0), ("Running", 60)).running_duration == ""
    assert through(("Pending", 0), ("Running", 60), ("Completed", 3670)).running_duration == "1h0m10s"
    assert through(("Pending", 0), ("Failed", 60)).running_duration == ""
    restarted = through(("Running", 10), ("Restarting", 20), ("Pending", 25), ("Running", 30), ("Completed", 40))
    assert restarted.running_duration == "30s"


PHASES = st.sampled_from(["Pending", "Running", "Restarting", "Aborting", "Aborted", "Completed"])


@given(st.lists(st.tuples(PHASES, st.integers(0, 1000)), max_size=8))
def test_the_running_time_grows_from_the_first_start_whatever_comes_between(steps: list[tuple[str, int]]) -> None:
    seconds, moments = 0, []
    for phase, pause in steps:
        seconds += pause
        moments.append((phase, seconds))
    started = next((moment for phase, moment in moments if phase == "Running"), None)
    status = through(*moments)
    expected = ""
    if started is not None and moments.index(("Running", started)) < len(moments) - 1:
        total = seconds - started
        hours, rest = divmod(total, 3600)
        minutes, left = divmod(rest, 60)
        expected = f"{hours}h{minutes}m{left}s" if hours else f"{minutes}m{left}s" if minutes else f"{left}s"
    assert status.running_duration == expected
