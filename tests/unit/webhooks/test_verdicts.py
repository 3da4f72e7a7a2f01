from __future__ import annotations

import pytest

from runtime.admission import ALLOWED, Allowed, Denial, Validation
from webhooks.verdicts import verdict


@pytest.mark.parametrize(
    ("problem", "warnings", "expected"),
    [
        ("", (), ALLOWED),
        ("", ("w",), Allowed(("w",))),
        ("p", (), Denial("p")),
        ("p", ("w",), Denial("p", warnings=("w",))),
    ],
)
def test_a_problem_denies_and_warnings_come_along(
    problem: str, warnings: tuple[str, ...], expected: Validation
) -> None:
    assert verdict(problem, warnings) == expected
