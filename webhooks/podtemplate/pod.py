"""A template as a whole: its metadata, and every part of its spec in the order in which the server looks at them."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import PodSpec, PodTemplateSpec
from webhooks import wellformed
from webhooks.causes import Causes, one_of, within
from webhooks.podtemplate import affinity, containers, env, network, placing, resources, security, volumes, windows
from webhooks.podtemplate.abilities import Abilities
from webhooks.podtemplate.metadata import check_annotations, check_labels, check_pod_annotations

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_MAX_SECONDS: Final = 2**31 - 1


def check(template: PodTemplateSpec, able: Abilities, field: str = "template") -> Causes:
    """The causes for which the server would refuse it, paths beginning with `field`; none when it is fine."""
    causes = Causes()
    metadata, spec = template.metadata, template.spec
    if metadata.labels:
        check_labels(causes, f"{field}.labels", metadata.labels)
    if metadata.annotations:
        check_annotations(causes, f"{field}.annotations", metadata.annotations)
        check_pod_annotations(causes, f"{field}.annotations", metadata.annotations, spec)
    _check_spec(causes, f"{field}.spec", spec, able)
    if spec.ephemeral_containers:
        causes.forbidden(f"{field}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
    causes.conclude(field)
    return causes


def _check_spec(causes: Causes, field: str, spec: PodSpec, able: Abilities) -> None:
    known = volumes.check(causes, f"{field}.volumes", spec.volumes)
    if spec.resource_claims:
        placing.check_claims(causes, f"{field}.resourceClaims", spec.resource_claims)
    claims = frozenset(claim.name for claim in spec.resource_claims if claim.name)
    around = containers.Surroundings(spec, known, claims, able)
    containers.check(causes, f"{field}.containers", around)
    if spec.init_containers:
        containers.check_init(causes, f"{field}.initContainers", around)
    if able.has_pod_resources and spec.resources is not None:
        resources.check_pod(causes, f"{field}.resources", spec, claims)
    network.check_host_network(causes, field, spec)
    if spec.restart_policy:
        one_of(causes, f"{field}.restartPolicy", spec.restart_policy, _RESTART_POLICIES)
    if spec.dns_policy:
        one_of(causes, f"{field}.dnsPolicy", spec.dns_policy, _DNS_POLICIES)
    if spec.node_selector:
        check_labels(causes, f"{field}.nodeSelector", spec.node_selector)
    if spec.security_context is not None or spec.share_process_namespace:
        security.check_pod(causes, f"{field}.securityContext", spec)
    _check_placing(causes, field, spec)
    windows.check_host_process(causes, field, spec)
    network.check_host_users(causes, field, spec)
    _check_names(causes, field, spec, able)
    if able.has_env_files and (env.has_files(spec.containers) or env.has_files(spec.init_containers)):
        env.check_file_volumes(causes, field, spec)


def _check_placing(causes: Causes, field: str, spec: PodSpec) -> None:
    if spec.affinity is not None:
        affinity.check(causes, f"{field}.affinity", spec.affinity)
    if spec.dns_config is not None or spec.dns_policy == "None":
        network.check_dns(causes, f"{field}.dnsConfig", spec)
    if spec.readiness_gates:
        placing.check_readiness_gates(causes, f"{field}.readinessGates", spec.readiness_gates)
    if spec.scheduling_gates:
        placing.check_scheduling_gates(causes, f"{field}.schedulingGates", spec.scheduling_gates)
    if spec.topology_spread_constraints:
        placing.check_spread(causes, f"{field}.topologySpreadConstraints", spec.topology_spread_constraints)


def _check_names(causes: Causes, field: str, spec: PodSpec, able: Abilities) -> None:
    network.check_override(causes, field, spec, able)
    if account := spec.service_account_name or spec.service_account:
        _check_subdomain(causes, f"{field}.serviceAccountName", account)
    if spec.node_name:
        _check_subdomain(causes, f"{field}.nodeName", spec.node_name)
    if spec.active_deadline_seconds is not None:
        within(causes, f"{field}.activeDeadlineSeconds", spec.active_deadline_seconds, 1, _MAX_SECONDS)
    network.check_names(causes, field, spec)
    if spec.tolerations:
        placing.check_tolerations(causes, f"{field}.tolerations", spec.tolerations)
    if spec.host_aliases:
        network.check_aliases(causes, f"{field}.hostAliases", spec)
    if spec.priority_class_name:
        _check_subdomain(causes, f"{field}.priorityClassName", spec.priority_class_name)
    if spec.runtime_class_name is not None:
        _check_subdomain(causes, f"{field}.runtimeClassName", spec.runtime_class_name)
    if spec.preemption_policy:
        one_of(causes, f"{field}.preemptionPolicy", spec.preemption_policy, _PREEMPTION)
    if spec.overhead:
        resources.check_overhead(causes, f"{field}.overhead", spec.overhead)
    windows.check_os(causes, field, spec)


def _check_subdomain(causes: Causes, field: str, name: str) -> None:
    causes.invalid(field, name, *wellformed.subdomain(name))
