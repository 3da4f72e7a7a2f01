"""
What the informers of this process show of themselves.

How far a cache is behind the server can't be read off an event, which carries no time. Three figures together tell
it: how long the watch has been silent (bookmarks come once a minute, so more than two minutes means a dead
connection), which version the cache is at, and, where creations can be told from other additions, how long after
an object's creation its addition was handled (server clock against ours, whole seconds).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
from prometheus_client import Counter, Gauge, Histogram

from runtime.metrics import counter, exponential, gauge, histogram
from runtime.timestamps import TimestampError, parse_nanoseconds

_RESOURCE = ("resource",)

EVENTS = counter("volcano_informer_events_total", "Watch events taken in, by type.", ("resource", "type"))
LISTS = counter("volcano_informer_lists_total", "Complete lists read; a rise means watches that expired.", _RESOURCE)
WATCHES = counter("volcano_informer_watches_total", "Watches begun.", _RESOURCE)
FAILURES = counter(
    "volcano_informer_failures_total", "Lists and watches that ended in an error.", ("resource", "error")
)
UNREADABLE = counter("volcano_informer_unreadable_total", "Objects that could not be read.", _RESOURCE)
HANDLER_FAILURES = counter("volcano_informer_handler_failures_total", "Event handlers that threw.", _RESOURCE)
OBJECTS = gauge("volcano_informer_objects", "Objects in the cache.", _RESOURCE)
LAST_ACTIVITY = gauge(
    "volcano_informer_last_activity_timestamp_seconds", "When the server was last heard, Unix time.", _RESOURCE
)
VERSION = gauge("volcano_informer_resource_version", "The version that the cache is at.", _RESOURCE)
HANDLING = histogram(
    "volcano_informer_handling_seconds",
    "From the arrival of a batch of events to the end of its handlers.",
    _RESOURCE,
    buckets=exponential(0.0001, 4, 9),
)
CREATION_LAG = histogram(
    "volcano_informer_creation_lag_seconds",
    "From an object's creation (server clock, whole seconds) to the end of its handlers; unselective informers only.",
    _RESOURCE,
    buckets=(1, 2, 3, 5, 10, 30, 60, 300),
)


class InformerMetrics(msgspec.Struct, frozen=True):
    """The series of one informer, looked up once. Informers of one kind share them."""

    resource: str
    lists: Counter
    watches: Counter
    unreadable: Counter
    handler_failures: Counter
    objects: Gauge
    last_activity: Gauge
    version: Gauge
    handling: Histogram
    creation_lag: Histogram
    wall_clock: Callable[[], float]
    """Unix time, to compare with the server's."""

    @classmethod
    def of(cls, resource: str, wall_clock: Callable[[], float] = time.time) -> InformerMetrics:
        """The series of a kind, `plural.group`."""
        return cls(
            resource=resource,
            lists=LISTS.labels(resource),
            watches=WATCHES.labels(resource),
            unreadable=UNREADABLE.labels(resource),
            handler_failures=HANDLER_FAILURES.labels(resource),
            objects=OBJECTS.labels(resource),
            last_activity=LAST_ACTIVITY.labels(resource),
            version=VERSION.labels(resource),
            handling=HANDLING.labels(resource),
            creation_lag=CREATION_LAG.labels(resource),
            wall_clock=wall_clock,
        )

    def heard(self, version: str) -> None:
        """Note that the server spoke, and up to which version."""
        self.last_activity.set(self.wall_clock())
        if version.isdecimal():
            self.version.set(int(version))

    def failed(self, error: Exception) -> None:
        """Count a list or watch that ended in an error."""
        FAILURES.labels(self.resource, type(error).__name__).inc()

    def created(self, obj: Any) -> None:
        """Note the age of an object whose addition has just been handled."""
        text: str = getattr(obj.metadata, "creation_timestamp", None) or ""
        try:
            created = parse_nanoseconds(text) / 1e9
        except TimestampError:
            return  # objects of tests and odd servers; a metric is no reason to complain
        self.creation_lag.observe(max(0.0, self.wall_clock() - created))
