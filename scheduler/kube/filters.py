"""
The filters that look at the node alone, and at the number of its pods.

Each gives verdicts over a view: 0 passes, 1 is its refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.contract.effects import Code, Refusal, Verdicts
from scheduler.contract.view import View
from scheduler.kube import selectors, tolerations
from scheduler.state.dimensions import PODS

if TYPE_CHECKING:
    from generated.core.v1 import NodeSelectorTerm, Taint
    from scheduler.state.facets import Facet
    from scheduler.state.node import Node
    from scheduler.state.task import Task

POD_NUMBER = Refusal(Code.UNSCHEDULABLE, "node(s) pod number exceeded")
UNSCHEDULABLE = Refusal(Code.UNRESOLVABLE, "node(s) were unschedulable")
NODE_AFFINITY = Refusal(Code.UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector")
NAMES_CONFLICT = Refusal(Code.UNRESOLVABLE, "plugin NodeAffinity pre-predicates failed pod affinity terms conflict")
TAINTS = Refusal(Code.UNRESOLVABLE, "node(s) had untolerated taint(s)")


def pod_number(task: Task, view: View) -> Verdicts:
    """A node takes as many pods as its `pods` resource says."""
    del task
    result: Verdicts = (view.allocatable[PODS] <= view.requested[PODS]).astype(np.int32)
    return result


def unschedulable(task: Task, view: View) -> Verdicts:
    """Cordoned nodes take only pods that tolerate it."""
    if tolerations.tolerates_unschedulable(task.shape.spec.tolerations):
        return np.zeros(len(view), dtype=np.int32)
    facet = view.cluster.facet("unschedulable", _is_cordoned)
    table = np.array([bool(value) for value in facet.values], dtype=np.int32)
    result: Verdicts = table[facet.numbers[view.rows]]
    return result


def _is_cordoned(node: Node) -> bool:
    return node.object is not None and node.object.spec.unschedulable


def has_node_selection(task: Task) -> bool:
    """Whether the pod selects nodes at all."""
    spec = task.shape.spec
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return bool(spec.node_selector) or (
        affinity is not None and affinity.required_during_scheduling_ignored_during_execution is not None
    )


def names_conflict(task: Task) -> bool:
    """Whether every required term wants the node to have two names at once."""
    affinity = task.shape.spec.affinity
    node_affinity = affinity.node_affinity if affinity else None
    required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
    if required is None or not required.node_selector_terms:
        return False
    return all(_has_no_name(term) for term in required.node_selector_terms)


def _has_no_name(term: NodeSelectorTerm) -> bool:
    wanted = [
        set(requirement.values)
        for requirement in term.match_fields
        if requirement.key == "metadata.name" and requirement.operator == "In"
    ]
    return bool(wanted) and not set.intersection(*wanted)


def nowhere(task: Task, view: View) -> Verdicts:
    """Refuses every node."""
    del task
    return np.ones(len(view), dtype=np.int32)


def node_affinity(task: Task, view: View) -> Verdicts:
    """`nodeSelector` and the required terms must both select the node."""
    spec = task.shape.spec
    matches = selectors.match_labels(spec.node_selector, view)
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is not None:
        any_term = np.zeros(len(view), dtype=np.bool_)
        for term in required.node_selector_terms:
            any_term |= selectors.match_term(term, view)
        matches &= any_term
    return (~matches).astype(np.int32)


def taints(task: Task, view: View) -> Verdicts:
    """Every NoSchedule and NoExecute taint must be tolerated."""
    facet, lists = taint_lists(view)
    borne = task.shape.spec.tolerations
    table = np.array([tolerations.refuses(taints, borne) for taints in lists], dtype=np.int32)
    result: Verdicts = table[facet.numbers[view.rows]]
    return result


def taint_lists(view: View) -> tuple[Facet, list[tuple[Taint, ...]]]:
    """The distinct taint lists of the nodes, and which node has which."""
    facet = view.cluster.facet("taints", _taints)
    return facet, [value for value in facet.values if isinstance(value, tuple)]


def _taints(node: Node) -> tuple[Taint, ...]:
    # Taint carries a time that says nothing about scheduling; without it equal taints are one value.
    found = node.object.spec.taints if node.object is not None else ()
    return tuple(msgspec.structs.replace(taint, time_added=None) for taint in found)
