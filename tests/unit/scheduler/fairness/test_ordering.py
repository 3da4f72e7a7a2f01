from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.fairness.ordering import Order, RankedQueue, Ranking, always, by_key, compare_tasks
from scheduler.state.task import Task
from tests.unit.scheduler.build import shape


def task(name: str, created: float = 0.0) -> Task:
    return Task(uid=f"uid-{name}", namespace="ns", name=name, job="", shape=shape(), created=created)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (task("j-w-2"), task("j-w-10")),
        (task("j-w-1", created=9.0), task("j-w-2", created=1.0)),
        (task("a", created=1.0), task("b", created=2.0)),
        (task("a"), task("b")),
        (task("b", created=1.0), task("j-w-0", created=2.0)),
    ],
)
def test_tasks_come_by_number_then_age_then_uid(first: Task, second: Task) -> None:
    assert compare_tasks(first, second) < 0 < compare_tasks(second, first)


def test_the_first_order_that_distinguishes_decides() -> None:
    ranking: Ranking[tuple[int, int]] = Ranking([by_key(lambda item: item[0])], by_key(lambda item: -item[1]))
    assert ranking.sorted([(1, 1), (0, 1), (1, 2)]) == [(0, 1), (1, 2), (1, 1)]


def test_an_order_without_key_joins_with_those_that_have_one() -> None:
    odd_first: Order[int] = Order(lambda a, b: (a % 2 == 0) - (b % 2 == 0))
    ranking = Ranking([odd_first], by_key(lambda item: item))
    assert not ranking.is_keyed
    assert ranking.sorted([4, 3, 2, 1]) == [1, 3, 2, 4]


@given(st.lists(st.integers(0, 5)))
def test_a_queue_pops_in_order_and_equals_in_the_order_they_came(items: list[int]) -> None:
    ranking: Ranking[Any] = Ranking([], by_key(lambda item: item[0]))
    queue = RankedQueue(ranking)
    for place, item in enumerate(items):
        queue.push((item, place))
    assert [queue.pop() for _ in range(len(queue))] == sorted(zip(items, range(len(items)), strict=True))


def test_an_item_stays_first_only_if_its_rank_can_not_change_and_is_the_best() -> None:
    steady = Ranking([by_key(lambda item: item, always)], by_key(lambda item: 0, always))
    moving = Ranking([by_key(lambda item: item)], by_key(lambda item: 0, always))
    assert RankedQueue(steady, [2, 3]).stays_first(1)
    assert not RankedQueue(steady, [0]).stays_first(1)
    assert not RankedQueue(moving, [2, 3]).stays_first(1)


def test_what_is_alone_stays_first_whatever_its_order_says() -> None:
    fickle = Ranking([], by_key(int))
    queue = RankedQueue(fickle, [1])
    alone = queue.pop()
    assert queue.stays_first(alone)
    queue.push(2)
    assert not queue.stays_first(alone)


def test_an_entangled_order_is_looked_at_anew_at_each_pop() -> None:
    ranks = {"a": 1, "b": 2, "c": 3, "d": 4}

    def compare(left: str, right: str) -> int:
        return ranks[left] - ranks[right]

    queue = RankedQueue(Ranking([Order(compare, is_entangled=True)], by_key(str)), "abcd")
    assert queue.pop() == "a"
    ranks |= {"b": 9, "d": 0}
    assert [queue.pop() for _ in range(3)] == ["d", "c", "b"]


def held(*amounts: float) -> Any:
    return np.array([[amount] for amount in amounts])


def test_keys_ahead_join_what_orders_tell_and_what_stays() -> None:
    growing: Order[Any] = by_key(lambda item: item[1], ahead=lambda _, rows: rows[:, 0].tolist())
    ranking: Ranking[Any] = Ranking([by_key(lambda item: item[0], always), growing], by_key(str, always))
    assert ranking.keys_ahead(("a", 0.0), held(0.0, 2.0)) == [("a", 0.0, "('a', 0.0)"), ("a", 2.0, "('a', 0.0)")]


@pytest.mark.parametrize(
    "order",
    [
        by_key(int),
        by_key(int, lambda _: False),
        by_key(int, ahead=lambda *_: None),
        by_key(int, ahead=lambda *_: [1]),
        Order(lambda a, b: int(a) - int(b)),
        Order(lambda a, b: int(a) - int(b), int, always, is_entangled=True),
    ],
)
def test_keys_ahead_are_unknown_where_one_order_does_not_tell(order: Order[int]) -> None:
    ranking: Ranking[int] = Ranking([order], by_key(int, always))
    assert ranking.keys_ahead(3, held(1.0, 2.0)) is None


def test_a_queue_can_be_looked_at_and_filled_anew() -> None:
    ranking: Ranking[int] = Ranking([], by_key(int, always))
    queue = RankedQueue(ranking, [3, 1, 2])
    assert queue.first() == 1
    assert sorted(queue.items()) == [1, 2, 3]
    entries = queue.entries()
    entries.clear()
    queue.refill(item for item in queue.items() if item != 1)
    assert [queue.pop() for _ in range(len(queue))] == [2, 3]
