"""
The kinds that commands work on, as plain JSON.

A command shows and hands on whatever the server stores, fields that this build doesn't know included, and the
generated models cost more time to import than a whole command has. A test compares these addresses with the generated.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from runtime.resource import Resource

Object: TypeAlias = dict[str, Any]
Kind: TypeAlias = Resource[Object]


def _kind(group: str, version: str, kind: str, plural: str, *, namespaced: bool = True) -> Kind:
    return Resource(group, version, kind, plural, dict, namespaced, singular=kind.lower())


JOBS = _kind("batch.volcano.sh", "v1alpha1", "Job", "jobs")
CRON_JOBS = _kind("batch.volcano.sh", "v1alpha1", "CronJob", "cronjobs")
COMMANDS = _kind("bus.volcano.sh", "v1alpha1", "Command", "commands")
QUEUES = _kind("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False)
POD_GROUPS = _kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
JOB_FLOWS = _kind("flow.volcano.sh", "v1alpha1", "JobFlow", "jobflows")
JOB_TEMPLATES = _kind("flow.volcano.sh", "v1alpha1", "JobTemplate", "jobtemplates")
HYPER_NODES = _kind("topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes", namespaced=False)
NODE_SHARDS = _kind("shard.volcano.sh", "v1alpha1", "NodeShard", "nodeshards", namespaced=False)
NUMATOPOLOGIES = _kind("nodeinfo.volcano.sh", "v1alpha1", "Numatopology", "numatopologies", namespaced=False)
PODS = _kind("", "v1", "Pod", "pods")
NODES = _kind("", "v1", "Node", "nodes", namespaced=False)
EVENTS = _kind("", "v1", "Event", "events")
NAMESPACES = _kind("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS = _kind("", "v1", "ConfigMap", "configmaps")
PRIORITY_CLASSES = _kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
DEPLOYMENTS = _kind("apps", "v1", "Deployment", "deployments")
LEASES = _kind("coordination.k8s.io", "v1", "Lease", "leases")
MUTATING_WEBHOOKS = _kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOKS = _kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)

ALL = (
    JOBS,
    CRON_JOBS,
    COMMANDS,
    QUEUES,
    POD_GROUPS,
    JOB_FLOWS,
    JOB_TEMPLATES,
    HYPER_NODES,
    NODE_SHARDS,
    NUMATOPOLOGIES,
    PODS,
    NODES,
    EVENTS,
    NAMESPACES,
    CONFIG_MAPS,
    PRIORITY_CLASSES,
    DEPLOYMENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
)
