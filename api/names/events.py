"""Reasons of core/v1 Events and of job states, and who reports them."""

from __future__ import annotations

from typing import Final


class EventSource:
    """`source.component` of our events; the scheduler reports under its own scheduler name."""

    CONTROLLERS: Final = "vc-controller-manager"
    AGENT: Final = "volcano-agent"


class JobReason:
    """Reasons of events on Jobs."""

    EXECUTE_ACTION: Final = "ExecuteAction"
    COMMAND_ISSUED: Final = "CommandIssued"
    FAILED_CREATE: Final = "FailedCreate"
    FAILED_DELETE: Final = "FailedDelete"
    JOB_STATUS_ERROR: Final = "JobStatusError"
    PLUGIN_ERROR: Final = "PluginError"
    POLICY_ERROR: Final = "PolicyError"
    PVC_ERROR: Final = "PVCError"
    POD_GROUP_ERROR: Final = "PodGroupError"
    POD_GROUP_PENDING: Final = "PodGroupPending"


class JobStateReason:
    """`status.state.reason` of a Job: why it changed its phase."""

    POD_FAILED: Final = "PodFailed"
    POD_EVICTED: Final = "PodEvicted"
    POD_PENDING: Final = "PodPending"
    TASK_COMPLETED: Final = "TaskCompleted"
    TASK_FAILED: Final = "TaskFailed"
    MAX_RETRY_REACHED: Final = "MaxRetryReached"
    MIN_SUCCESS_REACHED: Final = "MinSuccessReached"
    MIN_SUCCESS_NOT_REACHED: Final = "MinSuccessNotReached"
    MIN_AVAILABLE_MET: Final = "MinAvailableMet"
    MIN_AVAILABLE_NOT_MET: Final = "MinAvailableNotMet"
    QUEUE_NOT_FOUND: Final = "QueueNotFound"
    CLAIM_NOT_FOUND: Final = "ClaimNotFound"
    PLUGIN_NOT_AVAILABLE: Final = "PluginNotAvailable"
    DEPENDENCY_NOT_READY: Final = "DependencyNotReady"
    NAME_TAKEN: Final = "PodNameTaken"
    TOO_MANY_PODS: Final = "TooManyPods"
    CREATED: Final = "Created"
    COMMAND: Final = "Command"


class JobStateMessage:
    """`status.state.message` of a Job that has not started, before and after its pod group is let in."""

    WAITS_FOR_ADMISSION: Final = "waits for its pod group to be admitted"
    ADMITTED: Final = "its pod group is admitted, waits for its pods to run"


class CronJobReason:
    """Reasons of events on CronJobs."""

    SAW_COMPLETED_JOB: Final = "SawCompletedJob"
    SUCCESSFUL_CREATE: Final = "SuccessfulCreate"
    SUCCESSFUL_DELETE: Final = "SuccessfulDelete"
    UNPARSEABLE_SCHEDULE: Final = "UnParseableCronJobSchedule"
    INVALID_SCHEDULE: Final = "InvalidSchedule"
    UNSUPPORTED_SCHEDULE: Final = "UnsupportedSchedule"
    INVALID_TIME_ZONE: Final = "InvalidTimeZone"
    TOO_MANY_MISSED_TIMES: Final = "TooManyMissedTimes"
    ORPHANED_JOB: Final = "OrphanedJob"
    STALE_REFERENCE: Final = "StaleReference"
    FORBID_CONCURRENT: Final = "ForbidConcurrent"
    REPLACE_CONCURRENT: Final = "ReplaceConcurrent"
    FAILED_GET: Final = "FailedGet"
    FAILED_CREATE: Final = "FailedCreate"
    FAILED_DELETE: Final = "FailedDelete"
    NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
    FOREIGN_JOB: Final = "ForeignJob"


class QueueReason:
    """Reasons of events on Queues, which are the actions that led to them."""

    OPEN_QUEUE: Final = "OpenQueue"
    CLOSE_QUEUE: Final = "CloseQueue"


class ControllerReason:
    """Reasons of events on the config maps of the controllers."""

    INVALID_CONFIGURATION: Final = "InvalidConfiguration"
    DISCOVERY_FAILED: Final = "DiscoveryFailed"


class JobFlowReason:
    """Reasons of events on JobFlows; a failure is reported under the name of its action."""

    CREATED: Final = "Created"
    JOB_TEMPLATE_NOT_FOUND: Final = "JobTemplateNotFound"


class PodReason:
    """Reasons of events on pods, and of the PodScheduled condition."""

    SCHEDULED: Final = "Scheduled"
    FAILED_SCHEDULING: Final = "FailedScheduling"
    EVICT: Final = "Evict"
    EVICTED: Final = "Evicted"  # by the node agent
    NETWORK_QOS_SKIPPED: Final = "NetworkQoSSkipped"
    COLOCATION_CONFIG_PARSE_FAILED: Final = "ColocationConfigParseFailed"
    ADMIT: Final = "Admit"
    UNSCHEDULABLE: Final = "Unschedulable"  # condition; autoscalers react to it
    SCHEDULABLE: Final = "Schedulable"  # condition
    SCHEDULER_ERROR: Final = "SchedulerError"  # condition
    PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"  # condition of a victim
    SCHEDULING_GATED: Final = "SchedulingGated"  # condition, by the API server


class PodStatusReason:
    """Reasons that Kubernetes gives in the status of a pod and of its containers."""

    COMPLETED: Final = "Completed"  # a container that ended well
    NODE_LOST: Final = "NodeLost"
    POD_INITIALIZING: Final = "PodInitializing"  # a container that waits for those before it


class PodConditionType:
    """Conditions of pods that we read or write."""

    INITIALIZED: Final = "Initialized"
    POD_SCHEDULED: Final = "PodScheduled"
    READY: Final = "Ready"
    DISRUPTION_TARGET: Final = "DisruptionTarget"


class PodGroupReason:
    """Reasons of events on PodGroups."""

    SCHEDULED: Final = "Scheduled"
    UNSCHEDULABLE: Final = "Unschedulable"
    EVICT: Final = "Evict"
    EVICTION_IN_VAIN: Final = "EvictionInVain"  # room was made for the group's pods, and they did not get it


class SchedulerReason:
    """Reasons of events on the scheduler's own pod, or on its configuration."""

    INVALID_CONFIGURATION: Final = "InvalidConfiguration"


class AgentReason:
    """Reasons of events on the node agent's own pod."""

    CONFIG_APPLY_SUCCESS: Final = "ConfigApplySuccess"
    CONFIG_APPLY_FAILED: Final = "ConfigApplyFailed"
