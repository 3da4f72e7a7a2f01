"""What policies make of events."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.job.policies import Decision, asks_for_exit_codes, decide, reacts_to, unreadable_timeouts
from controllers.job.requests import Request, Target
from generated.batch.v1alpha1 import Job, LifecyclePolicy
from tests.unit.controllers.job.samples import a_job, a_task

SYNC = Decision("SyncJob")


def policy(action: str = "RestartJob", *events: str, **fields: Any) -> LifecyclePolicy:
    return LifecyclePolicy(action=action, events=events, **fields)


def job(*policies: LifecyclePolicy, of_task: tuple[LifecyclePolicy, ...] = (), version: int = 0) -> Job:
    return a_job(
        a_task(policies=of_task), a_task("other"), policies=policies, phase="Running", status={"version": version}
    )


def of(event: str, task: str = "t", **fields: Any) -> Request:
    return Request(event, target=Target(task, "p"), **fields)


RESTART, ABORT = Decision("RestartJob"), Decision("AbortJob")
BOTH = job(policy("AbortJob", "PodFailed"), of_task=(policy("RestartJob", "PodFailed"),))


@pytest.mark.parametrize(
    ("job_", "request_", "decision"),
    [
        (job(), of("PodFailed"), SYNC),
        (job(policy()), of("PodFailed"), SYNC),
        (job(policy("RestartJob", "PodFailed")), of("PodFailed"), RESTART),
        (job(policy("RestartJob", "PodFailed")), of("PodEvicted"), SYNC),
        (job(policy("RestartJob", event="PodFailed")), of("PodFailed"), RESTART),
        (job(policy("RestartJob", "PodEvicted", "PodFailed", "PodEvicted")), of("PodFailed"), RESTART),
        (BOTH, of("PodFailed"), RESTART),
        (BOTH, of("PodFailed", "other"), ABORT),
        (BOTH, of("PodFailed", "unknown"), ABORT),
        (job(policy("AbortJob", "PodFailed"), policy("RestartJob", "*")), of("PodEvicted"), RESTART),
        (job(policy("AbortJob", "Unknown")), Request("Unknown"), ABORT),
        # the first that matches counts
        (job(policy("AbortJob", "*"), policy("RestartJob", "PodFailed")), of("PodFailed"), ABORT),
        # commands need no policy, whatever the version
        (job(version=3), Request("CommandIssued", action="AbortJob"), ABORT),
        (job(), Request("CommandIssued", action="whatever"), Decision("whatever")),
        # internal events match nothing
        (job(policy("AbortJob", "*")), of("OutOfSync"), SYNC),
        (job(policy("AbortJob", "*")), of("PodRunning"), SYNC),
        (job(policy("AbortJob", "*")), of(""), SYNC),
        (job(policy("AbortJob", "*")), of("CommandIssued"), SYNC),
        # another job of the same name, an earlier version of this one
        (job(policy("AbortJob", "*")), of("PodFailed", job_uid="old"), SYNC),
        (job(policy("AbortJob", "*")), of("PodFailed", job_uid="u"), ABORT),
        (job(policy("AbortJob", "*"), version=2), of("PodFailed", version=1), SYNC),
        (job(policy("AbortJob", "*"), version=2), of("PodFailed", version=2), ABORT),
        (job(policy("AbortJob", "*"), version=2), of("PodFailed", version=3), ABORT),
        (job(policy("AbortJob", "Unknown"), version=2), Request("Unknown"), ABORT),
        # pods that pend need a timeout
        (job(policy("RestartPod", "PodPending")), of("PodPending"), SYNC),
        (job(policy("RestartPod", "*")), of("PodPending"), SYNC),
        (job(policy("RestartPod", "PodPending", timeout="10s")), of("PodPending"), Decision("RestartPod", 10)),
        (job(policy("RestartPod", "PodPending", timeout="0s")), of("PodPending"), Decision("RestartPod")),
        (
            job(policy("RestartPod", "PodPending"), policy("AbortJob", "PodPending", timeout="1m")),
            of("PodPending"),
            Decision("AbortJob", 60),
        ),
        # exit codes
        (job(policy("AbortJob", exit_code=3)), of("PodFailed", exit_code=3), ABORT),
        (job(policy("AbortJob", exit_code=3)), of("PodFailed", exit_code=4), SYNC),
        (job(policy("AbortJob", exit_code=3, timeout="5s")), of("PodFailed", exit_code=3), Decision("AbortJob", 5)),
        (job(policy("AbortJob", "PodEvicted", exit_code=3)), of("PodEvicted"), ABORT),
        # what nobody can read
        (job(policy("AbortJob", "PodFailed", timeout="soon")), of("PodFailed"), SYNC),
        (job(policy("", "PodFailed")), of("PodFailed"), Decision("")),
    ],
)
def test_the_first_policy_that_matches_decides(job_: Job, request_: Request, decision: Decision) -> None:
    assert decide(job_, request_) == decision


def test_whether_anybody_wants_to_hear_of_an_event() -> None:
    assert reacts_to(job(policy("AbortJob", "PodEvicted")), "t", "PodEvicted")
    assert reacts_to(job(policy("AbortJob", "*")), "t", "PodEvicted")
    assert reacts_to(job(of_task=(policy("AbortJob", event="PodEvicted"),)), "t", "PodEvicted")
    assert not reacts_to(job(of_task=(policy("AbortJob", event="PodEvicted"),)), "other", "PodEvicted")
    assert not reacts_to(job(policy("AbortJob", "PodFailed")), "t", "PodEvicted")


def test_whether_anybody_looks_at_exit_codes() -> None:
    assert asks_for_exit_codes(job(policy("AbortJob", exit_code=1)), "other")
    assert not asks_for_exit_codes(job(of_task=(policy("AbortJob", exit_code=1),)), "other")
    assert not asks_for_exit_codes(job(policy("AbortJob", "PodFailed")), "t")


def test_a_policy_whose_timeout_nobody_can_read_is_passed_over_and_told() -> None:
    bad, good = policy("AbortJob", "PodPending", timeout="5min"), policy("RestartJob", "PodPending", timeout="5m")
    both = job(bad, good, of_task=(bad,))
    assert decide(both, of("PodPending")) == Decision("RestartJob", 300.0)
    assert list(unreadable_timeouts(both)) == [
        "spec.policies[0].timeout: '5min' is no duration such as 5m: the policy is passed over",
        "spec.tasks[0].policies[0].timeout: '5min' is no duration such as 5m: the policy is passed over",
    ]
