from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest
from prometheus_client import CollectorRegistry

from runtime import process_metrics
from runtime.exposition import expose
from runtime.metrics import REGISTRY
from runtime.process_metrics import GcPauses


def sample(name: str, registry: CollectorRegistry = REGISTRY, **labels: str) -> float:
    value = registry.get_sample_value(name, labels)
    assert value is not None, name
    return value


def test_the_registry_shows_process_interpreter_and_collector() -> None:
    text = expose(REGISTRY)[0].decode()
    for name in (
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_open_fds",
        "python_info",
        "python_gc_collections_total",
        "python_gc_pause_seconds_count",
        "python_event_loop_lag_seconds_count",
        "python_threads",
    ):
        assert f"\n{name}" in text, name


def test_threads_are_counted_when_asked() -> None:
    before = sample("python_threads")
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        assert sample("python_threads") == before + 1
    finally:
        release.set()
        thread.join()


def test_each_collection_is_counted_with_its_pause() -> None:
    process_metrics.watch_gc()
    try:
        before = sample("python_gc_pause_seconds_count", generation="2")
        gc.collect()
        assert sample("python_gc_pause_seconds_count", generation="2") == before + 1
        assert sample("python_gc_pause_seconds_sum", generation="2") > 0
    finally:
        gc.callbacks.remove(process_metrics.GC_PAUSES)


def test_watching_twice_counts_once() -> None:
    process_metrics.watch_gc()
    process_metrics.watch_gc()
    assert gc.callbacks.count(process_metrics.GC_PAUSES) == 1
    gc.callbacks.remove(process_metrics.GC_PAUSES)


def test_buckets_of_pauses_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = GcPauses()
    registry = CollectorRegistry()
    registry.register(pauses)
    moments = iter([0.0, 0.00005, 10.0, 10.0003, 20.0, 30.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(moments))
    for _ in range(3):
        pauses("start", {"generation": 1})
        pauses("stop", {"generation": 1})
    name = "python_gc_pause_seconds_bucket"
    assert sample(name, registry, generation="1", le="0.0001") == 1
    assert sample(name, registry, generation="1", le="0.0004") == 2
    assert sample(name, registry, generation="1", le="+Inf") == 3
    assert sample("python_gc_pause_seconds_sum", registry, generation="1") == pytest.approx(10.00035)


def test_a_collection_in_the_middle_of_an_exposition_does_not_hang() -> None:
    process_metrics.watch_gc()
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(3):
            assert expose(REGISTRY)[0]
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(process_metrics.GC_PAUSES)


async def test_a_blocked_loop_shows_as_lag() -> None:
    task = asyncio.create_task(process_metrics.watch_loop(period=0.001))
    try:
        await asyncio.sleep(0.002)
        before = sample("python_event_loop_lag_seconds_sum")
        blocked_until = time.perf_counter() + 0.05
        while time.perf_counter() < blocked_until:
            pass
        seen = sample("python_event_loop_lag_seconds_count") + 1
        while sample("python_event_loop_lag_seconds_count") < seen:  # the metric has no event
            await asyncio.sleep(0)
        assert sample("python_event_loop_lag_seconds_sum") >= before + 0.045
    finally:
        task.cancel()


@pytest.mark.virtual_time
async def test_a_loop_on_time_has_no_lag() -> None:
    task = asyncio.create_task(process_metrics.watch_loop())
    count = sample("python_event_loop_lag_seconds_count")
    await asyncio.sleep(10.1)
    task.cancel()
    assert sample("python_event_loop_lag_seconds_count") == count + 40
    assert sample("python_event_loop_lag_last_seconds") == 0
