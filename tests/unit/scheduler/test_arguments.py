from __future__ import annotations

import logging

import pytest

from scheduler.arguments import Arguments


@pytest.mark.parametrize(
    ("getter", "value", "default", "expected"),
    [
        ("int", 5, 1, 5),
        ("int", "5", 1, 1),
        ("int", 5.0, 1, 1),
        ("int", True, 7, 7),
        ("float", 5, 1.0, 5),
        ("float", 2.5, 1.0, 2.5),
        ("float", "2.5", 1.0, 1.0),
        ("bool", False, True, False),
        ("bool", "T", False, True),
        ("bool", "yes", False, False),
        ("bool", 1, False, False),
        ("text", "x", "", "x"),
        ("text", 3, "d", "d"),
    ],
)
def test_a_getter_takes_its_types_and_else_the_default(
    getter: str, value: object, default: object, expected: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert getattr(Arguments({"k": value}), getter)("k", default) == expected
    assert (expected == default and value != default) == ("Could not parse argument" in caplog.text)


def test_an_absent_key_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    assert Arguments().int("k", 7) == 7
    assert not caplog.records


def test_keys_that_nothing_asked_for_are_known() -> None:
    arguments = Arguments({"binpack.weight": 1, "binpack.wieght": 2})
    arguments.int("binpack.weight", 1)
    assert arguments.unasked() == ["binpack.wieght"]
