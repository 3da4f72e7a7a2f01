from __future__ import annotations

import logging

import pytest

from runtime.requests import Request
from runtime.retrylog import RetryLog


def test_an_outage_gives_a_line_a_second_which_counts_those_between(caplog: pytest.LogCaptureFixture) -> None:
    known = RetryLog()
    with caplog.at_level(logging.INFO):
        for number in range(150):
            known.tell(Request(method="GET", path=f"/{number}"), 0.5, 503, number / 100)
    assert caplog.messages == [
        'msg="trying again" request="GET /0" after=0.50s because="503"',
        'msg="trying again" request="GET /100" after=0.50s because="503" others=99',
    ]


def test_requests_that_fail_now_and_then_have_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    known = RetryLog()
    with caplog.at_level(logging.INFO):
        for moment in (0.0, 1.0, 5.0):
            known.tell(Request(method="GET", path="/x"), 0.5, 503, moment)
    assert len(caplog.messages) == 3
    assert not any("others" in message for message in caplog.messages)
