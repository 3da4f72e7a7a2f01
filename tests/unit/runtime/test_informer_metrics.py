from __future__ import annotations

import pytest
from prometheus_client import Gauge, Histogram

from runtime.errors import ConnectionFailed, DecodeError
from runtime.informer_metrics import FAILURES, InformerMetrics
from tests.unit.runtime.models import Meta, Pod


def value(metric: Gauge) -> float:
    return float(metric._value.get())


def total(metric: Histogram) -> tuple[float, float]:
    """(count, sum)"""
    [family] = metric.collect()
    samples = {sample.name.rpartition("_")[2]: sample.value for sample in family.samples if not sample.labels}
    return samples["count"], samples["sum"]


def created(moment: str) -> Pod:
    return Pod(metadata=Meta(name="a", creation_timestamp=moment))


def test_hearing_the_server_sets_time_and_version() -> None:
    metrics = InformerMetrics.of("pods.metrics-test", wall_clock=lambda: 1234.5)
    metrics.heard("77")
    assert (value(metrics.last_activity), value(metrics.version)) == (1234.5, 77)
    metrics.heard("")
    assert value(metrics.version) == 77


@pytest.mark.parametrize(
    ("moment", "age"),
    [("1970-01-01T00:00:10Z", 5.0), ("1970-01-01T00:00:20Z", 0.0)],
    ids=["in the past", "by a server that is ahead"],
)
def test_a_creation_is_measured_against_our_clock(moment: str, age: float) -> None:
    metrics = InformerMetrics.of(f"pods.{age}", wall_clock=lambda: 15.0)
    metrics.created(created(moment))
    assert total(metrics.creation_lag) == (1, age)


@pytest.mark.parametrize("moment", ["", "yesterday"])
def test_an_object_without_a_creation_time_is_not_measured(moment: str) -> None:
    metrics = InformerMetrics.of("pods.untimed")
    metrics.created(created(moment))
    assert total(metrics.creation_lag)[0] == 0


def test_failures_are_counted_by_their_type() -> None:
    metrics = InformerMetrics.of("pods.failing")
    for error in (DecodeError("a"), ConnectionFailed("b"), ConnectionFailed("c")):
        metrics.failed(error)
    assert FAILURES.labels("pods.failing", "DecodeError")._value.get() == 1
    assert FAILURES.labels("pods.failing", "ConnectionFailed")._value.get() == 2
