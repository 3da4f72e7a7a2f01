"""
The metrics of this process: one registry, and constructors that keep names as they are written.

prometheus_client appends `_total` to every counter, but dashboards know counters such as
`volcano_job_completed_phase_count` by their bare name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from runtime import version

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # series that Go programs don't have

REGISTRY = CollectorRegistry()
"""Everything that `/metrics` shows."""


class ExactFamily(Metric):
    """A counter whose samples carry the family's own name."""


class ExactCounter(Counter):
    """A counter without `_total` at the end of its name."""

    def collect(self) -> Iterable[Metric]:
        for family in super().collect():
            exact = ExactFamily(family.name, family.documentation, "unknown")
            exact.samples = [
                Sample(sample.name.removesuffix("_total"), sample.labels, sample.value) for sample in family.samples
            ]
            yield exact


class Labelled(Protocol):
    """A metric that holds one series for each combination of label values."""

    def remove(self, *labelvalues: str) -> None: ...

    def remove_by_labels(self, labels: dict[str, str]) -> None: ...


def counter(
    name: str, documentation: str, labels: Sequence[str] = (), registry: CollectorRegistry = REGISTRY
) -> Counter:
    """A counter that is exposed under exactly this name."""
    model = Counter if name.endswith("_total") else ExactCounter
    return model(name, documentation, labels, registry=registry)


def gauge(name: str, documentation: str, labels: Sequence[str] = (), registry: CollectorRegistry = REGISTRY) -> Gauge:
    """A value that goes up and down."""
    return Gauge(name, documentation, labels, registry=registry)


def histogram(
    name: str,
    documentation: str,
    labels: Sequence[str] = (),
    *,
    buckets: Sequence[float],
    registry: CollectorRegistry = REGISTRY,
) -> Histogram:
    """A distribution over ascending upper bounds; the last bucket, infinity, is added."""
    return Histogram(name, documentation, labels, buckets=tuple(buckets), registry=registry)


def exponential_range(low: float, high: float, count: int) -> tuple[float, ...]:
    """`count` bucket bounds from `low` to `high`, each the same factor above the last."""
    factor = (high / low) ** (1 / (count - 1))
    return tuple(low * factor**index for index in range(count))


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` bucket bounds: `start`, `start * factor`, `start * factor²` ..."""
    return tuple(start * factor**index for index in range(count))


def remove_series(metrics: Iterable[Labelled], **labels: str) -> None:
    """
    Drop the series of an object that is gone, those whose labels contain the given ones.

    Looks at every series of the metric. Where all labels are known, `metric.remove(*values)` finds it at once.
    """
    for metric in metrics:
        metric.remove_by_labels(labels)


BUILD_INFO = gauge(
    "volcano_build_info",
    "The running build; the value is always 1.",
    ["version", "git_sha", "built_at", "python_version", "platform"],
)


def publish_build(build: version.Version) -> None:
    """Set the build info series."""
    BUILD_INFO.clear()
    BUILD_INFO.labels(
        version=build.version,
        git_sha=build.git_sha,
        built_at=build.built_at,
        python_version=version.python_version(),
        platform=version.architecture(),
    ).set(1)


publish_build(version.current())
