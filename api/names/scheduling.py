"""Grouping, queues, topology: what the scheduler reads and writes."""

from __future__ import annotations

from typing import Final

# Groups.
GROUP_NAME_ANNOTATION: Final = "scheduling.k8s.io/group-name"  # PodGroup of a pod: the key of all grouping
VOLCANO_GROUP_NAME_ANNOTATION: Final = "scheduling.volcano.sh/group-name"  # the same, read for vGPU spreading only
GROUP_MIN_MEMBER_ANNOTATION: Final = "scheduling.volcano.sh/group-min-member"  # on a workload: minMember of its group
GROUP_MIN_RESOURCES_ANNOTATION: Final = "scheduling.volcano.sh/group-min-resources"  # declared, never read
COPIED_FROM_PODS_ANNOTATION: Final = "scheduling.volcano.sh/copied-from-pods"  # on the group of a StatefulSet, JSON
GROUP_QUEUE_NAME_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"  # on a pod or namespace: queue of its groups
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"  # pod annotation and scheduling gate

# Order and admission.
TASK_PRIORITY_ANNOTATION: Final = "volcano.sh/task-priority"  # overrides the pod's priority inside its job
SLA_WAITING_TIME_ANNOTATION: Final = "volcano.sh/sla-waiting-time"  # after this wait the job is admitted
LEGACY_SLA_WAITING_TIME_ANNOTATION: Final = "sla-waiting-time"  # the same without a domain
SCHEDULING_PRIORITY_ANNOTATION: Final = "volcano.sh/scheduling-priority"  # place in the agent scheduler's queue
SCHEDULING_PRIORITY_REASON_ANNOTATION: Final = "volcano.sh/scheduling-priority-reason"  # why it was raised
SCHEDULING_PRIORITY_TIMESTAMP_ANNOTATION: Final = "volcano.sh/scheduling-priority-timestamp"  # when, Unix nanoseconds

# Topology.
NETWORK_TOPOLOGY_MODE_ANNOTATION: Final = "volcano.sh/network-topology-mode"  # on a pod: hard or soft
NETWORK_TOPOLOGY_HIGHEST_TIER_ANNOTATION: Final = "volcano.sh/network-topology-highest-tier"  # on a pod: a number
NETWORK_TOPOLOGY_SOURCE_LABEL: Final = "volcano.sh/network-topology-source"  # on a HyperNode: who discovered it
JOB_ALLOCATED_HYPERNODE_ANNOTATION: Final = "volcano.sh/job-allocated-hypernode"  # on a PodGroup: where it went
TASK_TOPOLOGY_ANNOTATION: Final = "volcano.sh/task-topology"  # on a PodGroup
TASK_TOPOLOGY_AFFINITY_ANNOTATION: Final = "volcano.sh/task-topology-affinity"  # tasks to keep together
TASK_TOPOLOGY_ANTI_AFFINITY_ANNOTATION: Final = "volcano.sh/task-topology-anti-affinity"  # tasks to keep apart
TASK_TOPOLOGY_TASK_ORDER_ANNOTATION: Final = "volcano.sh/task-topology-task-order"  # tasks in order of placement
TOPOLOGY_DECISION_ANNOTATION: Final = "volcano.sh/topology-decision"  # NUMA nodes chosen for a pod, JSON
WARMUP_LABEL: Final = "node.volcano.sh/warmup"  # "true" on nodes that sharding prefers
CLUSTER_TOP_HYPERNODE: Final = "<cluster-top-hypernode>"  # the root that every session adds above all HyperNodes
DISCOVERED_HYPERNODE_PREFIX: Final = "hypernode-"  # begins the names of HyperNodes made from node labels
UFM_LEAF_PREFIX: Final = "leaf-hn-"  # begins the names of leaves that UFM knows
UFM_SPINE: Final = "spine-hn"  # the HyperNode above them

# Queues.
HIERARCHY_ANNOTATION: Final = "volcano.sh/hierarchy"  # path of the queue for hierarchical fairness: root/a/b
HIERARCHY_WEIGHTS_ANNOTATION: Final = "volcano.sh/hierarchy-weights"  # a weight for each part of it: 1/2/3
CLOSED_BY_PARENT_ANNOTATION: Final = "volcano.sh/closed-by-parent"  # "true": opens again with its parent
NODEGROUP_RESOURCE_LIMITS_ANNOTATION: Final = "volcano.sh/nodegroup-resource-limits"  # limits a node group, JSON
NODEGROUP_NAME_LABEL: Final = "volcano.sh/nodegroup-name"  # on a node: its group

# Admission and scores.
RESOURCE_GROUP_ANNOTATION: Final = "volcano.sh/resource-group"  # on a pod: group of the admission configuration
RESOURCE_STRATEGY_SCORING_TYPE_ANNOTATION: Final = "volcano.sh/resource-strategy-scoring-type"  # on a pod
RESOURCE_STRATEGY_WEIGHT_ANNOTATION: Final = "volcano.sh/resource-strategy-weight"  # on a pod

OWN_PREFIX: Final = "volcano.sh/"  # begins the annotations that a group inherits from the owner of its pods


class PriorityRaise:
    """Why the agent scheduler moved a pod to the front."""

    BINDING_CONFLICT: Final = "BindingConflict"
    BIND_TASK_FAILURE: Final = "BindTaskFailure"


class PodGroupConditionReason:
    """Reasons of PodGroup conditions."""

    NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
    NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
    NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
    POD_FAILED: Final = "PodFailed"  # declared, never written
    POD_DELETED: Final = "PodDeleted"  # declared, never written
    TASKS_READY: Final = "tasks in gang are ready to be scheduled"  # a sentence by tradition


POD_GROUP_READY_MESSAGE: Final = "pod group is ready"
POD_GROUP_NOT_READY_MESSAGE: Final = "pod group is not ready"

PVC_BIND_COMPLETED_ANNOTATION: Final = "pv.kubernetes.io/bind-completed"
"""On a PersistentVolumeClaim whose binding to a volume is complete."""

ZONE_LABEL: Final = "topology.kubernetes.io/zone"  # on a node
