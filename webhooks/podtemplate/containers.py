"""Containers and init containers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from generated.core.v1 import Container, ContainerPort, ContainerRestartRule, PodSpec, Volume
from webhooks import wellformed
from webhooks.causes import Causes, remembered, within
from webhooks.podtemplate import env, mounts, probes, resources, security
from webhooks.podtemplate.abilities import Abilities

_MAX_PORT: Final = 65535
_MAX_RULES: Final = 20
_MAX_CODES: Final = 255
_GRACE: Final = 30
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_TERMINATION_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_ONLY_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"


class Surroundings(NamedTuple):
    """What the check of a container needs to know of its pod."""

    spec: PodSpec
    volumes: Mapping[str, Volume]
    """The valid ones, by name."""
    claims: Collection[str]
    able: Abilities

    @property
    def grace(self) -> int:
        """Seconds that the pod has to end."""
        given = self.spec.termination_grace_period_seconds
        return _GRACE if given is None else given


def check(causes: Causes, field: str, around: Surroundings) -> None:
    """All containers of the pod that run at the same time."""
    containers = around.spec.containers
    if not containers:
        causes.required(field)
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{field}[{index}]"
        _check_common(causes, place, container, around)
        if container.name in seen:
            causes.duplicate(f"{place}.name", container.name)
        elif container.name:
            seen.add(container.name)
        probes.check(causes, place, container, around.grace)
        if container.restart_policy is not None or container.restart_policy_rules:
            _check_restart(causes, place, container, around.able)
    _check_host_ports(causes, field, containers)


def check_init(causes: Causes, field: str, around: Surroundings) -> None:
    """The containers that run before them, or, when they are always restarted, beside them."""
    seen = {container.name for container in around.spec.containers}
    for index, container in enumerate(around.spec.init_containers):
        place = f"{field}[{index}]"
        _check_common(causes, place, container, around)
        if container.restart_policy is not None or container.restart_policy_rules:
            _check_init_restart(causes, place, container, around.able)
        if container.name in seen and container.name:
            causes.duplicate(f"{place}.name", container.name)
        seen.add(container.name)
        _check_host_ports(causes, field, (container,))
        if container.restart_policy == "Always":
            probes.check(causes, place, container, around.grace)
        else:
            _refuse_probes(causes, place, container)


def _refuse_probes(causes: Causes, field: str, container: Container) -> None:
    for word, value in (
        ("lifecycle", container.lifecycle),
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    ):
        if value is not None:
            causes.forbidden(f"{field}.{word}", _ONLY_SIDECARS)


def _check_common(causes: Causes, field: str, container: Container, around: Surroundings) -> None:
    if not container.name:
        causes.required(f"{field}.name")
    elif faults := wellformed.label(container.name):
        causes.invalid(f"{field}.name", container.name, *faults)
    if not container.image:
        causes.required(f"{field}.image")
    policy = container.termination_message_policy
    if policy and policy not in _TERMINATION_POLICIES:
        causes.unsupported(f"{field}.terminationMessagePolicy", policy, _TERMINATION_POLICIES)
    if container.ports and (found := _of_ports(container.ports)):
        causes.below(f"{field}.ports", found)
    env.check(causes, field, container, around.able)
    mounts.check(causes, field, container, around.volumes)
    if container.image_pull_policy and container.image_pull_policy not in _PULL_POLICIES:
        causes.unsupported(f"{field}.imagePullPolicy", container.image_pull_policy, _PULL_POLICIES)
    asked = container.resources
    if asked.limits or asked.requests or asked.claims:
        resources.check_container(causes, field, asked, around.claims)
    if container.resize_policy:
        _check_resize(causes, f"{field}.resizePolicy", container, around.spec.restart_policy)
    if container.security_context is not None:
        security.check_container(causes, f"{field}.securityContext", container.security_context, around.spec)


@remembered
def _of_ports(causes: Causes, field: str, ports: tuple[ContainerPort, ...]) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{field}[{index}]"
        if port.name:
            if faults := wellformed.port_name(port.name):
                causes.invalid(f"{place}.name", port.name, *faults)
            elif port.name in names:
                causes.duplicate(f"{place}.name", port.name)
            names.add(port.name)
        if port.container_port == 0:
            causes.required(f"{place}.containerPort")
        else:
            within(causes, f"{place}.containerPort", port.container_port, 1, _MAX_PORT)
        if port.host_port:
            within(causes, f"{place}.hostPort", port.host_port, 1, _MAX_PORT)
        if port.protocol and port.protocol not in _PROTOCOLS:
            causes.unsupported(f"{place}.protocol", port.protocol, _PROTOCOLS)


def _check_host_ports(causes: Causes, field: str, containers: tuple[Container, ...]) -> None:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports):
            if not port.host_port:
                continue
            key = f"{port.protocol or 'TCP'}/{port.host_ip}/{port.host_port}"
            if key in taken:
                causes.duplicate(f"{field}[{index}].ports[{number}].hostPort", key)
            taken.add(key)


def _check_resize(causes: Causes, field: str, container: Container, restarts: str) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(container.resize_policy):
        if policy.resource_name in seen:
            causes.duplicate(f"{field}[{index}]", policy.resource_name)
        seen.add(policy.resource_name)
        if not policy.resource_name:
            causes.required(field)
        elif policy.resource_name not in _RESIZED:
            causes.unsupported(field, policy.resource_name, _RESIZED)
        if not policy.restart_policy:
            causes.required(field)
        elif policy.restart_policy not in _RESIZE_POLICIES:
            causes.unsupported(field, policy.restart_policy, _RESIZE_POLICIES)
        if restarts == "Never" and policy.restart_policy != "NotRequired":
            how = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            causes.invalid(field, policy.restart_policy, how)


def _check_restart(causes: Causes, field: str, container: Container, able: Abilities) -> None:
    if able.has_restart_rules:
        _check_rules(causes, field, container, able)
    elif container.restart_policy is not None:
        causes.forbidden(f"{field}.restartPolicy", "may not be set for non-init containers")


def _check_init_restart(causes: Causes, field: str, container: Container, able: Abilities) -> None:
    if able.has_restart_rules:
        _check_rules(causes, field, container, able)
    elif container.restart_policy not in {None, "Always"}:
        causes.unsupported(f"{field}.restartPolicy", container.restart_policy, ("Always",))


def _check_rules(causes: Causes, field: str, container: Container, able: Abilities) -> None:
    if container.restart_policy is None:
        causes.required(f"{field}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif container.restart_policy not in _RESTART_POLICIES:
        causes.unsupported(f"{field}.restartPolicy", container.restart_policy, _RESTART_POLICIES)
    actions = ("Restart", "RestartAllContainers") if able.restarts_all_containers else ("Restart",)
    if len(container.restart_policy_rules) > _MAX_RULES:
        causes.too_many(f"{field}.restartPolicyRules", len(container.restart_policy_rules), _MAX_RULES)
    for index, rule in enumerate(container.restart_policy_rules):
        _check_rule(causes, f"{field}.restartPolicyRules[{index}]", rule, actions)


def _check_rule(causes: Causes, field: str, rule: ContainerRestartRule, actions: tuple[str, ...]) -> None:
    if rule.action not in actions:
        causes.unsupported(f"{field}.action", rule.action, actions)
    codes = rule.exit_codes
    if codes is None:
        causes.required(f"{field}.exitCodes", "must be specified")
        return
    if codes.operator not in {"In", "NotIn"}:
        causes.unsupported(f"{field}.exitCodes.operator", codes.operator, ("In", "NotIn"))
    if len(codes.values) > _MAX_CODES:
        causes.too_many(f"{field}.exitCodes.values", len(codes.values), _MAX_CODES)
