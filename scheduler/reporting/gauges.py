"""
What plugins and actions have to tell in numbers, as data: a cycle writes no metric.

    session.gauges.set("queue_share", 0.5, queue.name)
    session.gauges.amounts("deserved", queue.name, {"cpu": 2000.0, "memory": 2.0**30, "nvidia.com/gpu": 1000.0})
    session.gauges.count("total_preemption_attempts", 3)

Names are those of `scheduler.reporting.metrics` without `volcano_`; labels come in the order in which they stand there. A name
that is not there, or the wrong number of labels, is logged and dropped when the cycle is published.
"""

from __future__ import annotations

from collections.abc import Mapping

QUEUE_AMOUNTS = ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")


class Gauges:
    """The numbers of one session; of two for the same series the later counts."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, tuple[str, ...]], float] = {}
        self.counts: dict[tuple[str, tuple[str, ...]], float] = {}
        self.queues: dict[tuple[str, str], dict[str, float]] = {}

    def set(self, name: str, value: float, *labels: str) -> None:
        """Set a gauge."""
        self.values[name, labels] = value

    def count(self, name: str, step: float = 1.0, *labels: str) -> None:
        """Add to a counter."""
        self.counts[name, labels] = self.counts.get((name, labels), 0.0) + step

    def amounts(self, what: str, queue: str, amounts: Mapping[str, float]) -> None:
        """
        Set the gauges of a queue's resources. `what` is one of `QUEUE_AMOUNTS`, else ValueError is raised.

        `amounts` are in the units of `scheduler.state.dimensions`; a name that was there before and is missing gets 0.
        """
        if what not in QUEUE_AMOUNTS:
            raise ValueError(f"queues have no metric of what is {what!r}, only of {', '.join(QUEUE_AMOUNTS)}")
        self.queues[what, queue] = dict(amounts)
