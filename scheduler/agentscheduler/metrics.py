"""The metrics that only the fast path has (scheduler.md 17); all others are those of the scheduler."""

from __future__ import annotations

from runtime.metrics import exponential, histogram

_BUCKETS = exponential(5, 2, 15)

WORKER_CYCLE = histogram(
    "volcano_worker_scheduling_cycle_duration_milliseconds", "The decision on one pod.", buckets=_BUCKETS
)
SNAPSHOT = histogram(
    "volcano_update_snapshot_duration_milliseconds", "Bringing the state up to date before decisions.", buckets=_BUCKETS
)
