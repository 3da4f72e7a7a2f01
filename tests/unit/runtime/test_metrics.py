from __future__ import annotations

import threading
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from runtime import metrics
from runtime.exposition import expose
from runtime.version import Version


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def shown(registry: CollectorRegistry) -> list[str]:
    return expose(registry)[0].decode().splitlines()


def test_a_counter_keeps_a_name_without_total(registry: CollectorRegistry) -> None:
    found = metrics.counter("volcano_job_completed_phase_count", "Jobs.", ["job_name", "queue_name"], registry)
    found.labels(job_name="ns/a", queue_name="q").inc()
    found.labels("ns/b", "q").inc(2)
    assert shown(registry) == [
        "# HELP volcano_job_completed_phase_count Jobs.",
        "# TYPE volcano_job_completed_phase_count counter",
        'volcano_job_completed_phase_count{job_name="ns/a",queue_name="q"} 1',
        'volcano_job_completed_phase_count{job_name="ns/b",queue_name="q"} 2',
    ]


def test_a_counter_named_total_keeps_it_once(registry: CollectorRegistry) -> None:
    metrics.counter("volcano_schedule_attempts_total", "Tries.", registry=registry).inc()
    assert shown(registry)[1:] == [
        "# TYPE volcano_schedule_attempts_total counter",
        "volcano_schedule_attempts_total 1",
    ]


def test_no_series_of_creation_times_is_shown(registry: CollectorRegistry) -> None:
    metrics.counter("a_total", "A.", registry=registry).inc()
    metrics.counter("b_counts", "B.", registry=registry).inc()
    metrics.histogram("c", "C.", buckets=(1, 2), registry=registry).observe(1)
    assert not [line for line in shown(registry) if "_created" in line]


def test_two_metrics_of_one_name_are_refused(registry: CollectorRegistry) -> None:
    metrics.counter("volcano_job_retry_counts", "A.", registry=registry)
    with pytest.raises(ValueError, match="volcano_job_retry_counts"):
        metrics.counter("volcano_job_retry_counts", "B.", registry=registry)


@pytest.mark.parametrize(
    ("low", "high", "count", "first", "last"),
    [(1, 5000, 20, 1, 5000), (0.1, 100, 15, 0.1, 100), (50, 60000, 30, 50, 60000)],
)
def test_an_exponential_range_goes_from_end_to_end(
    low: float, high: float, count: int, first: float, last: float
) -> None:
    bounds = metrics.exponential_range(low, high, count)
    assert len(bounds) == count
    assert bounds[0] == first
    assert bounds[-1] == pytest.approx(last)
    ratios = [b / a for a, b in pairwise(bounds)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_exponential_buckets_grow_by_a_factor() -> None:
    assert metrics.exponential(5, 2, 4) == (5, 10, 20, 40)


def test_a_histogram_has_its_buckets_sum_and_count(registry: CollectorRegistry) -> None:
    found = metrics.histogram("latency_milliseconds", "L.", ["action"], buckets=(1, 2.5), registry=registry)
    found.labels("allocate").observe(2)
    assert shown(registry) == [
        "# HELP latency_milliseconds L.",
        "# TYPE latency_milliseconds histogram",
        'latency_milliseconds_bucket{action="allocate",le="1"} 0',
        'latency_milliseconds_bucket{action="allocate",le="2.5"} 1',
        'latency_milliseconds_bucket{action="allocate",le="+Inf"} 1',
        'latency_milliseconds_count{action="allocate"} 1',
        'latency_milliseconds_sum{action="allocate"} 2',
    ]


def test_series_of_a_gone_object_are_dropped_from_all_its_metrics(registry: CollectorRegistry) -> None:
    share = metrics.gauge("share", "S.", ["job_ns", "job_id"], registry)
    done = metrics.counter("done_count", "D.", ["job_ns", "job_id"], registry)
    for name in ("a", "b"):
        share.labels("ns", name).set(1)
        done.labels("ns", name).inc()
    metrics.remove_series([share, done], job_id="a")
    series = [line for line in shown(registry) if not line.startswith("#")]
    assert series == ['share{job_id="b",job_ns="ns"} 1', 'done_count{job_id="b",job_ns="ns"} 1']


def test_dropping_a_series_that_never_was_changes_nothing(registry: CollectorRegistry) -> None:
    share = metrics.gauge("share", "S.", ["job_id"], registry)
    metrics.remove_series([share], job_id="a")
    share.remove("a")
    assert shown(registry) == []


def test_counting_from_many_threads_loses_nothing(registry: CollectorRegistry) -> None:
    found = metrics.counter("hits_count", "H.", ["who"], registry)

    def count() -> None:
        for _ in range(2000):
            found.labels("x").inc()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shown(registry)[-1] == 'hits_count{who="x"} 8000'


def test_the_build_is_published() -> None:
    metrics.publish_build(Version("1.15.0", "abc", ""))
    line = next(line for line in shown(metrics.REGISTRY) if line.startswith("volcano_build_info{"))
    assert 'version="1.15.0"' in line
    assert 'git_sha="abc"' in line
    assert line.endswith(" 1")
