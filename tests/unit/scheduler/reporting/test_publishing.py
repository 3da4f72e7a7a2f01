"""Metrics of section 15: by name, buckets and life."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from runtime.metrics import REGISTRY
from scheduler.cycle import Result
from scheduler.reporting import metrics
from scheduler.reporting.gauges import Gauges
from scheduler.reporting.outcome import Outcome
from scheduler.reporting.publishing import Publisher, observe_stage, observe_task
from scheduler.reporting.timings import Span, Timings
from tests.unit.scheduler.build import World, cycle, memory_of, shape

JOB = {"job_name": "g", "queue": "default", "job_namespace": "ns"}


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"volcano_{name}", labels)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    for metric in (
        metrics.JOB_DURATION, metrics.JOB_START, metrics.JOB_LAST, metrics.UNSCHEDULED_TASKS, metrics.JOB_RETRIES,
        metrics.JOB_SHARE, metrics.EVICTIONS, metrics.QUEUE_SHARE, *metrics.QUEUE_CPU.values(),
        *metrics.QUEUE_MEMORY.values(), *metrics.QUEUE_SCALARS.values(), metrics.PLUGIN_FAILURES, metrics.TASK,
        metrics.STAGE, metrics.ACTION, metrics.PLUGIN,
    ):  # fmt: skip
        metric.clear()


def told(gauges: Gauges) -> Result:
    return Result((), Outcome(), gauges=gauges)


@pytest.mark.parametrize(
    ("name", "first", "last", "count"),
    [
        ("e2e_scheduling_latency_milliseconds", 1, 5000, 20),
        ("open_session_duration_milliseconds", 1, 5000, 20),
        ("e2e_job_scheduling_latency_milliseconds", 100, 120000, 30),
        ("plugin_scheduling_latency_milliseconds", 0.1, 100, 15),
        ("action_scheduling_latency_milliseconds", 1, 2000, 20),
        ("task_scheduling_latency_milliseconds", 50, 60000, 30),
        ("scheduling_stage_duration_milliseconds", 0.1, 500, 20),
    ],
)
def test_histograms_have_their_buckets(name: str, first: float, last: float, count: int) -> None:
    found = REGISTRY._names_to_collectors[f"volcano_{name}"]._kwargs["buckets"]  # type: ignore[attr-defined]
    bounds = list(found)
    assert (len(bounds), pytest.approx(first), pytest.approx(last)) == (count, bounds[0], bounds[-1])
    assert bounds[3] == pytest.approx(first * (last / first) ** (3 / (count - 1)))


def test_every_name_of_the_section_is_registered() -> None:
    names = set(REGISTRY._names_to_collectors)
    amounts = {
        f"volcano_queue_{amount}_{unit}"
        for amount in ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
        for unit in ("milli_cpu", "memory_bytes", "scalar_resources")
    }
    plain = {
        "e2e_job_scheduling_duration", "e2e_job_scheduling_start_time", "e2e_job_scheduling_last_time",
        "schedule_attempts_total", "pod_preemption_victims", "total_preemption_attempts", "eviction_transactions_total",
        "unschedule_task_count", "unschedule_job_count", "job_share", "job_retry_counts", "namespace_share",
        "namespace_weight", "namespace_weighted_share", "queue_share", "queue_weight", "queue_overused",
        "scheduler_config_valid",
    }  # fmt: skip
    assert amounts | {f"volcano_{name}" for name in plain} <= names


def test_a_placement_tells_how_long_its_job_waited_and_a_gone_job_ends_its_series() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 2, shape())])
    publisher = Publisher(world.cluster)
    publisher.cycle(cycle(world), 61.0, {})
    created = world.cluster.jobs["ns/g"].created
    assert value("e2e_job_scheduling_start_time", **JOB) == created
    assert value("e2e_job_scheduling_last_time", **JOB) == 61.0
    assert value("e2e_job_scheduling_duration", **JOB) == (61.0 - created) * 1000.0
    assert value("unschedule_task_count", job_id="g") == 0.0
    assert value("task_scheduling_latency_milliseconds_count", stage="Assumed") == 2.0
    job = world.cluster.jobs["ns/g"]
    for uid in list(job.tasks):
        world.cluster.remove_task(uid)
    job.pod_group = None
    world.cluster.remove_job(job.id)
    publisher.cycle(told(Gauges()), 62.0, {})
    for name in ("start_time", "last_time", "duration"):
        assert value(f"e2e_job_scheduling_{name}", **JOB) is None
    assert value("unschedule_task_count", job_id="g") is None


def test_unready_gangs_are_counted_until_they_are_whole_and_retries_by_cycle() -> None:
    world = World()
    world.node("n", cpu=1000.0)
    world.gang("g", [("w", 2, shape(cpu=1000.0))])
    publisher, memory = Publisher(world.cluster), memory_of(world.cluster)
    for number in range(2):
        publisher.cycle(cycle(world, memory, f"s{number}"), 1.0, {})
    assert (value("unschedule_task_count", job_id="g"), value("unschedule_job_count")) == (2.0, 1.0)
    assert value("job_retry_counts", job_id="g") == 2.0
    world.node("m", cpu=1000.0)
    publisher.cycle(cycle(world, memory, "s2"), 1.0, {})
    assert (value("unschedule_task_count", job_id="g"), value("unschedule_job_count")) == (0.0, 0.0)


def test_a_cycle_that_passes_an_unready_gang_over_counts_as_a_retry() -> None:
    world = World()
    world.node("n", cpu=500.0)
    world.gang("g", [("w", 2, shape(cpu=1000.0))])
    publisher, memory = Publisher(world.cluster), memory_of(world.cluster)
    for number in range(3):
        result = cycle(world, memory, f"s{number}")
        publisher.cycle(result, 1.0, {})
    assert result.outcome.asleep == {"ns/g"}
    assert value("job_retry_counts", job_id="g") == 3.0
    assert (value("unschedule_task_count", job_id="g"), value("unschedule_job_count")) == (2.0, 1.0)


def test_series_by_name_alone_stay_while_another_namespace_has_a_job_of_that_name() -> None:
    world = World()
    world.node("n")
    world.gang("g", [("w", 1, shape())])
    publisher = Publisher(world.cluster)
    publisher.cycle(cycle(world), 1.0, {})
    publisher._jobs["other/g"] = ("g", "default", "other")
    world.cluster.jobs["other/g"] = world.cluster.jobs.pop("ns/g")
    publisher.cycle(told(Gauges()), 1.0, {})
    assert value("unschedule_task_count", job_id="g") == 0.0


def test_spans_become_latencies() -> None:
    spans = (
        Span("cycle", "", "", 0.002), Span("session", "open", "", 0.001), Span("action", "allocate", "", 0.5),
        Span("plugin", "gang", "OnSessionOpen", 0.0), Span("stage", "Predicate", "", 0.01),
    )  # fmt: skip
    before = value("e2e_scheduling_latency_milliseconds_sum") or 0.0
    Publisher(World().cluster).cycle(Result((), Outcome(), spans), 0.0, {})
    assert value("e2e_scheduling_latency_milliseconds_sum") == pytest.approx(before + 2.0)
    assert value("action_scheduling_latency_milliseconds_sum", action="allocate") == pytest.approx(500.0)
    assert value("plugin_scheduling_latency_milliseconds_count", plugin="gang", OnSession="OnSessionOpen") == 1.0
    assert value("scheduling_stage_duration_milliseconds_sum", stage="Predicate") == pytest.approx(10.0)


def test_a_cycle_measures_with_the_stopwatch_that_it_is_given() -> None:
    ticks = iter(range(1000))
    timings = Timings(lambda: float(next(ticks)))
    with timings.measure("action", "a"), timings.measure("plugin", "p", "x"):
        pass
    assert timings.spans == [Span("plugin", "p", "x", 1.0), Span("action", "a", "", 3.0)]
    world = World()
    result = cycle(world)
    assert {span.kind for span in result.spans} == {"cycle", "session", "action", "plugin"}
    assert all(span.seconds == 0.0 for span in result.spans)


def test_what_plugins_tell_of_queues_is_published_and_ends_with_the_queue() -> None:
    world = World()
    world.node("n", scalars={"nvidia.com/gpu": 1000.0})
    world.queue("q")
    publisher = Publisher(world.cluster)
    gauges = Gauges()
    gauges.set("queue_share", 0.5, "q")
    gauges.amounts("deserved", "q", {"cpu": 2000.0, "memory": 10.0, "nvidia.com/gpu": 1000.0})
    publisher.cycle(told(gauges), 0.0, {})
    scalar = {"queue_name": "q", "resource": "nvidia.com/gpu"}
    assert value("queue_share", queue_name="q") == 0.5
    assert value("queue_deserved_milli_cpu", queue_name="q") == 2000.0
    assert value("queue_deserved_scalar_resources", **scalar) == 1000.0
    later = Gauges()
    later.amounts("deserved", "q", {"cpu": 1.0})
    publisher.cycle(told(later), 0.0, {})
    assert value("queue_deserved_memory_bytes", queue_name="q") == 0.0
    assert value("queue_deserved_scalar_resources", **scalar) == 0.0
    world.cluster.queue("q").object = None
    publisher.cycle(told(Gauges()), 0.0, {})
    for name, labels in (
        ("queue_share", {"queue_name": "q"}), ("queue_deserved_milli_cpu", {"queue_name": "q"}),
        ("queue_deserved_scalar_resources", scalar),
    ):  # fmt: skip
        assert value(name, **labels) is None


@pytest.mark.parametrize(
    ("name", "labels"),
    [("made_up", ("x",)), ("queue_share", ()), ("queue_share", ("a", "b")), ("pod_preemption_victims", ("x",))],
)
def test_a_series_that_cannot_be_is_told_once_and_dropped(
    name: str, labels: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(World().cluster)
    gauges = Gauges()
    gauges.set(name, 1.0, *labels)
    with caplog.at_level(logging.WARNING):
        publisher.cycle(told(gauges), 0.0, {})
        publisher.cycle(told(gauges), 0.0, {})
    assert caplog.text.count(f"name={name}") == 1


def test_amounts_that_queues_have_no_metric_of_are_the_plugins_error() -> None:
    with pytest.raises(ValueError, match="desired"):
        Gauges().amounts("desired", "q", {})


def test_a_gauge_without_labels_is_set() -> None:
    gauges = Gauges()
    gauges.set("pod_preemption_victims", 7.0)
    Publisher(World().cluster).cycle(told(gauges), 0.0, {})
    assert value("pod_preemption_victims") == 7.0


def test_what_actions_count_is_added_up_over_cycles() -> None:
    publisher = Publisher(World().cluster)
    before = value("total_preemption_attempts") or 0.0
    for _ in range(2):
        gauges = Gauges()
        gauges.count("total_preemption_attempts", 3)
        gauges.count("eviction_transactions_total", 1.0, "preempt")
        gauges.count("eviction_transactions_total", 1.0, "preempt")
        publisher.cycle(told(gauges), 0.0, {})
    assert value("total_preemption_attempts") == before + 6.0
    assert value("eviction_transactions_total", action="preempt") == 4.0


def test_throws_are_counted_on_also_after_a_reload() -> None:
    publisher = Publisher(World().cluster)
    for count in (2, 3, 1):
        publisher.cycle(told(Gauges()), 0.0, {("mine", "predicate"): count})
    assert value("scheduler_plugin_failures_total", plugin="mine", point="predicate") == 4.0


def test_a_clock_that_is_behind_counts_as_no_time() -> None:
    world = World()
    world.gang("g", [("w", 1, shape())])
    task = next(iter(world.cluster.tasks.values()))
    task.created = 100.0
    observe_task(task, "Bound", 99.0)
    observe_stage("Bind", -1.0)
    assert value("task_scheduling_latency_milliseconds_sum", stage="Bound") == 0.0
    assert value("scheduling_stage_duration_milliseconds_sum", stage="Bind") == 0.0
