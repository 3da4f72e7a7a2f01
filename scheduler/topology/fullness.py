"""How full hypernodes are, and would be: by this pods that belong together are packed, and large domains kept free."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.state.dimensions import Floats
from scheduler.state.hypernode_view import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scheduler.contract.view import View
    from scheduler.state.hypernode_view import HyperNodeView
    from scheduler.state.task import Task


def fullness_of(view: HyperNodeView, weighted: Mapping[str, int], request: Mapping[str, float]) -> Floats:
    """`(domains,)`, 0..1: the weighted mean share of use with a request added, 0 where it would not fit."""
    shares, over = np.zeros(len(view)), np.zeros(len(view), dtype=np.bool_)
    weights = 0
    for name, weight in weighted.items():
        asked = request.get(name, 0.0)
        column = view.cluster.dimensions.get(name)
        if asked <= 0.0 or column is None:
            continue
        capacity, after = view.amounts("allocatable")[column], view.amounts("used")[column] + asked
        over |= after > capacity
        weights += weight
        shares += weight * after / np.where(capacity > 0.0, capacity, np.inf)
    return np.where(over, 0.0, shares / weights) if weights else np.zeros(len(view))


class NormalPods(msgspec.Struct, frozen=True):
    """
    The rating of nodes for pods without a topology, over one view of the tree.

    Equal to that of another session as long as the view is the same, so what is known of the nodes is kept.
    """

    domains: HyperNodeView
    weights: Mapping[str, int]
    fading: float

    def __call__(self, task: Task, view: View) -> Floats:
        """0..1 a node: how full its hypernodes of each tier would be, wider ones counting less."""
        domains = self.domains
        fullness = fullness_of(domains, self.weights, task.request.amounts)
        total, weights = np.zeros(len(view)), 0.0
        for tier in range(min(domains.tiers), max(domains.tiers) + 1):
            weight = self.fading ** (tier - 1)
            weights += weight
            places = domains.by_tier.get(tier)
            if places is None:
                total += weight
                continue
            here = places[view.rows]
            total += weight * np.where(here == NOWHERE, 1.0, fullness[here])
        return total / weights if weights else total


def sum_of(tasks: Iterable[Task]) -> dict[str, float]:
    """What tasks ask for together."""
    total: dict[str, float] = {}
    for request, number in Counter(task.request for task in tasks).items():
        for name, amount in request.amounts.items():
            total[name] = total.get(name, 0.0) + amount * number
    return total
