"""What else steers where and when a pod runs: tolerations, gates, spreading, claims of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from generated.core.v1 import (
    PodReadinessGate,
    PodResourceClaim,
    PodSchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from webhooks import wellformed
from webhooks.causes import Causes, one_of
from webhooks.podtemplate.metadata import check_label_keys, check_selector

_OPERATORS: Final = ("Equal", "Exists")
_COMPARING: Final = ("Equal", "Exists", "Lt", "Gt")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION: Final = ("Honor", "Ignore")
_WIDE: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def check_tolerations(causes: Causes, field: str, tolerations: Sequence[Toleration]) -> None:
    """The taints that the pod bears."""
    for index, toleration in enumerate(tolerations):
        place = f"{field}[{index}]"
        if toleration.key:
            causes.invalid(f"{place}.key", toleration.key, *wellformed.qualified_name(toleration.key))
        elif toleration.operator != "Exists":
            causes.invalid(f"{place}.operator", toleration.operator, _WIDE)
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            how = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.invalid(f"{place}.effect", toleration.effect, how)
        _check_operator(causes, f"{place}.operator", toleration)
        if toleration.effect:
            one_of(causes, f"{place}.effect", toleration.effect, _EFFECTS)


def _check_operator(causes: Causes, field: str, toleration: Toleration) -> None:
    """Comparing operators are known to newer servers, but off."""
    operator = toleration.operator
    if operator in {"", "Equal"}:
        causes.invalid(field, toleration.value, *wellformed.label_value(toleration.value))
    elif operator == "Exists":
        if toleration.value:
            causes.invalid(field, toleration.value, "value must be empty when `operator` is 'Exists'")
    else:
        causes.unsupported(field, operator, _COMPARING if operator in _COMPARING else _OPERATORS)


def check_scheduling_gates(causes: Causes, field: str, gates: Sequence[PodSchedulingGate]) -> None:
    """What has to be taken away before the pod may be scheduled."""
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        causes.invalid(f"{field}[{index}]", gate.name, *wellformed.qualified_name(gate.name))
        if gate.name in seen:
            causes.duplicate(f"{field}[{index}]", gate.name)
        seen.add(gate.name)


def check_readiness_gates(causes: Causes, field: str, gates: Sequence[PodReadinessGate]) -> None:
    """The conditions without which the pod isn't ready."""
    for index, gate in enumerate(gates):
        faults = wellformed.qualified_name(gate.condition_type)
        causes.invalid(f"{field}[{index}].conditionType", gate.condition_type, *faults)


def check_spread(causes: Causes, field: str, constraints: Sequence[TopologySpreadConstraint]) -> None:
    """How evenly pods are spread."""
    last = {(one.topology_key, one.when_unsatisfiable): index for index, one in enumerate(constraints)}
    for index, constraint in enumerate(constraints):
        place = f"{field}[{index}]"
        key, unsatisfiable = constraint.topology_key, constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            causes.invalid(f"{place}.maxSkew", constraint.max_skew, "must be greater than zero")
        if not key:
            causes.required(f"{place}.topologyKey", "can not be empty")
        one_of(causes, f"{place}.whenUnsatisfiable", unsatisfiable, _UNSATISFIABLE)
        if last[key, unsatisfiable] > index:
            causes.duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {unsatisfiable}}}")
        _check_domains(causes, place, constraint)
        check_label_keys(causes, f"{place}.matchLabelKeys", constraint.match_label_keys, constraint.label_selector)
        check_selector(causes, f"{place}.labelSelector", constraint.label_selector)


def _check_domains(causes: Causes, field: str, constraint: TopologySpreadConstraint) -> None:
    least, unsatisfiable = constraint.min_domains, constraint.when_unsatisfiable
    if least is not None and least <= 0:
        causes.invalid(f"{field}.minDomains", least, "must be greater than zero")
    if least is not None and unsatisfiable != "DoNotSchedule":
        how = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {unsatisfiable}"
        causes.invalid(f"{field}.minDomains", least, how)
    for word, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        if policy is not None and policy not in _INCLUSION:
            causes.unsupported(f"{field}.{word}", policy, _INCLUSION)


def check_claims(causes: Causes, field: str, claims: Sequence[PodResourceClaim]) -> None:
    """The devices that the pod takes, each from one claim."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        place = f"{field}[{index}]"
        if not claim.name:
            causes.required(f"{place}.name")
        elif claim.name in seen:
            causes.duplicate(f"{place}.name", claim.name)
        else:
            causes.invalid(f"{place}.name", claim.name, *wellformed.label(claim.name))
            seen.add(claim.name)
        _check_claim_source(causes, place, claim)


def _check_claim_source(causes: Causes, field: str, claim: PodResourceClaim) -> None:
    name, template = claim.resource_claim_name, claim.resource_claim_template_name
    shown = {"Name": claim.name, "ResourceClaimName": name, "ResourceClaimTemplateName": template}
    if name is not None and template is not None:
        how = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        causes.invalid(field, shown, how)
    if name is None and template is None:
        how = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        causes.invalid(field, shown, how)
    if name is not None:
        causes.invalid(f"{field}.resourceClaimName", name, *wellformed.subdomain(name))
    if template is not None:
        causes.invalid(f"{field}.resourceClaimTemplateName", template, *wellformed.subdomain(template))
