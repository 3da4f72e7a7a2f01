"""
Metrics of the interpreter: process, garbage collector, and how late the event loop is.

The loop's lag and the collector's pauses are what a slow handler or a growing heap shows up in first.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from runtime.metrics import REGISTRY, exponential, gauge, histogram

LAG_PERIOD = 0.25
"""Seconds between two looks at the loop."""
PAUSE_BOUNDS = exponential(0.0001, 4, 8)
LAG_BOUNDS = exponential(0.001, 4, 8)


class GcPauses(Collector):
    """
    How long each collection stopped the process, by generation.

    Plain counters without locks: a collection can start inside any allocation, also one made under the lock
    of a metric, and a callback that took that lock again would hang the process.
    """

    def __init__(self) -> None:
        self._counts = {generation: [0] * (len(PAUSE_BOUNDS) + 1) for generation in range(3)}
        self._sums = dict.fromkeys(range(3), 0.0)
        self._started = 0.0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """The callback for `gc.callbacks`."""
        if phase == "start":
            self._started = time.perf_counter()
            return
        seconds = time.perf_counter() - self._started
        generation = info["generation"]
        self._counts[generation][bisect_left(PAUSE_BOUNDS, seconds)] += 1
        self._sums[generation] += seconds

    def collect(self) -> Iterable[Metric]:
        family = HistogramMetricFamily(
            "python_gc_pause_seconds", "Time that a garbage collection stopped the process.", labels=["generation"]
        )
        for generation, counts in self._counts.items():
            total = 0
            buckets: list[tuple[str, float]] = []
            for bound, count in zip((*PAUSE_BOUNDS, float("inf")), counts, strict=True):
                total += count
                buckets.append((str(bound) if bound != float("inf") else "+Inf", total))
            family.add_metric([str(generation)], buckets, self._sums[generation])
        return [family]


class _Threads(Collector):
    """The number of live threads, counted when asked."""

    def collect(self) -> Iterable[Metric]:
        found = Metric("python_threads", "Live threads of this process.", "gauge")
        found.add_sample("python_threads", {}, threading.active_count())
        return [found]


GC_PAUSES = GcPauses()
LOOP_LAG: Histogram = histogram(
    "python_event_loop_lag_seconds", "How late the event loop runs what is due.", buckets=LAG_BOUNDS
)
LOOP_LAG_LAST: Gauge = gauge("python_event_loop_lag_last_seconds", "The last lag of the event loop measured.")


def register(registry: CollectorRegistry = REGISTRY) -> None:
    """Add the collectors of this module. Once a registry."""
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(GC_PAUSES)
    registry.register(_Threads())


def watch_gc() -> None:
    """Start to measure collections. Idempotent."""
    if GC_PAUSES not in gc.callbacks:
        gc.callbacks.append(GC_PAUSES)


async def watch_loop(period: float = LAG_PERIOD) -> None:
    """Measure the lag of the running loop until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + period
        await asyncio.sleep(period)
        lag = max(0.0, loop.time() - due)
        LOOP_LAG.observe(lag)
        LOOP_LAG_LAST.set(lag)


register()
