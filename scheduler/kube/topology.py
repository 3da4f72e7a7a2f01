"""Numbers of pods by the values of a node label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Floats, Mask

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.facets import Facet
    from scheduler.state.profile import Tally


def carriers(facet: Facet) -> Mask:
    """Which nodes have the label at all."""
    missing = facet.number_of(None)
    if missing is None:
        return np.ones(len(facet.numbers), dtype=np.bool_)
    result: Mask = facet.numbers != missing
    return result


def sums(cluster: Cluster, tally: Tally, key: str, within: Mask | None = None) -> Floats:
    """
    Pods a value of the label, `(values,) float64`, by the numbers of the facet.

    Nodes without the label don't count, nor do those outside `within`.
    """
    facet = cluster.label(key)
    counts = tally.columns(len(cluster.nodes))
    if within is not None:
        counts = counts * within
    totals = np.bincount(facet.numbers, weights=counts, minlength=len(facet.values)).astype(np.float64)
    missing = facet.number_of(None)
    if missing is not None:
        totals[missing] = 0.0
    return totals


def is_own_domain(cluster: Cluster, key: str) -> bool:
    """Whether each node with the label is alone with its value, as hostnames should be."""
    return cluster.label(key).is_distinct()
