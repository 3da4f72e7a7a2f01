"""Which nodes and which neighbours a pod wants."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
)
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.metadata import check_label_keys, check_selector

_NAME_FIELD: Final = "metadata.name"
_SET_OPERATORS: Final = frozenset(("In", "NotIn"))
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT: Final = 100


def check(causes: Causes, field: str, affinity: Affinity) -> None:
    """All three sorts."""
    if affinity.node_affinity is not None:
        _check_nodes(causes, f"{field}.nodeAffinity", affinity.node_affinity)
    if affinity.pod_affinity is not None:
        _check_pods(causes, f"{field}.podAffinity", affinity.pod_affinity)
    if affinity.pod_anti_affinity is not None:
        _check_pods(causes, f"{field}.podAntiAffinity", affinity.pod_anti_affinity)


def _check_weight(causes: Causes, field: str, weight: int) -> None:
    if not 1 <= weight <= _MAX_WEIGHT:
        causes.invalid(field, weight, f"must be in the range 1-{_MAX_WEIGHT}")


def _check_nodes(causes: Causes, field: str, affinity: NodeAffinity) -> None:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        place = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        if not required.node_selector_terms:
            causes.required(place, "must have at least one node selector term")
        for index, term in enumerate(required.node_selector_terms):
            _check_node_term(causes, f"{place}[{index}]", term)
    for index, preference in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        place = f"{field}.{_PREFERRED}[{index}]"
        _check_weight(causes, f"{place}.weight", preference.weight)
        _check_node_term(causes, f"{place}.preference", preference.preference)


def _check_node_term(causes: Causes, field: str, term: NodeSelectorTerm) -> None:
    for index, rule in enumerate(term.match_expressions):
        _check_expression(causes, f"{field}.matchExpressions[{index}]", rule)
    for index, rule in enumerate(term.match_fields):
        _check_field_rule(causes, f"{field}.matchFields[{index}]", rule)


def _check_expression(causes: Causes, field: str, rule: NodeSelectorRequirement) -> None:
    if rule.operator in _SET_OPERATORS:
        if not rule.values:
            causes.required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif rule.operator in {"Exists", "DoesNotExist"}:
        if rule.values:
            causes.forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif rule.operator in {"Gt", "Lt"}:
        if len(rule.values) != 1:
            causes.required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        causes.invalid(f"{field}.operator", rule.operator, "not a valid selector operator")
    causes.invalid(f"{field}.key", rule.key, *wellformed.qualified_name(rule.key))
    for index, value in enumerate(rule.values):
        causes.invalid(f"{field}.values[{index}]", value, *wellformed.label_value(value))


def _check_field_rule(causes: Causes, field: str, rule: NodeSelectorRequirement) -> None:
    if rule.operator in _SET_OPERATORS:
        if len(rule.values) != 1:
            how = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            causes.required(f"{field}.values", how)
    else:
        causes.invalid(f"{field}.operator", rule.operator, "not a valid selector operator")
    if rule.key != _NAME_FIELD:
        causes.invalid(f"{field}.key", rule.key, "not a valid field selector key")
        return
    for index, value in enumerate(rule.values):
        causes.invalid(f"{field}.values[{index}]", value, *wellformed.subdomain(value))


def _check_pods(causes: Causes, field: str, affinity: PodAffinity | PodAntiAffinity) -> None:
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        _check_pod_term(causes, f"{field}.{_REQUIRED}[{index}]", term)
    for index, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        place = f"{field}.{_PREFERRED}[{index}]"
        _check_weight(causes, f"{place}.weight", weighted.weight)
        _check_pod_term(causes, f"{place}.podAffinityTerm", weighted.pod_affinity_term)


def _check_pod_term(causes: Causes, field: str, term: PodAffinityTerm) -> None:
    check_selector(causes, f"{field}.labelSelector", term.label_selector)
    check_selector(causes, f"{field}.namespaceSelector", term.namespace_selector)
    for namespace in term.namespaces:
        causes.invalid(f"{field}.namespace", namespace, *wellformed.label(namespace))
    check_label_keys(causes, f"{field}.matchLabelKeys", term.match_label_keys, term.label_selector)
    check_label_keys(causes, f"{field}.mismatchLabelKeys", term.mismatch_label_keys, term.label_selector)
    mismatched = frozenset(term.mismatch_label_keys)
    for index, key in enumerate(term.match_label_keys):
        if key in mismatched:
            causes.invalid(
                f"{field}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys"
            )
    if not term.topology_key:
        causes.required(f"{field}.topologyKey", "can not be empty")
    causes.invalid(f"{field}.topologyKey", term.topology_key, *wellformed.qualified_name(term.topology_key))
