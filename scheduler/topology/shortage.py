"""Which hypernodes have room for a minimum, and what those lack that have not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.contexts import Purpose
from scheduler.state.dimensions import MIN_RESOURCE, Floats, Mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scheduler.state.hypernode_view import HyperNodeView


def room_of(view: HyperNodeView, minimum: Mapping[str, float], purpose: Purpose) -> tuple[Mask, Floats]:
    """
    `(domains,)`: where a minimum fits, in what is idle or in what will be; for evictions in what is offered.

    And `(names, domains)`: how much is missing of each name of the minimum, by what will be idle.
    """
    offers = [view.amounts("allocatable")] if purpose is Purpose.EVICT else [view.idle, view.future_idle]
    enough = np.zeros(len(view), dtype=np.bool_)
    missing = np.zeros((len(minimum), len(view)))
    for offered in offers:
        for place, (name, amount) in enumerate(minimum.items()):
            column = view.cluster.dimensions.get(name)
            available = offered[column] if column is not None else np.zeros(len(view))
            missing[place] = amount - available if amount >= MIN_RESOURCE else 0.0
        enough |= (missing < MIN_RESOURCE).all(axis=0)
    return enough, missing


def tell_missing(
    view: HyperNodeView, candidates: Sequence[int], tier: int, minimum: Mapping[str, float], missing: Floats
) -> str:
    """Which tier was looked at, which of its hypernodes came nearest, and what that one lacks."""
    names = list(minimum)
    asked = np.array([max(amount, MIN_RESOURCE) for amount in minimum.values()])
    shares = (missing / asked[:, None])[:, candidates].max(axis=0)
    best = candidates[int(shares.argmin())]
    lacks = [
        f"{name} (wants {minimum[name]:.0f}, {missing[place, best]:.0f} more than is free)"
        for place, name in enumerate(names)
        if missing[place, best] >= MIN_RESOURCE
    ]
    return (
        f"no hypernode of tier {tier} or lower has enough free resources: "
        f"the best, {view.names[best]}, lacks {', '.join(lacks)}"
    )
