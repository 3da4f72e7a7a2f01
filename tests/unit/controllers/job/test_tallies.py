"""Statuses that tell only counts wait for the end of a rush."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from api import names
from controllers.job.tallies import LONGEST, Tallies, tells_only_counts
from generated.batch.v1alpha1 import JobCondition, JobState, JobStatus, TaskState
from runtime.objects import Key
from runtime.ratelimit import Rush

KEY = Key("ns", "j")
Message = names.JobStateMessage


def a_status(
    message: str = "", phase: str = "Running", tasks: dict[str, dict[str, int]] | None = None, **fields: Any
) -> JobStatus:
    states = {task: TaskState(phase=phases) for task, phases in (tasks or {}).items()}
    return JobStatus(state=JobState(phase=phase, message=message), task_status_count=states, **fields)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"pending": 3}, True),
        ({"running": 2, "unknown": 1, "terminating": 4}, True),
        ({"task_status_count": {"w": TaskState(phase={"Running": 2})}}, True),
        ({"task_status_count": {"w": TaskState(phase={"Running": 1, "Succeeded": 1})}}, False),
        ({"task_status_count": {"w": TaskState(phase={"Failed": 1})}}, False),
        ({"succeeded": 1}, False),
        ({"failed": 1}, False),
        ({"state": JobState(phase="Completing")}, False),
        ({"state": JobState(phase="Running", reason="PodFailed")}, False),
        ({"state": JobState(phase="Running", message="waits for task a")}, False),
        ({"state": JobState(phase="Running", last_transition_time="2026-05-01T12:00:00Z")}, True),
        ({"version": 1}, False),
        ({"retry_count": 1}, False),
        ({"min_available": 2}, False),
        ({"controlled_resources": {"plugin-svc": "svc"}}, False),
        ({"conditions": (JobCondition(status="Running"),)}, False),
    ],
)
def test_what_is_no_more_than_counts(change: dict[str, Any], expected: bool) -> None:
    before = a_status(tasks={"w": {"Pending": 2}})
    assert tells_only_counts(before, replace(before, **change)) is expected
    assert tells_only_counts(replace(before, **change), before) is expected


def test_that_a_group_was_let_in_waits_along_with_the_counts_of_its_pods() -> None:
    waits, admitted = a_status(Message.WAITS_FOR_ADMISSION, "Pending"), a_status(Message.ADMITTED, "Pending", pending=1)
    assert tells_only_counts(waits, admitted)
    assert not tells_only_counts(admitted, waits)


class Bench:
    def __init__(self) -> None:
        self.woken: list[tuple[Key, float]] = []
        self.urgent: list[bool] = []
        self.loop = asyncio.get_running_loop()
        self.began = self.loop.time()
        self.tallies = Tallies(self.note)

    def note(self, key: Key, is_urgent: bool) -> None:  # as the controller's
        self.woken.append((key, self.loop.time() - self.began))
        self.urgent.append(is_urgent)

    def rush(self, count: int = Rush.MANY) -> None:
        for _ in range(count):
            self.tallies.note_write()

    def puts_off(self, key: Key = KEY) -> bool:
        return self.tallies.puts_off(key, a_status(), a_status(running=1))


@pytest.mark.virtual_time
async def test_without_a_rush_nothing_waits() -> None:
    bench = Bench()
    bench.rush(Rush.MANY - 1)
    assert not bench.puts_off()


@pytest.mark.virtual_time
async def test_in_a_rush_counts_wait_for_its_end_and_the_rest_does_not() -> None:
    bench = Bench()
    bench.rush()
    assert bench.puts_off()
    assert not bench.tallies.puts_off(Key("ns", "k"), a_status(), a_status(phase="Completed"))
    assert not bench.tallies.puts_off(Key("ns", "k"), a_status(), a_status())
    await asyncio.sleep(Rush.WINDOW + 0.1)
    [(key, waited)] = bench.woken
    assert key == KEY
    assert waited == pytest.approx(Rush.WINDOW)
    assert bench.urgent == [False]
    assert not bench.puts_off()


@pytest.mark.virtual_time
async def test_a_rush_that_goes_on_holds_counts_back_for_half_a_minute() -> None:
    bench = Bench()
    bench.rush()
    assert bench.puts_off()
    for turn in range(1, 100):
        await asyncio.sleep(0.4)
        bench.rush()
        if turn == 10:
            assert bench.puts_off()  # seen again meanwhile
    assert bench.urgent == [True]
    assert bench.woken[0][1] == pytest.approx(LONGEST, abs=Rush.RECURRING)
    assert not bench.puts_off()
    assert bench.puts_off()  # the next ones


@pytest.mark.virtual_time
async def test_a_status_that_was_written_and_a_job_that_is_gone_are_forgotten() -> None:
    bench = Bench()
    bench.rush()
    assert bench.puts_off()
    other = Key("ns", "k")
    assert bench.puts_off(other)
    assert not bench.tallies.puts_off(KEY, a_status(), a_status(phase="Completed"))
    bench.tallies.forget(other)
    await asyncio.sleep(Rush.WINDOW + 0.1)
    assert bench.woken == []
    assert len(bench.tallies) == 0
