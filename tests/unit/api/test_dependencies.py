"""Tasks that wait for others, by numbers."""

from __future__ import annotations

import pytest

from api.dependencies import Waiting, counts_them, lacking, pods_needed, remedy, told

NEEDED = {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("depends_on", "ready", "is_any", "expected"),
    [
        ((), {}, False, ()),
        ((), {}, True, ()),
        (("a",), {}, False, ("a",)),
        (("a",), {"a": 1}, False, ("a",)),
        (("a",), {"a": 2}, False, ()),
        (("a", "b"), {"a": 2}, False, ("b",)),
        (("a", "b"), {"a": 2}, True, ()),
        (("a", "b"), {"a": 1}, True, ("a", "b")),
        (("gone",), {"a": 9}, False, ("gone",)),
    ],
)
def test_a_task_waits_until_enough_pods_of_its_dependencies_are_ready(
    depends_on: tuple[str, ...], ready: dict[str, int], is_any: bool, expected: tuple[str, ...]
) -> None:
    assert lacking(depends_on, NEEDED, ready, is_any=is_any) == expected


@pytest.mark.parametrize(("replicas", "least", "needed"), [(3, None, 3), (3, 2, 2), (3, 5, 3), (3, 0, 0)])
def test_a_task_is_ready_by_its_minimum_and_never_by_more_than_it_has(
    replicas: int, least: int | None, needed: int
) -> None:
    assert pods_needed(replicas, least) == needed


WORKER = Waiting("worker", 3, ("master",))


@pytest.mark.parametrize(
    ("min_available", "roles", "expected"),
    [(4, {}, True), (1, {}, False), (1, {"master": 1, "worker": 3}, False), (1, {"worker": 1}, True)],
)
def test_the_gang_counts_pods_without_which_it_cannot_be_whole(
    min_available: int, roles: dict[str, int], expected: bool
) -> None:
    counted = counts_them([WORKER], min_available=min_available, pods={"master": 1}, role_minimum=roles)
    assert counted is expected


def test_without_waiting_tasks_nothing_is_counted() -> None:
    assert not counts_them([], min_available=4, pods={}, role_minimum={})


@pytest.mark.parametrize(
    ("waiting", "is_counted", "text"),
    [
        (WORKER, True, "the gang counts 3 pods of task worker that wait for task master"),
        (Waiting("w", 1, ("a", "b")), True, "the gang counts 1 pod of task w that waits for tasks a, b"),
        (WORKER, False, "3 pods of task worker wait for task master"),
    ],
)
def test_it_is_told_with_numbers(waiting: Waiting, is_counted: bool, text: str) -> None:
    assert told(waiting, is_counted=is_counted) == text


def test_the_remedy_names_the_tasks_that_can_begin_and_the_minimum_that_can_be_met() -> None:
    chain = [WORKER, Waiting("last", 1, ("worker",))]
    assert remedy(chain, is_counted=False, pods=1) == "task master to be ready"
    assert remedy(chain, is_counted=True, pods=1) == (
        "minAvailable of the job lowered to at most 1, the pods that wait for no other task, and task master to be ready"
    )
    circle = [Waiting("a", 1, ("b",)), Waiting("b", 1, ("a",))]
    assert remedy(circle, is_counted=True, pods=0).startswith("a task that depends on no other")
    assert remedy(circle, is_counted=False, pods=1) == "tasks that do not depend on each other in a circle"
    assert remedy(circle, is_counted=True, pods=1) == (
        "minAvailable of the job lowered to at most 1, the pods that wait for no other task"
    )
