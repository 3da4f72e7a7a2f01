"""
The oracle's part about other pods: host ports, inter-pod affinity and topology spread, pod by pod in plain loops.

Written from plugins.md 18.2 to 18.4; shares nothing with the kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from scheduler.state.status import Status

if TYPE_CHECKING:
    from tests.unit.scheduler.slow import Slow, SlowNode, SlowTask

HOSTNAME = "kubernetes.io/hostname"


def selects(selector: Any, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for want in selector.match_expressions:
        has, value = want.key in labels, labels.get(want.key)
        answers = {
            "In": has and value in want.values,
            "NotIn": not has or value not in want.values,
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not answers[want.operator]:
            return False
    return True


def means(term: Any, carrier: SlowTask, other: SlowTask, slow: Slow) -> bool:
    namespaces = set(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = {carrier.namespace}
    within = other.namespace in namespaces or (
        term.namespace_selector is not None
        and selects(term.namespace_selector, slow.namespaces.get(other.namespace, {}))
    )
    return within and selects(term.label_selector, other.labels)


def labels_of(node: SlowNode) -> dict[str, str]:
    return dict(node.object.metadata.labels)


def terms_of(task: SlowTask, kind: str) -> tuple[Any, ...]:
    affinity = task.spec.affinity
    source = getattr(affinity, "pod_affinity" if "anti" not in kind else "pod_anti_affinity") if affinity else None
    if source is None:
        return ()
    if kind.startswith("required"):
        return tuple(source.required_during_scheduling_ignored_during_execution)
    return tuple(source.preferred_during_scheduling_ignored_during_execution)


# Filters.


def passes(task: SlowTask, node: SlowNode, slow: Slow) -> bool:
    return ports_free(task, node) and near_and_far(task, node, slow) and not skewed(task, node, slow)


def ports(task: SlowTask) -> list[tuple[str, int, str]]:
    keep = [container for container in task.spec.init_containers if container.restart_policy == "Always"]
    return [
        (port.protocol or "TCP", port.host_port, port.host_ip or "0.0.0.0")
        for container in (*task.spec.containers, *keep)
        for port in container.ports
        if port.host_port
    ]


def ports_free(task: SlowTask, node: SlowNode) -> bool:
    for protocol, number, address in ports(task):
        for other in node.tasks:
            for other_protocol, other_number, other_address in ports(other):
                same = protocol == other_protocol and number == other_number
                if same and (address == other_address or "0.0.0.0" in (address, other_address)):
                    return False
    return True


def near_and_far(task: SlowTask, node: SlowNode, slow: Slow) -> bool:
    labels = labels_of(node)
    required = terms_of(task, "required")
    if required:
        if any(term.topology_key not in labels for term in required):
            return False
        pairs = {
            (term.topology_key, labels_of(other)[term.topology_key])
            for other in slow.nodes
            for pod in other.tasks
            if all(means(each, task, pod, slow) for each in required)
            for term in required
            if term.topology_key in labels_of(other)
        }
        if pairs:
            if any((term.topology_key, labels[term.topology_key]) not in pairs for term in required):
                return False
        elif not all(means(term, task, task, slow) for term in required):
            return False
    for other in slow.nodes:
        there = labels_of(other)
        for pod in other.tasks:
            far = [term for term in terms_of(task, "required anti") if means(term, task, pod, slow)]
            far += [term for term in terms_of(pod, "required anti") if means(term, pod, task, slow)]
            for term in far:
                key = term.topology_key
                if key in there and labels.get(key) == there[key]:
                    return False
    return True


def constraints(task: SlowTask, action: str) -> list[Any]:
    return [each for each in task.spec.topology_spread_constraints if each.when_unsatisfiable == action]


def counts_for(constraint: Any, pod: SlowTask, task: SlowTask) -> bool:
    selector = constraint.label_selector
    if selector is None:
        return False
    keys = [key for key in constraint.match_label_keys if key in task.labels]
    if not keys and not selector.match_labels and not selector.match_expressions:
        return False
    if pod.status is Status.RELEASING or pod.namespace != task.namespace:
        return False
    return means_itself(constraint, pod, task)


def means_itself(constraint: Any, pod: SlowTask, task: SlowTask) -> bool:
    if not selects(constraint.label_selector, pod.labels):
        return False
    return all(pod.labels.get(key) == task.labels[key] for key in constraint.match_label_keys if key in task.labels)


def counted(task: SlowTask, node: SlowNode, constraint: Any, keys: list[str], slow: Slow) -> bool:
    labels = labels_of(node)
    if any(key not in labels for key in keys):
        return False
    if constraint.node_affinity_policy != "Ignore" and not slow.node_selected(task, node):
        return False
    return constraint.node_taints_policy != "Honor" or slow.taints_tolerated(task, node)


def skewed(task: SlowTask, node: SlowNode, slow: Slow) -> bool:
    hard = constraints(task, "DoNotSchedule")
    keys = [constraint.topology_key for constraint in hard]
    labels = labels_of(node)
    for constraint in hard:
        key = constraint.topology_key
        if key not in labels:
            return True
        found: dict[str, int] = {}
        for other in slow.nodes:
            if counted(task, other, constraint, keys, slow):
                value = labels_of(other)[key]
                number = sum(counts_for(constraint, pod, task) for pod in other.tasks)
                found[value] = found.get(value, 0) + number
        wanted = 1 if constraint.min_domains is None else constraint.min_domains
        least = min(found.values()) if len(found) >= wanted and found else 0
        if found.get(labels[key], 0) + means_itself(constraint, task, task) - least > constraint.max_skew:
            return True
    return False


# Scores.


def wishes(carrier: SlowTask, other: SlowTask, slow: Slow) -> list[tuple[Any, int]]:
    """The preferred terms of one pod that mean another, with their signed weights."""
    return [
        (wish.pod_affinity_term, sign * wish.weight)
        for kind, sign in (("preferred", 1), ("preferred anti", -1))
        for wish in terms_of(carrier, kind)
        if means(wish.pod_affinity_term, carrier, other, slow)
    ]


def affinity_scores(task: SlowTask, candidates: list[SlowNode], slow: Slow, hard_weight: int = 0) -> list[int]:
    worth: dict[tuple[str, str], int] = {}
    for node in slow.nodes:
        for pod in node.tasks:
            found = wishes(task, pod, slow) + wishes(pod, task, slow)
            found += [(term, hard_weight) for term in terms_of(pod, "required") if means(term, pod, task, slow)]
            for term, weight in found:
                value = labels_of(node).get(term.topology_key)
                if value is not None:
                    worth[term.topology_key, value] = worth.get((term.topology_key, value), 0) + weight
    raw = [sum(worth.get(pair, 0) for pair in labels_of(node).items()) for node in candidates]
    low, high = min(raw), max(raw)
    return [int(100.0 * ((each - low) / (high - low))) if high > low else 0 for each in raw]


def spread_scores(task: SlowTask, candidates: list[SlowNode], slow: Slow) -> list[int]:
    soft = constraints(task, "ScheduleAnyway")
    if not soft:
        return [0] * len(candidates)
    keys = [constraint.topology_key for constraint in soft]
    rated = [node for node in candidates if all(key in labels_of(node) for key in keys)]
    raw: dict[str, int] = {}
    for node in rated:
        total = 0.0
        for constraint in soft:
            key = constraint.topology_key
            value = labels_of(node)[key]
            if key == HOSTNAME:
                number = sum(counts_for(constraint, pod, task) for pod in node.tasks)
                size = len(rated)
            else:
                size = len({labels_of(other)[key] for other in rated})
                number = sum(
                    counts_for(constraint, pod, task)
                    for other in slow.nodes
                    if counted(task, other, constraint, keys, slow) and labels_of(other)[key] == value
                    for pod in other.tasks
                )
            total += number * math.log(size + 2) + (constraint.max_skew - 1)
        raw[node.name] = math.floor(total + 0.5)
    low, high = (min(raw.values()), max(raw.values())) if raw else (0, 0)
    return [
        (100 * (high + low - raw[node.name]) // high if high else 100) if node.name in raw else 0 for node in candidates
    ]
