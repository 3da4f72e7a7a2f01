"""Topology spread constraints as a pod means them, and the nodes that count for them (plugins.md 18.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from api import names
from scheduler.contract.view import View
from scheduler.kube import filters
from scheduler.state.dimensions import Mask
from scheduler.state.profile import Counted, Profile
from scheduler.state.terms import PodTerm, narrowed, read_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from generated.core.v1 import TopologySpreadConstraint
    from runtime.selector import Selector
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
IGNORED = -1.0
"""The raw score of a candidate that lacks a label."""
_DEFAULTS = ((names.HOSTNAME_LABEL, 3), (names.ZONE_LABEL, 5))
"""The system's own constraints: label and skew, for pods of a Service or a workload without constraints."""


class Constraint(msgspec.Struct, frozen=True):
    """
    One constraint of one kind of pod.

    `counted` is None where the selector is empty or absent: then no pod counts, though the pod may mean itself.
    """

    key: str
    max_skew: int
    min_domains: int
    honours_affinity: bool
    honours_taints: bool
    counted: Counted | None
    means_itself: bool
    is_default: bool = False

    @property
    def gains(self) -> bool:
        """Whether a pod adds to the count that the next one like it sees."""
        return self.means_itself and self.counted is not None


def has_any(task: Task, action: str) -> bool:
    """Whether a pod has constraints that forbid, or that wish."""
    explicit = task.shape.spec.topology_spread_constraints
    if explicit:
        return any(constraint.when_unsatisfiable == action for constraint in explicit)
    return action == SOFT and task.profile is not None and task.profile.default_selector is not None


def hard(task: Task, cluster: Cluster) -> Sequence[Constraint]:
    """The constraints that forbid."""
    return _of(task, cluster)[0]


def soft(task: Task, cluster: Cluster) -> Sequence[Constraint]:
    """The constraints that wish."""
    return _of(task, cluster)[1]


def is_default(constraints: Sequence[Constraint]) -> bool:
    """Whether these are the system's own."""
    return any(constraint.is_default for constraint in constraints)


def _of(task: Task, cluster: Cluster) -> tuple[Sequence[Constraint], Sequence[Constraint]]:
    profile = cluster.sight.profile(task)
    found: tuple[Sequence[Constraint], Sequence[Constraint]] | None = profile.constraints.get(task.shape)
    if found is None:
        explicit = task.shape.spec.topology_spread_constraints
        if not explicit:
            found = ((), _defaults(profile))
        else:
            read = [(each.when_unsatisfiable, _read(each, profile)) for each in explicit]
            found = (
                tuple(constraint for action, constraint in read if action == HARD),
                tuple(constraint for action, constraint in read if action == SOFT),
            )
        cluster.sight.note(profile.constraints, task.shape, found)
    return found


def _read(constraint: TopologySpreadConstraint, profile: Profile) -> Constraint:
    selector = read_selector(constraint.label_selector)
    if selector is not None:
        selector = narrowed(selector, profile.labels, constraint.match_label_keys)
    return Constraint(
        key=constraint.topology_key,
        max_skew=constraint.max_skew,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honours_affinity=constraint.node_affinity_policy != "Ignore",
        honours_taints=constraint.node_taints_policy == "Honor",
        counted=_counted(selector, profile.namespace),
        means_itself=selector is not None and selector.matches(profile.labels),
    )


def _counted(selector: Selector | None, namespace: str) -> Counted | None:
    if selector is None or selector.selects_everything:
        return None
    return Counted((PodTerm(frozenset((namespace,)), None, selector),), live=True)


def _defaults(profile: Profile) -> tuple[Constraint, ...]:
    selector = profile.default_selector
    if selector is None:
        return ()
    return tuple(
        Constraint(
            key=key,
            max_skew=max_skew,
            min_domains=1,
            honours_affinity=True,
            honours_taints=False,
            counted=_counted(selector, profile.namespace),
            means_itself=selector.matches(profile.labels),
            is_default=True,
        )
        for key, max_skew in _DEFAULTS
    )


def eligible(task: Task, cluster: Cluster, constraint: Constraint) -> Mask:
    """The nodes that the policies of a constraint let count. Not to be changed."""
    masks = cluster.sight.profile(task).masks
    key = (task.shape, constraint.honours_affinity, constraint.honours_taints)
    position = cluster.touched.changed.position
    known = masks.get(key)
    if known is None or known[0] != position:
        known = cluster.sight.note(masks, key, (position, _eligible(task, cluster, constraint)))
    return known[1]


def _eligible(task: Task, cluster: Cluster, constraint: Constraint) -> Mask:
    view = View.all(cluster)
    allowed = np.ones(len(view), dtype=np.bool_)
    if constraint.honours_affinity and filters.has_node_selection(task):
        allowed &= filters.node_affinity(task, view) == 0
    if constraint.honours_taints:
        allowed &= filters.taints(task, view) == 0
    return allowed
