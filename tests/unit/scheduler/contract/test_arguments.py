from __future__ import annotations

import logging

import pytest

from scheduler.contract.arguments import Arguments, Type, checked


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
        ("float", float("nan"), 1.5, 1.5),
        ("float", float("inf"), 1.5, 1.5),
        ("int", 10**30, 1, 1),
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


DECLARED = {"a.weight": Type.INT, "a.on": Type.BOOL, "a.share": Type.FLOAT, "a.list": Type.TEXT, "a.extra.*": Type.INT}


@pytest.mark.parametrize(
    ("key", "value", "warning"),
    [
        ("a.weight", 3, ""),
        ("a.weight", None, ""),
        ("a.weight", "3", "p.a.weight: Could not parse argument: 3 for key a.weight to int, the default counts"),
        ("a.weight", 3.0, "p.a.weight: Could not parse argument: 3.0 for key a.weight to int, the default counts"),
        ("a.on", "T", ""),
        ("a.on", "yes", "p.a.on: Could not parse argument: yes for key a.on to bool, the default counts"),
        ("a.share", 1, ""),
        ("a.share", True, "p.a.share: Could not parse argument: True for key a.share to float64, the default counts"),
        ("a.list", [1], "p.a.list: Could not parse argument: [1] for key a.list to string, the default counts"),
        ("a.extra.nvidia.com/gpu", 2, ""),
        ("a.wieght", 2, "p.a.wieght: unknown argument has no effect, did you mean a.weight?"),
        ("other", 2, "p.other: unknown argument has no effect"),
    ],
)
def test_arguments_are_checked_against_what_is_declared(key: str, value: object, warning: str) -> None:
    kept, warnings = checked("p", {key: value}, DECLARED)
    assert warnings == ([warning] if warning else [])
    assert kept == ({} if warning else {key: value})
