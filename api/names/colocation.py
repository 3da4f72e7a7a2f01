"""Node labels, annotations and resources of colocation, and the Kubernetes names that the agent minds."""

from __future__ import annotations

from typing import Final

# On nodes.
COLOCATION_LABEL: Final = "volcano.sh/colocation"  # "true": online and offline pods share the node
OVERSUBSCRIPTION_LABEL: Final = "volcano.sh/oversubscription"  # "true": idle requested resources are offered again
COLOCATION_POLICY_LABEL: Final = "colocation-policy"  # a change makes the agent evaluate its configuration again
OVERSUBSCRIPTION_TYPES_ANNOTATION: Final = "volcano.sh/oversubscription-types"  # cpu, memory or both
OVERSUBSCRIPTION_CPU_ANNOTATION: Final = "volcano.sh/oversubscription-cpu"  # millicores, added by the scheduler
OVERSUBSCRIPTION_MEMORY_ANNOTATION: Final = "volcano.sh/oversubscription-memory"  # bytes, added by the scheduler
OFFLINE_JOB_EVICTING_KEY: Final = "volcano.sh/offline-job-evicting"  # taint (and annotation) of a node under pressure
NETWORK_BANDWIDTH_RATE_ANNOTATION: Final = "volcano.sh/network-bandwidth-rate"  # Mbit/s
EVICTING_CPU_HIGH_WATERMARK_ANNOTATION: Final = "volcano.sh/evicting-cpu-high-watermark"  # percent
EVICTING_CPU_LOW_WATERMARK_ANNOTATION: Final = "volcano.sh/evicting-cpu-low-watermark"  # percent
EVICTING_MEMORY_HIGH_WATERMARK_ANNOTATION: Final = "volcano.sh/evicting-memory-high-watermark"  # percent
EVICTING_MEMORY_LOW_WATERMARK_ANNOTATION: Final = "volcano.sh/evicting-memory-low-watermark"  # percent
AGENT_CAPABILITIES_ANNOTATION: Final = "volcano.sh/agent-capabilities"  # what the node can really do, JSON

DEPRECATED_WATERMARKS: Final = {  # old spelling of each watermark, read when the new one is absent
    key: key.replace("volcano.sh/", "volcano.sh/oversubscription-")
    for key in (
        EVICTING_CPU_HIGH_WATERMARK_ANNOTATION,
        EVICTING_CPU_LOW_WATERMARK_ANNOTATION,
        EVICTING_MEMORY_HIGH_WATERMARK_ANNOTATION,
        EVICTING_MEMORY_LOW_WATERMARK_ANNOTATION,
    )
}

# On pods.
QOS_LEVEL_ANNOTATION: Final = "volcano.sh/qos-level"  # LC, HLS, LS or BE
ENABLE_QUOTA_BURST_ANNOTATION: Final = "volcano.sh/enable-quota-burst"  # "true": may exceed its CPU quota for a while
QUOTA_BURST_TIME_ANNOTATION: Final = "volcano.sh/quota-burst-time"  # microseconds
COLOCATION_CONFIG_NAME_ANNOTATION: Final = "volcano.sh/colocation-config-name"  # the configuration that applies
COLOCATION_CONFIG_ANNOTATION: Final = "volcano.sh/colocation-config"  # its content, JSON; `{}` resets

BATCH_CPU_RESOURCE: Final = "kubernetes.io/batch-cpu"  # oversold millicores; the name can be set by flag
BATCH_MEMORY_RESOURCE: Final = "kubernetes.io/batch-memory"  # oversold bytes; the name can be set by flag

# Kubernetes' own.
INGRESS_BANDWIDTH_ANNOTATION: Final = "kubernetes.io/ingress-bandwidth"  # such pods keep their own limit
EGRESS_BANDWIDTH_ANNOTATION: Final = "kubernetes.io/egress-bandwidth"  # such pods keep their own limit
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"  # on a node
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"  # on a namespace
MIRROR_POD_ANNOTATION: Final = "kubernetes.io/config.mirror"  # marks a static pod
LAST_APPLIED_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"  # a copy of the whole manifest
CONTROLLER_REVISION_HASH_LABEL: Final = "controller-revision-hash"  # on pods of a StatefulSet
SYSTEM_NAMESPACE: Final = "kube-system"
CLUSTER_CRITICAL_PRIORITY_CLASS: Final = "system-cluster-critical"
NODE_CRITICAL_PRIORITY_CLASS: Final = "system-node-critical"


class QosLevel:
    """Values of the pod annotation `volcano.sh/qos-level`."""

    LATENCY_CRITICAL: Final = "LC"
    HIGHLY_LATENCY_SENSITIVE: Final = "HLS"
    LATENCY_SENSITIVE: Final = "LS"
    BEST_EFFORT: Final = "BE"
