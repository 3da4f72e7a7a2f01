from __future__ import annotations

import pytest

from tests.unit.webhooks.samples import WEBHOOKS, JobDefaults, JobRules
from webhooks.enabled import by_default, entries, problems, select


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        (" /jobs/validate, ", ["/jobs/validate"]),
        ("/jobs/validate,,/jobs/mutate", ["/jobs/validate", "/jobs/mutate"]),
        ("/jobs/mutate,/jobs/mutate", ["/jobs/mutate"]),
    ],
)
def test_entries_are_trimmed_and_stand_once(text: str, expected: list[str]) -> None:
    assert entries(text) == expected
    assert problems(text, WEBHOOKS) == []


def test_entries_that_name_no_path_are_told() -> None:
    assert problems("/jobs/mutate,/nope,jobs/validate", WEBHOOKS) == [
        "enabled admission /nope not found on the admission registered map",
        "enabled admission jobs/validate not found on the admission registered map",
    ]


def test_webhooks_are_chosen_in_the_order_of_the_flag() -> None:
    assert select("/jobs/validate,/jobs/mutate", WEBHOOKS) == [JobRules, JobDefaults]
    assert select("", WEBHOOKS) == []


def test_the_default_is_what_the_project_says() -> None:
    assert by_default(WEBHOOKS) == "/jobs/validate"
    assert by_default(()) == ""
