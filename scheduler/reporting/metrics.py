"""
The metrics of the scheduler, by the names and buckets that dashboards know (scheduler.md 15).

The cycle itself measures nothing and writes nothing here: it hands out data, which `scheduler.reporting.publishing` brings here.
"""

from __future__ import annotations

from runtime.metrics import counter, exponential_range, gauge, histogram
from scheduler.reporting.gauges import QUEUE_AMOUNTS

_CYCLE = exponential_range(1, 5000, 20)
_JOB = ("job_name", "queue", "job_namespace")

E2E = histogram("volcano_e2e_scheduling_latency_milliseconds", "A whole scheduling cycle.", buckets=_CYCLE)
OPEN_SESSION = histogram("volcano_open_session_duration_milliseconds", "Opening a session.", buckets=_CYCLE)
PLUGIN = histogram(
    "volcano_plugin_scheduling_latency_milliseconds",
    "A plugin's part in opening and closing a session.",
    ["plugin", "OnSession"],
    buckets=exponential_range(0.1, 100, 15),
)
ACTION = histogram(
    "volcano_action_scheduling_latency_milliseconds",
    "One action of a cycle.",
    ["action"],
    buckets=exponential_range(1, 2000, 20),
)
STAGE = histogram(
    "volcano_scheduling_stage_duration_milliseconds",
    "A stage of scheduling: Predicate, Scoring, PreBind, Bind.",
    ["stage"],
    buckets=exponential_range(0.1, 500, 20),
)
TASK = histogram(
    "volcano_task_scheduling_latency_milliseconds",
    "From the creation of a pod until it was Watched, Assumed, PreBound, Bound.",
    ["stage"],
    buckets=exponential_range(50, 60000, 30),
)
JOB = histogram(
    "volcano_e2e_job_scheduling_latency_milliseconds",
    "From the creation of a PodGroup until the placement of one of its pods.",
    buckets=exponential_range(100, 120000, 30),
)
JOB_DURATION = gauge(
    "volcano_e2e_job_scheduling_duration",
    "Milliseconds from the creation of a PodGroup until the last placement of one of its pods.",
    _JOB,
)
JOB_START = gauge("volcano_e2e_job_scheduling_start_time", "When a PodGroup was created, in unix seconds.", _JOB)
JOB_LAST = gauge("volcano_e2e_job_scheduling_last_time", "When a pod of a job was last placed, in unix seconds.", _JOB)

ATTEMPTS = counter("volcano_schedule_attempts_total", "Never counted; registered for old queries.", ["result"])
VICTIMS = gauge("volcano_pod_preemption_victims", "Victims of the last preemption.")
PREEMPTIONS = counter("volcano_total_preemption_attempts", "Nodes and candidates tried by preemption.")
EVICTIONS = counter(
    "volcano_eviction_transactions_total", "Committed plans that evict at least one pod, by action.", ["action"]
)
UNSCHEDULED_TASKS = gauge("volcano_unschedule_task_count", "Pods that a gang lacks, 0 when it is whole.", ["job_id"])
UNSCHEDULED_JOBS = gauge("volcano_unschedule_job_count", "Gangs that aren't whole.")
JOB_RETRIES = counter("volcano_job_retry_counts", "Cycles that left a gang unready.", ["job_id"])

JOB_SHARE = gauge("volcano_job_share", "Dominant share of a job.", ["job_ns", "job_id"])
NAMESPACE_SHARE = gauge("volcano_namespace_share", "Dominant share of a namespace.", ["namespace_name"])
NAMESPACE_WEIGHT = gauge("volcano_namespace_weight", "Weight of a namespace.", ["namespace_name"])
NAMESPACE_WEIGHTED = gauge("volcano_namespace_weighted_share", "Share over weight.", ["namespace_name"])
QUEUE_CPU = {
    amount: gauge(f"volcano_queue_{amount}_milli_cpu", f"CPU {amount} of a queue in millicores.", ["queue_name"])
    for amount in QUEUE_AMOUNTS
}
QUEUE_MEMORY = {
    amount: gauge(f"volcano_queue_{amount}_memory_bytes", f"Memory {amount} of a queue in bytes.", ["queue_name"])
    for amount in QUEUE_AMOUNTS
}
QUEUE_SCALARS = {
    amount: gauge(
        f"volcano_queue_{amount}_scalar_resources",
        f"Other resources {amount} of a queue, in thousandths.",
        ["queue_name", "resource"],
    )
    for amount in QUEUE_AMOUNTS
}
QUEUE_SHARE = gauge("volcano_queue_share", "Dominant share of a queue.", ["queue_name"])
QUEUE_WEIGHT = gauge("volcano_queue_weight", "Weight of a queue.", ["queue_name"])
QUEUE_OVERUSED = gauge("volcano_queue_overused", "Whether a queue holds more than its share.", ["queue_name"])

CONFIG_VALID = gauge(
    "volcano_scheduler_config_valid", "Whether the configuration file, as it stands, is the one in use."
)
PLUGIN_FAILURES = counter(
    "volcano_scheduler_plugin_failures_total", "Throws of functions of plugins and of actions.", ["plugin", "point"]
)

WRITES_WAITING = gauge(
    "volcano_scheduler_writes_waiting",
    "Binds, evictions and statuses that wait for their turn or their time, or are on their way.",
)
