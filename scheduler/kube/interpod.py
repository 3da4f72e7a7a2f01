"""
InterPodAffinity: pods that want to be near to, or far from, other pods (plugins.md 18.3).

Everything comes from the tallies of `Sight`: those of pods that a task's own terms mean, and those of pods whose
terms mean the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Code, Refusal, Verdicts
from scheduler.contract.view import View
from scheduler.kube.classes import Closing, Summing
from scheduler.kube.topology import carriers, is_own_domain, sums
from scheduler.placing.tracks import FilterTrack, Gate, ScoreTrack
from scheduler.state.dimensions import Floats, Mask
from scheduler.state.profile import Carried, Counted, Kind, Profile, Tally

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task
    from scheduler.state.terms import Placed

REFUSALS = (
    Refusal(Code.UNRESOLVABLE, "node(s) didn't match pod affinity rules"),
    Refusal(Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules"),
    Refusal(Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules"),
)
_AFFINITY, _ANTI_AFFINITY, _EXISTING = 1, 2, 3


# The filter.


def is_bound(task: Task) -> bool:
    """Whether the filter has anything to say: the pod has required terms, or others keep it away."""
    affinity = task.shape.spec.affinity
    if affinity is not None:
        for source in (affinity.pod_affinity, affinity.pod_anti_affinity):
            if source is not None and source.required_during_scheduling_ignored_during_execution:
                return True
    return task.profile is not None and task.profile.is_faced(Kind.FORBIDDEN)


def required(task: Task, view: View) -> Verdicts:
    """Affinity first, then the pod's own anti-affinity, then that of pods that are there."""
    cluster = view.cluster
    sight = cluster.sight
    terms, profile = sight.affinities(task), sight.profile(task)
    verdicts: Verdicts = np.zeros(len(cluster.nodes), dtype=np.int32)
    for tally in profile.facing:
        if isinstance(tally.key, Carried) and tally.key.kind is Kind.FORBIDDEN and tally.counts:
            key = tally.key.placed.topology_key
            verdicts[_occupied(cluster, key, sums(cluster, tally, key))] = _EXISTING
    for placed in terms.forbidden:
        counts = sums(cluster, sight.tally(Counted((placed.term,))), placed.topology_key)
        verdicts[_occupied(cluster, placed.topology_key, counts)] = _ANTI_AFFINITY
    if terms.required:
        verdicts[~_near_all(cluster, profile, terms.required)] = _AFFINITY
    result: Verdicts = verdicts[view.rows]
    return result


def _occupied(cluster: Cluster, key: str, counts: Floats) -> Mask:
    result: Mask = (counts > 0.0)[cluster.label(key).numbers]
    return result


def _near_all(cluster: Cluster, profile: Profile, terms: tuple[Placed, ...]) -> Mask:
    """Nodes near pods that match all terms; where there are none anywhere, all nodes do for a pod that does itself."""
    near = np.ones(len(cluster.nodes), dtype=np.bool_)
    first = is_first_of_group(cluster, profile, terms)
    for placed in terms:
        facet = cluster.label(placed.topology_key)
        if first:
            near &= carriers(facet)
        else:
            near &= (sums(cluster, _all_of(cluster, terms), placed.topology_key) > 0.0)[facet.numbers]
    return near


def is_first_of_group(cluster: Cluster, profile: Profile, terms: tuple[Placed, ...]) -> bool:
    """Whether a pod wants to be near pods like itself and there is none yet, on any node with the labels."""
    counted = Counted(tuple(placed.term for placed in terms))
    if not cluster.sight.means(counted, profile):
        return False
    tally = cluster.sight.tally(counted)
    return not any(sums(cluster, tally, placed.topology_key).any() for placed in terms)


def _all_of(cluster: Cluster, terms: tuple[Placed, ...]) -> Tally:
    return cluster.sight.tally(Counted(tuple(placed.term for placed in terms)))


def track_required(task: Task, cluster: Cluster) -> FilterTrack:
    """In a run nodes only close: where the pod keeps away from pods like itself, or joined its own group."""
    sight = cluster.sight
    terms, profile = sight.affinities(task), sight.profile(task)
    base = required(task, View.all(cluster)) == 0
    limits: Floats | None = None
    gates: list[Gate] = []
    for placed in terms.forbidden:
        if not sight.means(Counted((placed.term,)), profile):
            continue
        facet = cluster.label(placed.topology_key)
        if is_own_domain(cluster, placed.topology_key):
            once = np.where(carriers(facet), 1.0, np.inf)
            limits = once if limits is None else np.minimum(limits, once)
        else:
            gates.append(Closing(placed.topology_key, facet.number_of(None)))
    first = bool(terms.required) and is_first_of_group(cluster, profile, terms.required)
    return FilterTrack(base=base, limits=limits, gates=tuple(gates), at_most=1 if first else None)


# The score.


class Preferences:
    """The score. `hard_weight` is what a required affinity of a pod that is there is worth to the one it means."""

    def __init__(self, hard_weight: int = 0) -> None:
        self.hard_weight = hard_weight

    def applies(self, task: Task) -> bool:
        """Whether the pod has wishes, or others have some about it."""
        affinity = task.shape.spec.affinity
        if affinity is not None:
            for source in (affinity.pod_affinity, affinity.pod_anti_affinity):
                if source is not None and source.preferred_during_scheduling_ignored_during_execution:
                    return True
        kinds = (Kind.PREFERRED, Kind.REQUIRED) if self.hard_weight else (Kind.PREFERRED,)
        return task.profile is not None and task.profile.is_faced(*kinds)

    def rate(self, task: Task, view: View) -> Floats:
        """The sum of the wishes that a node fulfils, of the pod and of pods that are there, those against it negative."""
        numbers = view.cluster.label
        total = np.zeros(len(view))
        for key, worth in self._worth(task, view.cluster).items():
            total += worth[numbers(key).numbers[view.rows]]
        return total

    def _worth(self, task: Task, cluster: Cluster) -> dict[str, Floats]:
        """What each value of each topology key is worth."""
        sight = cluster.sight
        worth: dict[str, Floats] = {}
        wishes = [
            (placed, placed.weight, sight.tally(Counted((placed.term,)))) for placed in sight.affinities(task).preferred
        ]
        wishes += [
            (tally.key.placed, self._weight(tally.key), tally)
            for tally in sight.profile(task).facing
            if isinstance(tally.key, Carried)
        ]
        for placed, weight, tally in wishes:
            if weight and tally.counts:
                part = weight * sums(cluster, tally, placed.topology_key)
                before = worth.get(placed.topology_key)
                worth[placed.topology_key] = part if before is None else before + part
        return worth

    def _weight(self, carried: Carried) -> int:
        if carried.kind is Kind.PREFERRED:
            return carried.placed.weight
        return self.hard_weight if carried.kind is Kind.REQUIRED else 0

    def _gains(self, task: Task, cluster: Cluster) -> dict[str, int]:
        """What one more pod like this one in a domain adds to it for the next, by topology key."""
        sight = cluster.sight
        terms, profile = sight.affinities(task), sight.profile(task)
        gains: dict[str, int] = {}
        weights = [(placed, 2 * placed.weight) for placed in terms.preferred]
        weights += [(placed, self.hard_weight) for placed in terms.required]
        for placed, weight in weights:
            if sight.means(Counted((placed.term,)), profile):
                gains[placed.topology_key] = gains.get(placed.topology_key, 0) + weight
        return {key: gain for key, gain in gains.items() if gain}

    def track(self, task: Task, cluster: Cluster) -> ScoreTrack | None:
        """Steady where pods like this one mean nothing to each other, else by class; hosts make levels of these."""
        gains = self._gains(task, cluster)
        if not gains:
            return ScoreTrack()
        worth = self._worth(task, cluster)
        own = [key for key in worth.keys() | gains.keys() if is_own_domain(cluster, key)]
        levels, counted = np.zeros(len(cluster.nodes)), np.ones(len(cluster.nodes), dtype=np.bool_)
        for key in own:
            facet = cluster.label(key)
            if key in worth:
                levels += worth[key][facet.numbers]
            if key in gains:
                counted &= carriers(facet)
        keys = tuple(sorted((worth.keys() | gains.keys()) - set(own)))
        tables = []
        for key in keys:
            facet = cluster.label(key)
            table = worth.get(key)
            values = [0.0] * len(facet.values) if table is None else table.tolist()
            tables.append((values, gains.get(key, 0), facet.number_of(None)))
        gain = float(sum(gains.get(key, 0) for key in own))
        return ScoreTrack(rating=Summing(keys, tables), counted=counted, levels=levels if own else None, gain=gain)


class SpanNormaliser:
    """100 for the highest, 0 for the lowest; 0 for all where they are equal."""

    def bounds(self, raw: Floats) -> tuple[float, ...]:
        """Minimum and maximum."""
        return (float(raw.min()), float(raw.max())) if len(raw) else (0.0, 0.0)

    def scale(self, raw: Floats, bounds: tuple[float, ...]) -> Floats:
        """Truncated, after real division."""
        low, high = bounds
        if high == low:
            return np.zeros(len(raw))
        result: Floats = np.trunc(100.0 * ((raw - low) / (high - low)))
        return result
