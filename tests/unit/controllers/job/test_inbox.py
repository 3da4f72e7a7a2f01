"""What waits to be looked at, and in which order."""

from __future__ import annotations

from controllers.job.inbox import Inbox
from controllers.job.requests import SYNC, Request, Target
from runtime.objects import Key

KEY = Key("ns", "j")
FAILED = Request("PodFailed", target=Target("t", "p"))
COMMAND = Request("CommandIssued", action="AbortJob")


def test_equal_requests_are_one() -> None:
    inbox = Inbox()
    for _ in range(5):
        inbox.add(KEY, SYNC)
        inbox.add(KEY, FAILED)
    assert (len(inbox), inbox.take(KEY), len(inbox)) == (2, [FAILED, SYNC], 0)


def test_commands_come_first_and_plain_looks_last_each_as_they_came() -> None:
    inbox = Inbox()
    other = FAILED._replace(pod_uid="x")
    for request in (SYNC, other, COMMAND, FAILED, Request("PodRunning")):
        inbox.add(KEY, request)
    assert inbox.take(KEY) == [COMMAND, other, FAILED, SYNC, Request("PodRunning")]


def test_jobs_do_not_mix() -> None:
    inbox = Inbox()
    inbox.add(KEY, SYNC)
    assert inbox.take(Key("ns", "k")) == []
    assert inbox.take(KEY) == [SYNC]


def test_failures_are_counted_for_each_request_until_it_succeeds() -> None:
    inbox = Inbox()
    assert [inbox.failed(KEY, SYNC), inbox.failed(KEY, SYNC), inbox.failed(KEY, FAILED)] == [1, 2, 1]
    inbox.succeeded(KEY, SYNC)
    assert [inbox.failed(KEY, SYNC), inbox.failed(KEY, FAILED)] == [1, 2]


def test_a_forgotten_job_leaves_nothing() -> None:
    inbox = Inbox()
    inbox.failed(KEY, SYNC)
    inbox.put_back(KEY, [SYNC, FAILED])
    inbox.forget(KEY)
    assert (len(inbox), inbox.failed(KEY, SYNC)) == (0, 1)
