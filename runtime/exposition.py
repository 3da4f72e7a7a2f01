"""
The registry as text: Prometheus' format, and OpenMetrics where a scraper asks for it.

Own writer for the first, because bucket bounds and the names of exact counters must read as Go programs print
them (`le="1"`, no `_total`). OpenMetrics forbids counters by such names, so there they are of unknown type,
under the same name: a query finds them whichever format the scraper negotiated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics

from runtime.metrics import ExactFamily

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = openmetrics.CONTENT_TYPE_LATEST

_TYPES = {"unknown": "untyped", "info": "gauge", "stateset": "gauge", "gaugehistogram": "histogram"}
_SUFFIXES = {"counter": "_total", "info": "_info"}


def expose(registry: CollectorRegistry, accept: str = "") -> tuple[bytes, str]:
    """All metrics in the format that an Accept header prefers, and its content type."""
    if _prefers_openmetrics(accept):
        body: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]  # library without types
        return body, OPENMETRICS
    return "".join(_lines(registry)).encode(), TEXT


def format_value(value: float) -> str:
    """A number as Go prints it: `1`, `0.25`, `1.5e+09`, `+Inf`."""
    if value.is_integer() and abs(value) < 1e6:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) - 1 + int(exponent)
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{digits[0]}{'.' if fraction else ''}{fraction}e{power:+03d}"


def _lines(registry: CollectorRegistry) -> Iterator[str]:
    for family in registry.collect():
        if not family.samples:
            continue
        name, kind = _header(family)
        yield f"# HELP {name} {_escape(family.documentation)}\n# TYPE {name} {kind}\n"
        for sample in family.samples:
            yield f"{sample.name}{_labels(sample.labels)} {format_value(float(sample.value))}\n"


def _header(family: Metric) -> tuple[str, str]:
    """Name and type of a family as this format has them."""
    if isinstance(family, ExactFamily):
        return family.name, "counter"
    return family.name + _SUFFIXES.get(family.type, ""), _TYPES.get(family.type, family.type)


def _labels(labels: Mapping[str, str]) -> str:
    """Sorted by name, the bucket bound last."""
    if not labels:
        return ""
    pairs = sorted((name == "le", name, value) for name, value in labels.items())
    text = ",".join(
        f'{name}="{format_value(float(value)) if is_bound else _escape_label(value)}"'
        for is_bound, name, value in pairs
    )
    return f"{{{text}}}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escape_label(text: str) -> str:
    return _escape(text).replace('"', r"\"")


def _prefers_openmetrics(accept: str) -> bool:
    """Whether OpenMetrics stands in an Accept header with at least the weight of plain text."""
    weights = {"application/openmetrics-text": 0.0, "text/plain": 0.0}
    for entry in accept.lower().split(","):
        media, *parameters = (part.strip() for part in entry.split(";"))
        if media in weights:
            weights[media] = max(weights[media], _weight(parameters))
    return weights["application/openmetrics-text"] > 0 and (
        weights["application/openmetrics-text"] >= weights["text/plain"]
    )


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
