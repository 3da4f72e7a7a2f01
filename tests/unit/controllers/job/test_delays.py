"""Which delayed actions wait, until when, and what cancels them."""

from __future__ import annotations

import pytest

from controllers.job.delays import Delayed, Delays
from controllers.job.requests import Request, Target
from runtime.objects import Key

KEY = Key("ns", "j")


def delayed(  # noqa: PLR0917  # a table row
    action: str = "RestartPod",
    event: str = "PodPending",
    pod: str = "p",
    task: str = "t",
    partition: str = "",
    due: float = 10,
) -> Delayed:
    return Delayed(action, Request(event, target=Target(task, pod, partition), pod_uid=f"uid-{pod}"), due, "u")


def armed(*entries: Delayed) -> Delays:
    delays = Delays()
    for entry in entries:
        delays.arm(KEY, entry)
    return delays


def test_an_action_waits_until_its_time_has_come() -> None:
    delays = armed(delayed(due=10), delayed(pod="q", due=5))
    assert delays.next_due(KEY) == 5
    assert delays.expired(KEY, 4) == []
    assert [entry.request.target.pod for entry in delays.expired(KEY, 10)] == ["q", "p"]
    assert delays.next_due(Key("ns", "other")) is None


def test_the_same_action_for_the_same_pod_keeps_its_deadline() -> None:
    assert armed(delayed(due=10), delayed(due=20)).next_due(KEY) == 10


def test_another_action_for_the_same_pod_takes_its_place() -> None:
    delays = armed(delayed(due=10), delayed("RestartJob", due=20))
    assert (len(delays), delays.next_due(KEY)) == (1, 20)


@pytest.mark.parametrize(
    ("armed_by", "event", "uid", "is_cancelled"),
    [
        ("PodPending", "PodRunning", "uid-p", True),
        ("PodPending", "PodRunning", "other", False),
        ("PodFailed", "PodRunning", "other", True),
        ("PodEvicted", "PodRunning", "uid-p", True),
        ("TaskFailed", "PodRunning", "uid-p", False),
        ("PodPending", "PodFailed", "uid-p", True),
        ("PodPending", "PodEvicted", "uid-p", True),
        ("PodPending", "PodFailed", "other", False),
        ("PodFailed", "PodEvicted", "uid-p", False),
        ("PodPending", "PodPending", "uid-p", False),
        ("PodPending", "TaskCompleted", "uid-p", False),
        ("PodFailed", "OutOfSync", "uid-p", False),
        ("Unknown", "PodRunning", "uid-p", False),
    ],
)
def test_what_happens_to_the_pod_may_cancel(
    armed_by: str, event: str, uid: str, is_cancelled: bool
) -> None:  # a column
    delays = armed(delayed(event=armed_by))
    delays.cancel_by_event(KEY, Request(event, target=Target("t", "p"), pod_uid=uid))
    assert len(delays) == (0 if is_cancelled else 1)


def test_what_happens_to_another_pod_or_job_cancels_nothing() -> None:
    delays = armed(delayed())
    delays.cancel_by_event(KEY, Request("PodRunning", target=Target("t", "q"), pod_uid="uid-p"))
    delays.cancel_by_event(Key("ns", "k"), Request("PodRunning", target=Target("t", "p"), pod_uid="uid-p"))
    assert len(delays) == 1


WAITING = (
    delayed("RestartJob", pod="a"),
    delayed("AbortJob", pod="b"),
    delayed("RestartTask", pod="c", task="t"),
    delayed("RestartTask", pod="d", task="w"),
    delayed("RestartPod", pod="e"),
    delayed("RestartPod", pod="f"),
    delayed("RestartPartition", pod="g", task="t", partition="0"),
    delayed("RestartPartition", pod="h", task="w", partition="0"),
    delayed("RestartPartition", pod="i", task="t", partition="1"),
    delayed("", pod="k"),
)


@pytest.mark.parametrize(
    ("action", "target", "gone"),
    [
        ("RestartJob", Target("t", "x"), "abk"),
        ("AbortJob", Target(), "abk"),
        ("whatever", Target(), "abk"),
        ("RestartTask", Target("t", "x"), "c"),
        ("RestartPod", Target("t", "e"), "e"),
        ("RestartPartition", Target("t", "x", "0"), "g"),
        ("SyncJob", Target("t", "e"), ""),
        ("EnqueueJob", Target("t", "e"), ""),
        ("CloseQueue", Target("t", "e"), ""),
    ],
)
def test_an_action_cancels_those_of_its_scope(action: str, target: Target, gone: str) -> None:
    delays = armed(*WAITING)
    delays.cancel_by_action(KEY, action, Request(target=target))
    left = {entry.request.target.pod for entry in delays.expired(KEY, 99)}
    assert left == set("abcdefghik") - set(gone)


def test_an_entry_can_be_dropped_and_a_job_forgotten() -> None:
    delays = armed(delayed(), delayed(pod="q"))
    delays.drop(KEY, delays.expired(KEY, 99)[0])
    assert len(delays) == 1
    delays.forget(KEY)
    assert len(delays) == 0
