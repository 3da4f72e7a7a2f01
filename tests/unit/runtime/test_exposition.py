from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Enum, Info
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from runtime import metrics
from runtime.exposition import OPENMETRICS, TEXT, expose, format_value

PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.fixture
def registry() -> CollectorRegistry:
    found = CollectorRegistry()
    metrics.counter("volcano_job_failed_phase_count", "Jobs.", ["job_name"], found).labels("ns/a").inc()
    metrics.counter("tries_total", "Tries.", registry=found).inc(3)
    metrics.gauge("volcano_queue_pod_group_inqueue_count", "Groups.", ["queue_name"], found).labels("q").set(2)
    metrics.histogram("latency", "L.", buckets=(0.1, 1, 5000), registry=found).observe(0.5)
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-3.0, "-3"),
        (0.25, "0.25"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (1073741824.0, "1.073741824e+09"),
        (123456.789, "123456.789"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-2.5e-7, "-2.5e-07"),
        (1e-100, "1e-100"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_read_as_go_prints_them(value: float, text: str) -> None:
    assert format_value(value) == text


@given(st.floats(allow_nan=False))
def test_no_number_loses_precision(value: float) -> None:
    assert float(format_value(value)) == value


def sample_names(body: bytes) -> set[str]:
    return {re.split(r"[{ ]", line)[0] for line in body.decode().splitlines() if not line.startswith("#")}


def test_the_text_format_has_exact_names(registry: CollectorRegistry) -> None:
    body, content_type = expose(registry)
    assert content_type == TEXT
    assert sample_names(body) == {
        "volcano_job_failed_phase_count",
        "tries_total",
        "volcano_queue_pod_group_inqueue_count",
        "latency_bucket",
        "latency_sum",
        "latency_count",
    }
    assert b"# TYPE volcano_job_failed_phase_count counter\n" in body


def test_the_text_format_is_read_by_its_parser(registry: CollectorRegistry) -> None:
    families = {family.name: family for family in read_text(expose(registry)[0].decode())}
    assert {name: family.type for name, family in families.items()} == {
        "volcano_job_failed_phase_count": "counter",
        "tries": "counter",
        "volcano_queue_pod_group_inqueue_count": "gauge",
        "latency": "histogram",
    }


def test_openmetrics_is_read_by_its_parser_and_has_the_same_names(registry: CollectorRegistry) -> None:
    body, content_type = expose(registry, PROMETHEUS_3)
    assert content_type == OPENMETRICS
    families = list(read_openmetrics(body.decode()))  # type: ignore[no-untyped-call]  # library without types
    names = {sample.name for family in families for sample in family.samples}
    assert names == sample_names(expose(registry)[0])


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        ("text/html", TEXT),
        ("text/plain;version=0.0.4", TEXT),
        (PROMETHEUS_3, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; version=1.0.0", OPENMETRICS),
        ("application/openmetrics-text;q=0", TEXT),
        ("application/openmetrics-text;q=0.2,text/plain;q=0.9", TEXT),
        ("application/openmetrics-text;q=broken", TEXT),
        ("text/plain,application/openmetrics-text", OPENMETRICS),
    ],
)
def test_the_format_follows_the_accept_header(accept: str, content_type: str) -> None:
    assert expose(CollectorRegistry(), accept)[1] == content_type


def test_label_values_are_escaped_and_read_back() -> None:
    registry = CollectorRegistry()
    value = 'a"b\\c\nd'
    metrics.gauge("odd", "One\nand a \\.", ["name"], registry).labels(value).set(1)
    body, _ = expose(registry)
    (family,) = read_text(body.decode())
    assert family.samples[0].labels == {"name": value}
    assert family.documentation == "One\nand a \\."


def test_info_and_enum_are_gauges_in_the_text_format() -> None:
    registry = CollectorRegistry()
    Info("build", "B.", registry=registry).info({"version": "1"})
    Enum("mode", "M.", states=["a", "b"], registry=registry).state("b")
    text = expose(registry)[0].decode()
    assert '# TYPE build_info gauge\nbuild_info{version="1"} 1\n' in text
    assert '# TYPE mode gauge\nmode{mode="a"} 0\nmode{mode="b"} 1\n' in text


def test_a_metric_without_series_is_not_shown() -> None:
    registry = CollectorRegistry()
    metrics.gauge("nothing_yet", "N.", ["name"], registry)
    assert expose(registry)[0] == b""
