"""When a queue may go."""

from __future__ import annotations

import pytest

from tests.unit.webhooks.queues.worlds import queue
from webhooks.queues import deletion


@pytest.mark.parametrize(("name", "kept"), [("default", True), ("root", True), ("q", False), ("", False)])
def test_two_queues_stay(name: str, kept: bool) -> None:
    assert deletion.protection(name) == (f"`{name}` queue can not be deleted" if kept else "")


@pytest.mark.parametrize(
    ("pods", "children", "groups", "checks", "expected"),
    [
        ("", (), 0, (False, False), ""),
        ("2", (), 3, (False, False), ""),
        ("2", ("a",), 3, (True, True), "queue q cannot be deleted because it has allocated Pods: 2"),
        ("", ("a", "b"), 0, (True, True), "queue q can not be deleted because it has 2 child queues: a, b"),
        ("", ("a",), 0, (False, False), "queue q can not be deleted because it has 1 child queues: a"),
        ("", (), 3, (True, True), "queue q can not be deleted because 3 PodGroups are in it"),
        ("", (), 1, (False, True), "queue q can not be deleted because 1 PodGroup is in it"),
    ],
)
def test_the_first_reason_is_told(
    pods: str, children: tuple[str, ...], groups: int, checks: tuple[bool, bool], expected: str
) -> None:
    old = queue("q", pods=pods)
    checks_pods, checks_groups = checks
    found = deletion.problem(old, children, groups, checks_pods=checks_pods, checks_groups=checks_groups)
    assert found == expected


def test_what_stays_behind_is_told() -> None:
    assert deletion.warnings("q", 0) == ()
    assert deletion.warnings("q", 2) == ("queue q: 2 PodGroups are in it and can't be scheduled without it",)
