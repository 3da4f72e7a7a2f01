"""The queue of waiting pods: order, pauses, rest, news (scheduler.md 17)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.agentscheduler.queue import LONGEST_REST, Place, PodQueue, Standing

NOBODY = Standing()


def queue_of(*uids: str, now: float = 0.0) -> PodQueue:
    queue = PodQueue()
    for uid in uids:
        queue.add(uid, NOBODY, now)
    return queue


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([("a", 0, 0), ("b", 0, 0)], ["a", "b"]),
        ([("a", 0, 1), ("b", 0, 2)], ["b", "a"]),
        ([("a", 0, 1000), ("b", 1, 0)], ["b", "a"]),
        ([("a", -1, 5), ("b", 0, -3), ("c", 0, 0)], ["c", "b", "a"]),
    ],
)
def test_the_annotation_comes_before_the_priority_and_that_before_age(
    pods: list[tuple[str, int, int]], expected: list[str]
) -> None:
    queue = PodQueue()
    for second, (uid, annotation, priority) in enumerate(pods):
        queue.add(uid, Standing(annotation, priority), float(second))
    assert queue.take(10, 5.0) == expected
    assert queue.take(10, 5.0) == []


def test_no_more_are_taken_than_wanted() -> None:
    queue = queue_of("a", "b", "c")
    assert (queue.take(2, 0.0), queue.take(2, 0.0)) == (["a", "b"], ["c"])


def test_another_rank_counts_at_once() -> None:
    queue = queue_of("a", "b")
    queue.add("b", Standing(0, 7), 1.0)
    assert queue.take(2, 1.0) == ["b", "a"]


def test_a_pod_that_is_gone_is_not_given_out_wherever_it_stood() -> None:
    queue = queue_of("active", "resting", "pausing", "flying")
    for uid in queue.take(4, 0.0):
        if uid == "active":
            queue.give_back(uid)
        elif uid != "flying":
            queue.fail(uid, 0.0)
    queue.move(0.0)
    for uid in ("active", "resting", "pausing", "flying", "never here"):
        queue.remove(uid)
        queue.fail(uid, 0.0)
        queue.give_back(uid)
        queue.retry(uid, 0.0)
    assert queue.wait(0.0) is None
    assert queue.take(9, 1000.0) == []


def failed(queue: PodQueue, uid: str, now: float) -> None:
    assert queue.take(1, now) == [uid]
    queue.fail(uid, now)


@pytest.mark.parametrize(("failures", "pause"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (60, 10.0)])
def test_after_each_failure_the_pause_doubles_up_to_ten_seconds(failures: int, pause: float) -> None:
    queue, now = queue_of("a"), 0.0
    for _ in range(failures - 1):
        failed(queue, "a", now)
        now += 20.0
        queue.move(now)
    failed(queue, "a", now)
    queue.move(now)
    assert queue.place_of("a") is Place.BACKOFF
    assert queue.wait(now) == pytest.approx(pause)
    assert queue.take(1, now + pause - 0.001) == []
    assert queue.take(1, now + pause) == ["a"]


def test_a_pod_rests_until_news_and_is_ready_at_once_when_its_pause_is_over() -> None:
    queue = queue_of("a")
    failed(queue, "a", 0.0)
    assert queue.place_of("a") is Place.UNSCHEDULABLE
    assert queue.take(1, 100.0) == []
    queue.move(100.0)
    assert queue.wait(100.0) == 0.0
    assert queue.take(1, 100.0) == ["a"]


def test_without_news_a_pod_rests_for_five_minutes() -> None:
    queue = queue_of("a")
    failed(queue, "a", 7.0)
    assert queue.wait(7.0) == LONGEST_REST
    assert queue.take(1, 306.9) == []
    assert queue.take(1, 307.0) == ["a"]


@pytest.mark.parametrize("comes", ["move", "watching", "change"])
def test_news_that_came_while_a_pod_was_in_flight_makes_it_pause_only(comes: str) -> None:
    queue = PodQueue()
    queue.add("a", Standing(watches_pods=True), 0.0)
    assert queue.take(1, 0.0) == ["a"]
    if comes == "move":
        queue.move(0.0)
    elif comes == "watching":
        queue.move_watching(0.0, lambda uid: uid == "a")
    else:
        queue.add("a", Standing(watches_pods=True), 0.0)
    queue.fail("a", 0.0)
    assert queue.place_of("a") is Place.BACKOFF


def test_a_pod_that_came_to_a_node_stirs_only_those_that_watch_and_want_it() -> None:
    queue = PodQueue()
    for uid, watches in (("draws", True), ("other", True), ("blind", False)):
        queue.add(uid, Standing(watches_pods=watches), 0.0)
    for uid in queue.take(3, 0.0):
        queue.fail(uid, 0.0)
    asked: list[str] = []

    def wanted(uid: str) -> bool:
        asked.append(uid)
        return uid == "draws"

    queue.move_watching(50.0, wanted)
    assert queue.take(3, 50.0) == ["draws"]
    assert asked == ["draws", "other"]


@pytest.mark.parametrize(("changed", "taken"), [(True, ["a"]), (False, [])])
def test_a_change_of_the_pod_itself_ends_its_rest(changed: bool, taken: list[str]) -> None:
    queue = queue_of("a")
    failed(queue, "a", 0.0)
    queue.add("a", NOBODY, 50.0, changed=changed)
    assert queue.take(1, 50.0) == taken


def test_what_was_not_tried_stands_where_it_stood() -> None:
    queue = queue_of("a", "b")
    assert queue.take(2, 0.0) == ["a", "b"]
    queue.give_back("b")
    queue.give_back("a")
    assert queue.take(2, 0.0) == ["a", "b"]
    queue.fail("a", 0.0)
    queue.move(0.0)
    assert queue.wait(0.0) == 1.0  # the turn in which it wasn't tried is no attempt


def test_a_placement_that_came_to_nothing_goes_to_the_front_once_and_then_pauses() -> None:
    queue = PodQueue()
    queue.add("a", Standing(0, 0), 0.0)
    queue.add("b", Standing(50, 9), 0.0)
    assert queue.take(2, 0.0) == ["b", "a"]
    queue.retry("a", 0.0)
    queue.give_back("b")
    assert queue.take(1, 0.0) == ["a"]
    queue.retry("a", 0.0)
    assert queue.place_of("a") is Place.BACKOFF
    assert queue.take(1, 2.0) == ["a"]
    queue.fail("a", 2.0)
    queue.move(100.0)
    assert queue.take(2, 100.0) == ["b", "a"]


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "take", "give", "fail", "retry", "move", "wait"]),
        st.integers(0, 5), st.integers(0, 40),
    ),
    max_size=80,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(steps)
def test_no_pod_is_lost_or_given_out_twice(moves: Sequence[tuple[str, int, int]]) -> None:
    queue, now = PodQueue(), 0.0
    known: set[str] = set()
    flying: set[str] = set()
    for step, number, seconds in moves:
        uid, now = f"p{number}", now + seconds
        if step == "add":
            queue.add(uid, Standing(number, seconds), now)
            known.add(uid)
        elif step == "remove":
            queue.remove(uid)
            known.discard(uid)
            flying.discard(uid)
        elif step == "take":
            taken = queue.take(number, now)
            assert not flying & set(taken)
            assert len(set(taken)) == len(taken)
            flying |= set(taken)
        elif step == "move":
            queue.move(now)
        elif step == "wait":
            wait = queue.wait(now)
            assert (wait is None) == (known == flying)
        elif step == "give":
            queue.give_back(uid)
            flying.discard(uid)
        else:
            (queue.fail if step == "fail" else queue.retry)(uid, now)
            flying.discard(uid)
    assert {uid for uid in known if uid in queue} == known
    for uid in flying:
        queue.fail(uid, now)
    assert set(queue.take(100, now + LONGEST_REST)) == known
