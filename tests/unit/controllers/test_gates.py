from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.gates import is_enabled, problems, unknown

NAMES = ("job-controller", "gc-controller", "sharding-controller")
ENTRIES = st.lists(st.sampled_from(["*", *NAMES, *(f"-{name}" for name in NAMES), *(f"+{name}" for name in NAMES)]))


@pytest.mark.parametrize(
    ("entries", "name", "enabled"),
    [
        ([], "job-controller", True),
        (["*"], "job-controller", True),
        (["*", "-sharding-controller"], "sharding-controller", False),
        (["-sharding-controller", "*"], "sharding-controller", False),
        (["-sharding-controller", "*"], "job-controller", True),
        (["+gc-controller", "+jobflow-controller"], "job-controller", False),
        (["job-controller"], "job-controller", True),
        (["+job-controller"], "job-controller", True),
        (["-job-controller"], "job-controller", False),
        (["-job-controller"], "gc-controller", False),
        (["*, -job-controller"], "job-controller", False),
        (["*, -job-controller"], "gc-controller", False),
        (["+job-controller", "-job-controller"], "job-controller", True),
    ],
)
def test_the_first_entry_that_names_a_controller_decides(entries: list[str], name: str, enabled: bool) -> None:
    assert is_enabled(name, entries) is enabled


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        (["*", "-sharding-controller"], []),
        (["*", "*"], ["*"]),
        (["+gc-controller", "+job-controller", "-job-controller"], ["-job-controller"]),
        (["+job-controller", "job-controller"], ["job-controller"]),
        (["job-controller", "+job-controller", "-job-controller"], ["+job-controller", "-job-controller"]),
    ],
)
def test_entries_that_contradict_an_earlier_one_are_told(entries: list[str], named: list[str]) -> None:
    assert problems(entries) == [f"controllers option {entry} cannot have both '-' and '+' prefixes" for entry in named]


@given(ENTRIES)
def test_without_problems_the_order_of_entries_does_not_matter(entries: list[str]) -> None:
    if not problems(entries):
        for name in NAMES:
            assert is_enabled(name, entries) == is_enabled(name, list(reversed(entries)))


def test_entries_that_name_nobody_are_told() -> None:
    entries = ["*", "-job-controller", "+jobcontroller", "gc-controller", "*, -gc-controller"]
    assert unknown(entries, NAMES) == ["+jobcontroller", "*, -gc-controller"]
