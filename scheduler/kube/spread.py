"""PodTopologySpread: pods of a kind evenly over the values of node labels (plugins.md 18.4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from api import names
from scheduler.contract.effects import Code, Refusal, Verdicts
from scheduler.contract.view import View
from scheduler.kube import constraints
from scheduler.kube.classes import Skew
from scheduler.kube.constraints import Constraint
from scheduler.kube.spreadrating import Spreading
from scheduler.kube.topology import carriers, is_own_domain, sums
from scheduler.placing.tracks import FilterTrack, Gate, ScoreTrack, Watch
from scheduler.state.dimensions import Floats, Mask, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

_TEXT = "node(s) didn't match pod topology spread constraints"
REFUSALS = (
    Refusal(Code.UNSCHEDULABLE, _TEXT),
    Refusal(Code.UNRESOLVABLE, f"{_TEXT} (missing required label)"),
)
_SKEWED, _NO_LABEL = 1, 2


# The filter.


class _Level(msgspec.Struct, frozen=True):
    """How a hard constraint stands: pods by value, the values that count, what the emptiest has."""

    counted: Mask
    counts: Floats
    domains: Rows
    least: float


def has_hard(task: Task) -> bool:
    """Whether any constraint forbids."""
    return constraints.has_any(task, constraints.HARD)


def forbidden(task: Task, view: View) -> Verdicts:
    """The first constraint that a node fails decides what it is told."""
    cluster = view.cluster
    hard = constraints.hard(task, cluster)
    labelled = _labelled(cluster, hard)
    verdicts: Verdicts = np.zeros(len(cluster.nodes), dtype=np.int32)
    for constraint in reversed(hard):
        facet = cluster.label(constraint.key)
        level = _level(task, cluster, constraint, labelled)
        skew = level.counts + float(constraint.means_itself) - level.least
        verdicts[(skew > constraint.max_skew)[facet.numbers]] = _SKEWED
        verdicts[~carriers(facet)] = _NO_LABEL
    result: Verdicts = verdicts[view.rows]
    return result


def _labelled(cluster: Cluster, wanted: Sequence[Constraint]) -> Mask:
    """Nodes with the labels of all constraints."""
    labelled = np.ones(len(cluster.nodes), dtype=np.bool_)
    for constraint in wanted:
        labelled &= carriers(cluster.label(constraint.key))
    return labelled


def _level(task: Task, cluster: Cluster, constraint: Constraint, labelled: Mask) -> _Level:
    facet = cluster.label(constraint.key)
    counted = labelled & constraints.eligible(task, cluster, constraint)
    if constraint.counted is None:
        counts = np.zeros(len(facet.values))
    else:
        counts = sums(cluster, cluster.sight.tally(constraint.counted), constraint.key, counted)
    domains = np.flatnonzero(np.bincount(facet.numbers[counted], minlength=len(facet.values)))
    enough = len(domains) >= constraint.min_domains and len(domains) > 0
    return _Level(counted, counts, domains, float(counts[domains].min()) if enough else 0.0)


def track_forbidden(task: Task, cluster: Cluster) -> FilterTrack:
    """Domains open as the emptiest one fills up; a node that is its own domain takes so many and no more."""
    hard = constraints.hard(task, cluster)
    labelled = _labelled(cluster, hard)
    base, counted = labelled.copy(), np.ones(len(labelled), dtype=np.bool_)
    limits: Floats | None = None
    gates: list[Gate] = []
    watches: list[Watch] = []
    for constraint in hard:
        facet = cluster.label(constraint.key)
        level = _level(task, cluster, constraint, labelled)
        if not constraint.gains:
            skew = level.counts + float(constraint.means_itself) - level.least
            base &= (skew <= constraint.max_skew)[facet.numbers]
            continue
        counted &= level.counted
        if not is_own_domain(cluster, constraint.key):
            gates.append(
                Skew(
                    constraint.key, level.counts.tolist(), level.domains.tolist(), constraint.max_skew,
                    constraint.min_domains,
                )
            )  # fmt: skip
            continue
        room = (constraint.max_skew + level.least - level.counts)[facet.numbers]
        base &= room >= 1.0
        limits = room if limits is None else np.minimum(limits, room)
        if len(level.domains) >= constraint.min_domains:
            emptiest = level.counted & (level.counts[facet.numbers] == level.least)
            watches.append(Watch(emptiest, int(np.count_nonzero(emptiest))))
    return FilterTrack(base=base, limits=limits, counted=counted, gates=tuple(gates), watches=tuple(watches))


# The score.


def has_soft(task: Task) -> bool:
    """Whether any constraint wishes."""
    return constraints.has_any(task, constraints.SOFT)


def rate(task: Task, view: View) -> Floats:
    """
    Pods in the node's domains, each weighed by the number of domains; lower is better. `view` are the candidates.

    Nodes without a label that a constraint names get `constraints.IGNORED`.
    """
    cluster, rows = view.cluster, view.rows
    soft = constraints.soft(task, cluster)
    labelled = _labelled(cluster, soft)
    explicit = not constraints.is_default(soft)
    rated = labelled[rows] if explicit else np.ones(len(rows), dtype=np.bool_)
    total = np.zeros(len(rows))
    for constraint in soft:
        facet = cluster.label(constraint.key)
        numbers = facet.numbers[rows]
        counts = _counts(task, cluster, constraint, labelled if explicit else None)[rows]
        if constraint.key == names.HOSTNAME_LABEL:
            size = int(np.count_nonzero(rated))
        else:
            size = int(np.count_nonzero(np.bincount(numbers[rated], minlength=len(facet.values))))
        has_key = carriers(facet)[rows]
        total += np.where(has_key, counts * math.log(size + 2) + (constraint.max_skew - 1), 0.0)
    return np.where(rated, np.floor(total + 0.5), constraints.IGNORED)


def _counts(task: Task, cluster: Cluster, constraint: Constraint, labelled: Mask | None) -> Floats:
    """Pods in the domain of each node, `(nodes,) float64`."""
    nodes = len(cluster.nodes)
    if constraint.counted is None:
        return np.zeros(nodes)
    tally = cluster.sight.tally(constraint.counted)
    if constraint.key == names.HOSTNAME_LABEL:
        return tally.columns(nodes)
    counted = constraints.eligible(task, cluster, constraint)
    if labelled is not None:
        counted = counted & labelled
    spread: Floats = sums(cluster, tally, constraint.key, counted)[cluster.label(constraint.key).numbers]
    return spread


def track_rate(task: Task, cluster: Cluster) -> ScoreTrack | None:
    """By class, where hosts are levels; None where another label makes each node a domain of its own."""
    soft = constraints.soft(task, cluster)
    labelled = _labelled(cluster, soft)
    is_default = constraints.is_default(soft)
    counted = labelled.copy() if is_default else np.ones(len(labelled), dtype=np.bool_)
    hosts = [constraint for constraint in soft if constraint.key == names.HOSTNAME_LABEL]
    others = [constraint for constraint in soft if constraint.key != names.HOSTNAME_LABEL]
    tables = []
    for constraint in others:
        if is_own_domain(cluster, constraint.key):
            return None
        facet = cluster.label(constraint.key)
        eligible = constraints.eligible(task, cluster, constraint)
        if not is_default:
            eligible = eligible & labelled
        if constraint.gains:
            # Where a label is missing the pod counts nowhere, whatever else the node has.
            counted &= eligible | ~labelled
        if constraint.counted is None:
            table = [0.0] * len(facet.values)
        else:
            table = sums(cluster, cluster.sight.tally(constraint.counted), constraint.key, eligible).tolist()
        tables.append((table, float(constraint.gains), constraint.max_skew, facet.number_of(None)))
    keys = tuple(each.key for each in others)
    if not hosts:
        return ScoreTrack(rating=Spreading(keys, tables), counted=counted)
    if len(hosts) > 1:
        return None
    # Nodes without a host name are not rated, so a run leaves them to be looked at one by one.
    return ScoreTrack(
        rating=Spreading(keys, tables, hosts[0].max_skew),
        counted=counted & carriers(cluster.label(names.HOSTNAME_LABEL)),
        levels=_counts(task, cluster, hosts[0], None),
        gain=float(hosts[0].gains),
        needs_all=True,
    )


class SpreadNormaliser:
    """The fewer pods the better: 100 * (max + min - s) / max in whole numbers; 0 for nodes that are not rated."""

    def bounds(self, raw: Floats) -> tuple[float, ...]:
        """Minimum and maximum of the rated ones."""
        rated = raw[raw != constraints.IGNORED]
        if not len(rated):
            return (constraints.IGNORED, constraints.IGNORED)
        return (float(rated.min()), float(rated.max()))

    def scale(self, raw: Floats, bounds: tuple[float, ...]) -> Floats:
        """All 100 where the maximum is 0."""
        low, high = bounds
        if high <= 0.0:
            return np.where(raw == constraints.IGNORED, 0.0, 100.0)
        return np.where(raw == constraints.IGNORED, 0.0, np.floor(100.0 * (high + low - raw) / high))
