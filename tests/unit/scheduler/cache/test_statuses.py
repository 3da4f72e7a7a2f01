from __future__ import annotations

import pytest

from generated.core.v1 import Pod, PodCondition, PodStatus
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupCondition, PodGroupStatus
from scheduler.cache.statuses import PLACED, GroupStatus, GroupStatuses, Offer, TaskStatuses
from scheduler.reporting.messages import PATIENCE
from scheduler.reporting.outcome import GANG_READY, TaskOutcome
from scheduler.state.task import Task
from tests.unit.scheduler.build import shape


def status(phase: str, message: str = "", session: str = "s1") -> GroupStatus:
    return GroupStatus(phase, condition="Unschedulable", message=message, transition_id=session)


def test_a_status_is_written_once_however_often_it_is_offered() -> None:
    statuses = GroupStatuses()
    assert statuses.offer("u", status("Pending"), 0).is_first
    first = statuses.next("u")
    assert first == status("Pending")
    statuses.written("u", first, 0)
    assert statuses.next("u") is None
    assert statuses.offer("u", status("Pending", session="s2"), 1) == Offer()
    assert statuses.owed == 0


def test_what_waits_is_replaced_by_what_is_newer_but_no_phase_is_skipped() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Pending"), 0)
    for phase, message in (("Pending", "newer"), ("Inqueue", "a"), ("Inqueue", "b"), ("Running", "")):
        assert statuses.offer("u", status(phase, message), 0) == Offer(is_news=True)
        assert statuses.offer("u", status(phase, message), 0) == Offer()
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
    assert statuses.offer("u", status("Inqueue", "4/6 tasks"), PATIENCE - 1) == Offer(wait=1.0)
    assert statuses.offer("u", status("Inqueue", "4/6 tasks"), PATIENCE).is_first


def told(phase: str, message: str) -> GroupStatuses:
    statuses = GroupStatuses()
    statuses.offer("u", status(phase, message), 0)
    first = statuses.next("u")
    assert first is not None
    statuses.written("u", first, 0)
    return statuses


def test_within_a_phase_statuses_keep_a_distance_but_a_phase_waits_for_nothing() -> None:
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", status("Inqueue", "too few pods"), 0.25) == Offer(wait=0.75)
    assert statuses.offer("u", status("Inqueue", "no pods"), 0.25) == Offer()
    assert statuses.offer("u", status("Inqueue", "all pods"), 0.25, at_once=True).is_first
    assert told("Inqueue", "a").offer("u", status("Running", "b"), 0.125).is_first
    assert told("Inqueue", "a").offer("u", status("Inqueue", "b"), 1.0).is_first


def test_that_a_gang_has_got_its_nodes_waits_for_a_phase_that_says_more() -> None:
    placed = GroupStatus("Inqueue", condition="Scheduled", reason=GANG_READY)
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", placed, 10.0) == Offer(wait=PLACED)
    assert statuses.offer("u", placed, 10.75) == Offer(wait=PLACED - 0.75)
    assert statuses.offer("u", GroupStatus("Running", condition="Scheduled", reason=GANG_READY), 10.75).is_first
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", placed, 10.0) == Offer(wait=PLACED)
    assert statuses.offer("u", placed, 10.0 + PLACED).is_first


def test_in_a_rush_the_phase_that_says_more_waits_as_long() -> None:
    running = GroupStatus("Running", condition="Scheduled", reason=GANG_READY)
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", running, 10.0, in_rush=True) == Offer(wait=PLACED)
    assert statuses.offer("u", running, 11.0, in_rush=True) == Offer(wait=PLACED - 1.0)
    assert statuses.offer("u", running, 11.0).is_first, "the rush is over"
    statuses = told("Inqueue", "no pods")
    statuses.offer("u", running, 10.0, in_rush=True)
    assert statuses.offer("u", running, 10.0 + PLACED, in_rush=True).is_first
    assert told("Pending", "a").offer("u", status("Inqueue", "b"), 10.0, in_rush=True).is_first, "no other phase waits"


def test_a_phase_that_waits_is_not_skipped_by_the_next_one() -> None:
    statuses = told("Inqueue", "no pods")
    running, completed = GroupStatus("Running", running=1), GroupStatus("Completed", succeeded=1)
    assert statuses.offer("u", running, 10.0, in_rush=True).wait
    assert statuses.offer("u", completed, 10.5, in_rush=True) == Offer(is_news=True, is_first=True, after="Running")
    assert statuses.next("u") == running
    statuses.written("u", running, 10.5)
    assert statuses.next("u") == completed
    statuses.written("u", completed, 10.5)
    assert statuses.next("u") is None


def test_a_phase_that_waits_is_not_skipped_where_the_one_before_comes_back() -> None:
    before = status("Inqueue", "no pods")
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", GroupStatus("Running", running=1), 10.0, in_rush=True).wait
    assert statuses.offer("u", before, 10.5, in_rush=True).after == "Running"
    assert statuses.next("u") == GroupStatus("Running", running=1)


def test_a_gang_that_lost_its_nodes_again_is_told_so_and_waits_anew() -> None:
    placed = GroupStatus("Inqueue", condition="Scheduled", reason=GANG_READY)
    statuses = told("Inqueue", "no pods")
    assert statuses.offer("u", placed, 10.0).wait
    assert statuses.offer("u", status("Inqueue", "no room"), 10.5).is_first
    found = statuses.next("u")
    assert found is not None
    statuses.written("u", found, 10.5)
    assert statuses.offer("u", placed, 12.0) == Offer(wait=PLACED)


def test_a_clock_that_is_set_back_keeps_no_message_back() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Inqueue", "3/6 tasks"), 1000)
    statuses.written("u", status("Inqueue", "3/6 tasks") if (first := statuses.next("u")) is None else first, 1000)
    assert statuses.offer("u", status("Inqueue", "4/6 tasks"), 10).is_first


def stored(phase: str, *conditions: PodGroupCondition) -> PodGroup:
    return PodGroup(metadata=ObjectMeta(uid="u"), status=PodGroupStatus(phase=phase, conditions=conditions))


def test_what_the_scheduler_before_has_written_is_told_already() -> None:
    def condition(kind: str, reason: str, message: str) -> PodGroupCondition:
        time = "2026-05-01T12:00:00Z"
        return PodGroupCondition(type=kind, status="True", reason=reason, message=message, last_transition_time=time)

    old = condition("Scheduled", "ready", "")
    new = condition("Unschedulable", "NotEnoughResources", "3/6 tasks")
    known = stored("Inqueue", old, new)
    same = GroupStatus("Inqueue", condition="Unschedulable", reason="NotEnoughResources", message="3/6 tasks")
    assert GroupStatus.stored(known) == same
    statuses = GroupStatuses()
    statuses.learn(known)
    assert statuses.offer("u", same, 100.0) == Offer()
    assert statuses.offer("u", GroupStatus("Running"), 100.0).is_first
    statuses.learn(known)  # no more: there is a word of this process
    assert statuses.offer("u", GroupStatus("Running"), 100.0) == Offer()


def test_a_group_that_was_told_nothing_is_told_everything() -> None:
    statuses = GroupStatuses()
    statuses.learn(stored(""))
    assert statuses.offer("u", GroupStatus("Pending"), 0.0).is_first


@pytest.mark.parametrize(
    ("message", "node", "nominated", "is_news"),
    [
        ("full", "", "", False),
        ("full", "", None, False),
        ("full", "n", "n", False),
        ("full", "n", None, True),  # a node that is kept no more
        ("full", "", "n", True),
        ("other", "", "", True),
    ],
)
def test_what_a_pod_was_told_by_the_scheduler_before(
    message: str, node: str, nominated: str | None, is_news: bool
) -> None:  # a column
    condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message="full")
    pod = Pod(status=PodStatus(conditions=(condition,), nominated_node_name=node))
    a_task = Task(uid="u", namespace="ns", name="p", job="", shape=shape(), pod=pod)
    found = TaskOutcome(a_task, "Unschedulable", message, nominated)
    assert TaskStatuses().offer(found, 100.0).is_news is is_news


def test_a_forgotten_group_starts_anew() -> None:
    statuses = GroupStatuses()
    statuses.offer("u", status("Running"), 0)
    statuses.forget("u")
    assert statuses.next("u") is None
    assert statuses.offer("u", status("Running"), 0).is_first


def test_a_pod_hears_a_reason_once_and_again_when_it_changes() -> None:
    task = Task(uid="u", namespace="ns", name="p", job="", shape=shape())
    statuses = TaskStatuses()
    assert statuses.offer(TaskOutcome(task, "Unschedulable", "0/3 nodes", ""), 0).is_news
    assert not statuses.offer(TaskOutcome(task, "Unschedulable", "0/3 nodes", ""), 1).is_news
    assert not statuses.offer(TaskOutcome(task, "Unschedulable", "0/4 nodes", ""), 2).is_news
    assert statuses.offer(TaskOutcome(task, "Unschedulable", "0/4 nodes", ""), PATIENCE).is_news
    assert statuses.offer(TaskOutcome(task, "Schedulable", "0/4 nodes", ""), PATIENCE).is_news
    statuses.forget("u")
    assert statuses.offer(TaskOutcome(task, "Schedulable", "0/4 nodes", ""), PATIENCE).is_news


def test_the_last_word_is_known_until_it_is_forgotten() -> None:
    task = Task(uid="u", namespace="ns", name="p", job="", shape=shape())
    statuses, found = TaskStatuses(), TaskOutcome(task, "Unschedulable", "0/3 nodes", "")
    assert not statuses.holds(found)
    statuses.offer(found, 0)
    assert statuses.holds(found)
    statuses.offer(TaskOutcome(task, "Schedulable", "0/3 nodes", ""), 0)
    assert not statuses.holds(found)
    statuses.forget("u")
    assert not statuses.holds(TaskOutcome(task, "Schedulable", "0/3 nodes", ""))
