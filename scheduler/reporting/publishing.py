"""
Brings to the metrics what cycles and writers hand out as data, and ends the series of what is gone.

Belongs to the scheduling thread but for the observers of binds, which the writers call; prometheus_client locks each
series by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import Counter, Gauge

from scheduler.contract.decisions import Bind
from scheduler.reporting import metrics
from scheduler.state.dimensions import CPU, MEMORY

if TYPE_CHECKING:
    from scheduler.cycle import Result
    from scheduler.reporting.gauges import Gauges
    from scheduler.reporting.outcome import JobOutcome
    from scheduler.reporting.timings import Span
    from scheduler.state.cluster import Cluster
    from scheduler.state.job import Job
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

MILLISECONDS = 1000.0
WATCHED, ASSUMED, PRE_BOUND, BOUND = "Watched", "Assumed", "PreBound", "Bound"
PRE_BIND, BIND = "PreBind", "Bind"

GAUGES: Mapping[str, Gauge] = {
    "job_share": metrics.JOB_SHARE,
    "namespace_share": metrics.NAMESPACE_SHARE,
    "namespace_weight": metrics.NAMESPACE_WEIGHT,
    "namespace_weighted_share": metrics.NAMESPACE_WEIGHTED,
    "pod_preemption_victims": metrics.VICTIMS,
    "queue_overused": metrics.QUEUE_OVERUSED,
    "queue_share": metrics.QUEUE_SHARE,
    "queue_weight": metrics.QUEUE_WEIGHT,
}
COUNTERS: Mapping[str, Counter] = {
    "eviction_transactions_total": metrics.EVICTIONS,
    "total_preemption_attempts": metrics.PREEMPTIONS,
}


class Publisher:
    """Keeps the series in step with the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._jobs: dict[str, tuple[str, str, str]] = {}
        """By job with series: its name, queue and namespace, as its series carry them."""
        self._unready: set[str] = set()
        self._queues: set[str] = set()
        self._scalars: dict[tuple[str, str], set[str]] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._told_unknown: set[str] = set()

    def cycle(self, result: Result, now: float, failures: Mapping[tuple[str, str], int]) -> None:
        """One cycle is over; `now` is in unix seconds, `failures` counts throws by plugin and point since a load."""
        for span in result.spans:
            _observe(span)
        self._decisions(result, now)
        for told in result.outcome.jobs:
            self._job(told)
        for job_id in result.outcome.asleep & self._unready:
            metrics.JOB_RETRIES.labels(self._jobs[job_id][0]).inc()
        self._gauges(result.gauges)
        self._count_failures(failures)
        self._end_series()
        metrics.UNSCHEDULED_JOBS.set(len(self._unready))

    def _decisions(self, result: Result, now: float) -> None:
        for decision in result.decisions:
            if isinstance(decision, Bind):
                observe_task(decision.task, ASSUMED, now)
                job = self._cluster.jobs.get(decision.task.job)
                if job is not None:
                    self._placed(job, now)

    def _placed(self, job: Job, now: float) -> None:
        labels = self._labels(job)
        waited = max(0.0, now - job.created) * MILLISECONDS
        metrics.JOB.observe(waited)
        metrics.JOB_DURATION.labels(*labels).set(waited)
        metrics.JOB_LAST.labels(*labels).set(now)

    def _labels(self, job: Job) -> tuple[str, str, str]:
        labels = (job.name, job.queue, job.namespace)
        before = self._jobs.get(job.id)
        if before != labels:
            if before is not None:
                _remove_job_times(before)
            self._jobs[job.id] = labels
            metrics.JOB_START.labels(*labels).set(job.created)
        return labels

    def _job(self, told: JobOutcome) -> None:
        job = told.job
        self._labels(job)
        missing = max(0, job.min_available - job.ready_count - job.pending_for_free)
        metrics.UNSCHEDULED_TASKS.labels(job.name).set(missing)
        if missing:
            self._unready.add(job.id)
            metrics.JOB_RETRIES.labels(job.name).inc()
        else:
            self._unready.discard(job.id)

    # What plugins told.

    def _gauges(self, gauges: Gauges) -> None:
        for (name, labels), value in gauges.values.items():
            series = self._series(GAUGES, name, labels)
            if series is not None:
                series.set(value)
                self._remember(name, labels)
        for (name, labels), step in gauges.counts.items():
            series = self._series(COUNTERS, name, labels)
            if series is not None:
                series.inc(step)
        for (what, queue), amounts in gauges.queues.items():
            self._amounts(what, queue, amounts)

    def _series(self, known: Mapping[str, Any], name: str, labels: tuple[str, ...]) -> Any:
        metric = known.get(name)
        try:
            if metric is not None:
                return metric.labels(*labels) if labels else _bare(metric)
            problem = "there is no such metric"
        except ValueError as error:
            problem = str(error)
        if name not in self._told_unknown:
            self._told_unknown.add(name)
            log.warning("a plugin tells of a series that can't be name=%s labels=%s: %s", name, labels, problem)
        return None

    def _remember(self, name: str, labels: tuple[str, ...]) -> None:
        if name.startswith("queue_"):
            self._queues.add(labels[0])

    def _amounts(self, what: str, queue: str, amounts: Mapping[str, float]) -> None:
        self._queues.add(queue)
        names = self._cluster.dimensions.names
        metrics.QUEUE_CPU[what].labels(queue).set(amounts.get(names[CPU], 0.0))
        metrics.QUEUE_MEMORY[what].labels(queue).set(amounts.get(names[MEMORY], 0.0))
        scalars = {name: amount for name, amount in amounts.items() if name not in names[CPU : MEMORY + 1]}
        seen = self._scalars.setdefault((what, queue), set())
        for name in seen - scalars.keys():
            metrics.QUEUE_SCALARS[what].labels(queue, name).set(0.0)
        for name, amount in scalars.items():
            metrics.QUEUE_SCALARS[what].labels(queue, name).set(amount)
        seen.update(scalars)

    def _count_failures(self, failures: Mapping[tuple[str, str], int]) -> None:
        for (plugin, point), count in failures.items():
            before = self._failures.get((plugin, point), 0)
            # After a reload the count begins anew.
            step = count - before if count >= before else count
            if step:
                metrics.PLUGIN_FAILURES.labels(plugin, point).inc(step)
            self._failures[plugin, point] = count

    # The end of series.

    def _end_series(self) -> None:
        for job_id in self._jobs.keys() - self._cluster.jobs.keys():
            self._remove_job(job_id)
        self._unready &= self._cluster.jobs.keys()
        queues = self._cluster.queues
        for queue in [name for name in self._queues if name not in queues or queues[name].object is None]:
            self._remove_queue(queue)

    def _remove_job(self, job_id: str) -> None:
        labels = self._jobs.pop(job_id)
        name, _, namespace = labels
        _remove_job_times(labels)
        _remove(metrics.JOB_SHARE, namespace, name)
        if not any(other[0] == name for other in self._jobs.values()):
            # These know a job by its name alone: another one of that name, elsewhere, keeps them.
            _remove(metrics.UNSCHEDULED_TASKS, name)
            _remove(metrics.JOB_RETRIES, name)

    def _remove_queue(self, queue: str) -> None:
        self._queues.discard(queue)
        for gauges in (metrics.QUEUE_CPU, metrics.QUEUE_MEMORY):
            for gauge in gauges.values():
                _remove(gauge, queue)
        for gauge in (metrics.QUEUE_SHARE, metrics.QUEUE_WEIGHT, metrics.QUEUE_OVERUSED):
            _remove(gauge, queue)
        for what, name in [key for key in self._scalars if key[1] == queue]:
            for resource in self._scalars.pop((what, name)):
                _remove(metrics.QUEUE_SCALARS[what], queue, resource)


def observe_task(task: Task, stage: str, now: float) -> None:
    """How old a pod is at a stage; `now` is in unix seconds."""
    metrics.TASK.labels(stage).observe(max(0.0, now - task.created) * MILLISECONDS)


def observe_stage(stage: str, seconds: float) -> None:
    """How long a stage took."""
    metrics.STAGE.labels(stage).observe(max(0.0, seconds) * MILLISECONDS)


def _observe(span: Span) -> None:
    took = max(0.0, span.seconds) * MILLISECONDS
    match span.kind:
        case "cycle":
            metrics.E2E.observe(took)
        case "session":
            metrics.OPEN_SESSION.observe(took)
        case "action":
            metrics.ACTION.labels(span.name).observe(took)
        case "plugin":
            metrics.PLUGIN.labels(span.name, span.part).observe(took)
        case _:
            metrics.STAGE.labels(span.name).observe(took)


def _bare(metric: Gauge | Counter) -> Gauge | Counter:
    """A metric that has no labels. Raises ValueError for one that has."""
    if metric._labelnames:  # noqa: SLF001  # its only name for them
        raise ValueError("labels are missing")
    return metric


def _remove_job_times(labels: Iterable[str]) -> None:
    for gauge in (metrics.JOB_DURATION, metrics.JOB_START, metrics.JOB_LAST):
        _remove(gauge, *labels)


def _remove(metric: Gauge | Counter, *labels: str) -> None:
    """Remove a series, which need not exist."""
    metric.remove(*labels)
