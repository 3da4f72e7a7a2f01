"""Labels, annotations and label selectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from generated.core.v1 import Container, PodSpec
from generated.meta.v1 import LabelSelector, LabelSelectorRequirement
from runtime import integers
from webhooks import wellformed
from webhooks.causes import Causes

_MAX_ANNOTATIONS: Final = 256 * 1024
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR: Final = "kubernetes.io/config.mirror"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_COST = re.compile(r"0|-?[1-9][0-9]*|-0")


def check_labels(causes: Causes, field: str, labels: Mapping[str, str]) -> None:
    """Keys and values, all under one field name."""
    for key, value in labels.items():
        if faults := wellformed.qualified_name(key):
            causes.invalid(field, key, *faults)
        if faults := wellformed.label_value(value):
            causes.invalid(field, value, *faults)


def check_annotations(causes: Causes, field: str, annotations: Mapping[str, str]) -> None:
    """Keys, whose case doesn't matter, and the size of all together."""
    total = 0
    for key, value in annotations.items():
        lowered = key.lower()
        if faults := wellformed.qualified_name(lowered):
            causes.invalid(field, key, *faults)
        total += wellformed.size(key) + wellformed.size(value)
    if total > _MAX_ANNOTATIONS:
        causes.too_long(field, _MAX_ANNOTATIONS)


def check_pod_annotations(causes: Causes, field: str, annotations: Mapping[str, str], spec: PodSpec) -> None:
    """Those that Kubernetes itself reads."""
    if _MIRROR in annotations and not spec.node_name:
        causes.invalid(
            f"{field}[{_MIRROR}]", annotations[_MIRROR], "must set spec.nodeName if mirror pod annotation is set"
        )
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_COST.fullmatch(cost) and integers.read(cost, 32) is not None):
        causes.invalid(f"{field}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    _check_profiles(causes, field, annotations, (*spec.init_containers, *spec.containers))


def _check_profiles(
    causes: Causes, field: str, annotations: Mapping[str, str], containers: Iterable[Container]
) -> None:
    names = {container.name for container in containers}
    for key, value in annotations.items():
        if key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            _check_seccomp(causes, f"{field}.{key}", value)
        if not key.startswith(_APP_ARMOR):
            continue
        name = key.removeprefix(_APP_ARMOR)
        if name not in names:
            causes.invalid(f"{field}[{key}]", name, "container not found")
        if value not in {"", "runtime/default", "unconfined"} and not value.startswith(_LOCALHOST):
            causes.invalid(f"{field}[{key}]", value, f'invalid AppArmor profile name: "{value}"')


def _check_seccomp(causes: Causes, field: str, value: str) -> None:
    if value.startswith(_LOCALHOST):
        path = value.removeprefix(_LOCALHOST)
        if faults := wellformed.descending(path):
            causes.invalid(field, path, *faults)
    elif value not in {"runtime/default", "docker/default", "unconfined"}:
        causes.invalid(field, value, "must be a valid seccomp profile")


def check_selector(causes: Causes, field: str, selector: LabelSelector | None) -> None:
    """A selector of objects by their labels."""
    if selector is None:
        return
    check_labels(causes, f"{field}.matchLabels", selector.match_labels)
    for index, rule in enumerate(selector.match_expressions):
        _check_rule(causes, f"{field}.matchExpressions[{index}]", rule)


def _check_rule(causes: Causes, field: str, rule: LabelSelectorRequirement) -> None:
    if rule.operator in {"In", "NotIn"}:
        if not rule.values:
            causes.required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif rule.operator in {"Exists", "DoesNotExist"}:
        if rule.values:
            causes.forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        causes.invalid(f"{field}.operator", rule.operator, "not a valid selector operator")
    causes.invalid(f"{field}.key", rule.key, *wellformed.qualified_name(rule.key))
    for index, value in enumerate(rule.values):
        causes.invalid(f"{field}.values[{index}]", value, *wellformed.label_value(value))


def check_label_keys(causes: Causes, field: str, keys: Iterable[str], selector: LabelSelector | None) -> None:
    """Keys whose values are taken from the pod, to go beside a selector."""
    names = list(keys)
    if names and selector is None:
        causes.forbidden(field, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(names):
        causes.invalid(f"{field}[{index}]", key, *wellformed.qualified_name(key))
