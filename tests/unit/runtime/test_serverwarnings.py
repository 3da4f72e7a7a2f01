from __future__ import annotations

import logging

import pytest

from runtime import requests
from runtime.serverwarnings import WarningLog, read_warnings
from tests.things import THINGS

REQUEST = requests.list_page(THINGS, "n")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('299 - "v1beta1 is deprecated"', ["v1beta1 is deprecated"]),
        ('299 - "one, two", 299 kube "three"', ["one, two", "three"]),
        (r'299 - "unknown field \"spec.foo\""', ['unknown field "spec.foo"']),
        (r'299 - "a \\ b"', [r"a \ b"]),
        ("", []),
        ("nonsense", []),
    ],
)
def test_warning_headers_are_read_as_the_standard_says(header: str, expected: list[str]) -> None:
    assert read_warnings(header) == expected


def test_each_text_is_logged_once_with_its_request(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    for _ in range(3):
        log.report(['299 - "old"', '299 - "older"'], REQUEST)
    assert [record.getMessage() for record in caplog.records] == [
        f'msg="API server warning" request="GET /apis/example.org/v1/namespaces/n/things" warning="{text}"'
        for text in ("old", "older")
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_a_server_that_never_repeats_itself_cannot_fill_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    log = WarningLog()
    log.report((f'299 - "warning {number}"' for number in range(5000)), REQUEST)
    assert len(caplog.records) == 1000
