"""
What the work queues of this process show of themselves, under the names that Kubernetes programs use for theirs.

Depth and ages are read when somebody asks, so a queue pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol
from weakref import WeakSet

import msgspec
from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from runtime.metrics import REGISTRY, counter, exponential, histogram

_NAME = ("name",)
_SECONDS = exponential(1e-5, 10, 10)

ADDS = counter("workqueue_adds_total", "Keys that came into the queue.", _NAME)
RETRIES = counter("workqueue_retries_total", "Keys added again after a failure.", _NAME)
WAIT = histogram("workqueue_queue_duration_seconds", "How long a key waited for a worker.", _NAME, buckets=_SECONDS)
WORK = histogram("workqueue_work_duration_seconds", "How long the work on a key took.", _NAME, buckets=_SECONDS)


class Snapshot(msgspec.Struct, frozen=True):
    """A queue at one moment. Ages are in seconds, 0 when there is nothing."""

    depth: int
    delayed: int
    oldest_wait: float
    unfinished: float
    """How long all running keys together have been running."""
    longest_running: float


class Observed(Protocol):
    """The part of a WorkQueue that the collector reads; from any thread."""

    @property
    def name(self) -> str: ...
    def snapshot(self) -> Snapshot: ...


class QueueCollector(Collector):
    """Asks every queue that is in use. Queues of one name add up."""

    def __init__(self) -> None:
        self._queues: WeakSet[Observed] = WeakSet()

    def watch(self, queue: Observed) -> None:
        """Include a queue for as long as it lives."""
        self._queues.add(queue)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        by_name: dict[str, list[Snapshot]] = {}
        for queue in list(self._queues):
            by_name.setdefault(queue.name, []).append(queue.snapshot())
        for name, text, value in _FAMILIES:
            family = GaugeMetricFamily(name, text, labels=_NAME)
            for queue_name in sorted(by_name):
                family.add_metric((queue_name,), value(by_name[queue_name]))
            yield family


_FAMILIES: tuple[tuple[str, str, Callable[[list[Snapshot]], float]], ...] = (
    ("workqueue_depth", "Keys that wait for a worker.", lambda queues: sum(each.depth for each in queues)),
    ("workqueue_delayed", "Keys that wait for their time.", lambda queues: sum(each.delayed for each in queues)),
    (
        "workqueue_oldest_wait_seconds",
        "How long the first key has been waiting for a worker.",
        lambda queues: max(each.oldest_wait for each in queues),
    ),
    (
        "workqueue_unfinished_work_seconds",
        "How long the running keys have been running, in sum; grows while a worker is stuck.",
        lambda queues: sum(each.unfinished for each in queues),
    ),
    (
        "workqueue_longest_running_processor_seconds",
        "How long the longest of the running keys has been running.",
        lambda queues: max(each.longest_running for each in queues),
    ),
)

COLLECTOR = QueueCollector()
REGISTRY.register(COLLECTOR)


class QueueMetrics(msgspec.Struct, frozen=True):
    """The series of one queue that it writes itself, looked up once."""

    adds: Counter
    retries: Counter
    wait_seconds: Histogram
    work_seconds: Histogram

    @classmethod
    def of(cls, queue: Observed) -> QueueMetrics:
        """The series of a queue, which is observed from now on."""
        COLLECTOR.watch(queue)
        name = queue.name
        return cls(ADDS.labels(name), RETRIES.labels(name), WAIT.labels(name), WORK.labels(name))
