from __future__ import annotations

from scheduler.cache.statuses import PATIENCE, GroupStatus, GroupStatuses, TaskStatuses
from scheduler.outcome import TaskOutcome
from scheduler.state.task import Task
from tests.unit.scheduler.build import shape


def status(phase: str, message: str = "", session: str = "s1") -> GroupStatus:
    return GroupStatus(phase, condition="Unschedulable", message=message, transition_id=session)


def test_a_status_is_written_once_however_often_it_is_offered() -> None:
    statuses = GroupStatuses()
    assert statuses.offer("u", status("Pending"), 0)
    first = statuses.next("u")
    assert first == status("Pending")
    statuses.written("u", status("Pending") if first is None else first, 0)
    assert statuses.next("u") is None
    assert not statuses.offer("u", status("Pending", session="s2"), 1)
    assert statuses.owed == 0


def test_what_waits_is_replaced_by_what_is_newer_but_no_phase_is_skipped() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Pending"), 0)
    for phase, message in (("Pending", "newer"), ("Inqueue", "a"), ("Inqueue", "b"), ("Running", "")):
        assert not statuses.offer("u", status(phase, message), 0)
    written = []
    while (found := statuses.next("u")) is not None:
        written.append((found.phase, found.message))
        statuses.written("u", found, 0)
    assert written == [("Pending", "newer"), ("Inqueue", "b"), ("Running", "")]


def test_a_message_that_differs_only_in_numbers_waits_half_a_minute() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Inqueue", "3/6 tasks"), 0)
    first = statuses.next("u")
    assert first is not None
    statuses.written("u", first, 0)
    assert not statuses.offer("u", status("Inqueue", "4/6 tasks"), PATIENCE - 1)
    assert statuses.offer("u", status("Inqueue", "4/6 tasks"), PATIENCE)


def test_a_forgotten_group_starts_anew() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Running"), 0)
    statuses.forget("u")
    assert statuses.next("u") is None
    assert statuses.offer("u", status("Running"), 0)


def test_a_pod_hears_a_reason_once_and_again_when_it_changes() -> None:
    task = Task(uid="u", namespace="ns", name="p", job="", shape=shape())
    statuses = TaskStatuses()
    assert statuses.offer(TaskOutcome(task, "Unschedulable", "0/3 nodes", ""), 0)
    assert not statuses.offer(TaskOutcome(task, "Unschedulable", "0/3 nodes", ""), 1)
    assert not statuses.offer(TaskOutcome(task, "Unschedulable", "0/4 nodes", ""), 2)
    assert statuses.offer(TaskOutcome(task, "Unschedulable", "0/4 nodes", ""), PATIENCE)
    assert statuses.offer(TaskOutcome(task, "Schedulable", "0/4 nodes", ""), PATIENCE)
    statuses.forget("u")
    assert statuses.offer(TaskOutcome(task, "Schedulable", "0/4 nodes", ""), PATIENCE)
