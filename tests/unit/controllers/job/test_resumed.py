"""A job that its user suspends and resumes as often as it takes."""

from __future__ import annotations

import pytest

from controllers.job import machine
from controllers.job.plan import Plan, is_hopeless, plan
from controllers.job.requests import SYNC, Request
from generated.batch.v1alpha1 import Job, JobCondition
from tests.unit.controllers.job.samples import NOW, a_job, a_pod, a_world


def restarting(*history: str, retries: int = 3) -> Job:
    """A job that came through these phases and has used all of its retries."""
    conditions = tuple(JobCondition(status=phase) for phase in (*history, "Restarting"))
    return a_job(phase="Restarting", max_retry=3, status={"retry_count": retries, "conditions": conditions})


def act(job: Job, request: Request = SYNC, action: str = "SyncJob") -> Plan:
    cell = machine.cell(job.status.state.phase, action)
    return plan(a_world(job, a_pod("j-t-0", "Failed")), cell, request, action, NOW)


@pytest.mark.parametrize("before", ["Aborting", "Aborted"])
@pytest.mark.parametrize("retries", [3, 7])
def test_one_that_was_resumed_goes_on_whatever_it_has_used(before: str, retries: int) -> None:
    job = restarting("Running", before, retries=retries)
    assert not is_hopeless(job)
    made = act(job)
    assert (made.status.state.phase, made.status.retry_count) == ("Pending", retries)
    assert [place.pod for place in made.create] == ["j-t-1", "j-t-2"]


@pytest.mark.parametrize("history", [("Aborted", "Pending", "Running"), ("Running",), ()])
def test_one_that_restarted_by_itself_fails_as_ever(history: tuple[str, ...]) -> None:
    job = restarting(*history)
    assert is_hopeless(job)
    assert act(job).status.state.phase == "Failed"


def test_its_next_failure_ends_it() -> None:
    job = a_job(phase="Running", max_retry=3, status={"retry_count": 3})
    restarted = act(job, Request("PodFailed"), "RestartJob").status
    assert (restarted.state.phase, restarted.retry_count) == ("Restarting", 4)
    assert act(restarting("Aborted", "Running", retries=4)).status.state.phase == "Failed"
