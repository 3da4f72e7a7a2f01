"""
Who comes first: comparisons of plugins joined, and queues that pop by them.

Plugins may give their order as a key. Where all that are in use do, ranking costs one key instead of a chain of
comparisons; a key is taken when an entry is pushed, so it must not depend on other entries.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue
    from scheduler.state.subjob import SubJob
    from scheduler.state.task import Task

T = TypeVar("T")


class Order(msgspec.Struct, Generic[T], frozen=True):
    """
    A plugin's order: `compare(a, b)` is negative when `a` comes first; `key` says the same as a sortable value.

    `steady(a)` says that placing more tasks of `a` leaves its rank as it is. A job whose rank stays the first then
    gets its tasks placed in one go, instead of one a visit.
    """

    compare: Callable[[T, T], int]
    key: Callable[[T], Any] | None = None
    steady: Callable[[T], bool] | None = None
    ahead: Callable[[T, Floats], Sequence[Any] | None] | None = None
    """
    `ahead(a, held)` gives the keys that `a` would have if it held this, `(n, dims) float64` a row each (pipelined tasks
    included); jobs are whole before and after. None: it can't tell. So the turns of jobs that alternate are known before they are placed.
    """
    is_entangled: bool = False
    """Whether what happens to one entry may change the order of others: then each pop looks at all of them anew."""


def by_key(
    key: Callable[[T], Any],
    steady: Callable[[T], bool] | None = None,
    ahead: Callable[[T, Floats], Sequence[Any] | None] | None = None,
) -> Order[T]:
    """An order that is a key, smaller first."""

    def compare(a: T, b: T) -> int:
        left, right = key(a), key(b)
        return int(left > right) - int(left < right)

    return Order(compare, key, steady, ahead)


class Ranking(Generic[T]):
    """Orders joined: the first that distinguishes decides, then the fallback, which must distinguish all."""

    def __init__(self, orders: Sequence[Order[T]], fallback: Order[T]) -> None:
        self._orders = (*orders, fallback)
        keys = [order.key for order in self._orders]
        self._keys = [key for key in keys if key is not None]
        self.is_keyed = len(self._keys) == len(keys)
        self.is_entangled = any(order.is_entangled for order in self._orders)
        self.key: Callable[[T], Any] = self._joined_key if self.is_keyed else cmp_to_key(self.compare)

    def compare(self, a: T, b: T) -> int:
        """Negative when `a` comes first."""
        for order in self._orders:
            answer = order.compare(a, b)
            if answer:
                return answer
        return 0

    def is_steady(self, item: T) -> bool:
        """Whether placing more of an item leaves its rank as it is."""
        return self.is_keyed and all(order.steady is not None and order.steady(item) for order in self._orders)

    def keys_ahead(self, item: T, held: Floats) -> list[Any] | None:
        """The keys of an item for each row of what it would hold (see `Order`); None where an order can't tell."""
        if not self.is_keyed or self.is_entangled:
            return None
        parts: list[Sequence[Any]] = []
        for order, key in zip(self._orders, self._keys, strict=True):
            if order.ahead is not None:
                told = order.ahead(item, held)
                if told is None or len(told) != len(held):
                    return None
                parts.append(told)
            elif order.steady is not None and order.steady(item):
                parts.append([key(item)] * len(held))
            else:
                return None
        return list(zip(*parts, strict=True))

    def _joined_key(self, item: T) -> tuple[Any, ...]:
        return tuple([key(item) for key in self._keys])

    def sorted(self, items: Iterable[T]) -> list[T]:
        """The items, first one first."""
        return sorted(items, key=self.key)


class RankedQueue(Generic[T]):
    """Pops the first item by a ranking."""

    def __init__(self, ranking: Ranking[T], items: Iterable[T] = ()) -> None:
        self.ranking = ranking
        self._key = ranking.key
        self._heap = [(self._key(item), serial, item) for serial, item in enumerate(items)]
        self._serial = len(self._heap)
        heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, item: T) -> None:
        """Add an item, ranked as it stands now."""
        self._serial += 1
        heapq.heappush(self._heap, (self._key(item), self._serial, item))

    def stays_first(self, item: T) -> bool:
        """Whether an item that was popped would be popped again and again, whatever of it is placed meanwhile."""
        return not self._heap or (self.ranking.is_steady(item) and self._key(item) < self._heap[0][0])

    def first(self) -> T:
        """The item that `pop` would take, as far as no rank changed since it was pushed."""
        return self._heap[0][2]

    def items(self) -> list[T]:
        """All items, in no order."""
        return [item for _, _, item in self._heap]

    def entries(self) -> list[tuple[Any, int, T]]:
        """(key, serial, item) of all items, as a heap of the caller's own."""
        return self._heap.copy()

    def refill(self, items: Iterable[T]) -> None:
        """Hold these instead, ranked as they stand now."""
        self._heap = [(self._key(item), serial, item) for serial, item in enumerate(items)]
        self._serial = len(self._heap)
        heapq.heapify(self._heap)

    def pop(self) -> T:
        """Take the first item. Raises IndexError when empty."""
        if self.ranking.is_entangled:
            heapq.heapify(self._heap)
        return heapq.heappop(self._heap)[2]


def always(_: object) -> bool:
    """Nothing that is placed changes such an order."""
    return True


def job_age(job: Job) -> tuple[float, str]:
    """Older PodGroups first, then by UID."""
    return job.created, job.uid


def queue_age(queue: Queue) -> tuple[float, str]:
    """Older queues first, then by UID."""
    return queue.created, queue.uid


def sub_job_age(sub_job: SubJob) -> tuple[int, str]:
    """Smaller index first, then by UID."""
    return sub_job.match_index, sub_job.uid


def compare_tasks(a: Task, b: Task) -> int:
    """By the number that ends the pods' names where both have one; else older first, then by UID."""
    if a.ordinal >= 0 and b.ordinal >= 0 and a.ordinal != b.ordinal:
        return a.ordinal - b.ordinal
    left, right = (a.created, a.uid), (b.created, b.uid)
    return (left > right) - (left < right)


def numbered_task_key(task: Task) -> tuple[int, float, str]:
    """`compare_tasks` as a key, for tasks that all have a number."""
    return task.ordinal, task.created, task.uid
