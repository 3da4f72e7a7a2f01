"""
Arithmetic of shares: what a queue or job has of something, what it may still take, and who deserves how much.

All amounts are `(dims,) float64` rows in the units of `scheduler.state.dimensions`. The comparisons are those of
plugins.md 1.7: `at_most` tolerates `MIN_RESOURCE`, the test of a request against a limit is exact and looks only at
what is requested, `pods` left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scheduler.state.dimensions import MIN_RESOURCE, PODS, Dimensions, Floats, Mask

if TYPE_CHECKING:
    from scheduler.reporting.gauges import Gauges
    from scheduler.state.queue import Queue

_GRID = 1024.0
"""Parts are multiples of 1 / this of a unit; a power of two, so that whole units stay whole."""


class QueueFigures(msgspec.Struct, frozen=True):
    """A queue's standing in a session, for metrics and explain: `(dims,)` rows; None where the plugin has no such figure."""

    allocated: Floats
    request: Floats
    inqueue: Floats
    share: float
    is_overused: bool
    weight: int | None = None
    deserved: Floats | None = None
    capacity: Floats | None = None
    """The queue's own capability; infinite where it names none."""
    real_capacity: Floats | None = None


def tell(gauges: Gauges, dimensions: Dimensions, figures: Mapping[str, QueueFigures]) -> None:
    """Give the figures of queues to the metrics. What has no limit is told as nothing."""
    for queue, found in figures.items():
        rows = {
            "allocated": found.allocated,
            "request": found.request,
            "inqueue": found.inqueue,
            "deserved": found.deserved,
            "capacity": found.capacity,
            "real_capacity": found.real_capacity,
        }
        for what, row in rows.items():
            if row is not None:
                gauges.amounts(what, queue, dimensions.amounts(np.where(np.isfinite(row), row, 0.0)))
        gauges.set("queue_share", found.share, queue)
        gauges.set("queue_overused", float(found.is_overused), queue)
        if found.weight is not None:
            gauges.set("queue_weight", float(found.weight), queue)


def row_of(dimensions: Dimensions, amounts: Mapping[str, float], default: float = 0.0) -> Floats:
    """Amounts as a row, `default` where a name is absent. Names that were never met are left out."""
    row = np.full(len(dimensions), default)
    for name, amount in amounts.items():
        column = dimensions.get(name)
        if column is not None:
            row[column] = amount
    return row


def names_of(row: Floats) -> Mask:
    """Which dimensions a row has anything of."""
    mask: Mask = row >= MIN_RESOURCE
    return mask


def dominant_share(held: Floats, base: Floats) -> float:
    """The largest part that is held of any dimension which the base has; 0 when it has none."""
    named = names_of(base)
    if not named.all():
        held, base = held[named], base[named]
    return max(0.0, float((held / base).max())) if len(base) else 0.0


def at_most(left: Floats, right: Floats) -> bool:
    """Whether no dimension of the left is beyond the right, by more than the tolerance."""
    return bool((left - right < MIN_RESOURCE).all())


def asked_of(request: Floats) -> Mask:
    """The dimensions that count when a request is held against a limit."""
    mask: Mask = request > 0.0
    mask[PODS] = False
    return mask


def lacking(total: Floats, limit: Floats, request: Floats) -> Mask:
    """Which requested dimensions of a total are beyond a limit (compat: SHARE-1)."""
    mask: Mask = asked_of(request) & (total > limit)
    return mask


def room(used: Floats, limit: Floats, request: Floats, most: int) -> int:
    """How many of `most` equal requests fit under a limit, one after the other."""
    asked = asked_of(request)
    if not asked.any():
        return most
    used, limit, request = used[asked], limit[asked], request[asked]
    count = int(min(most, max(0.0, float(np.floor((limit - used) / request).min()))))
    # The quotient may be off by one in the last bit.
    while count and (used + count * request > limit).any():
        count -= 1
    while count < most and not (used + (count + 1) * request > limit).any():
        count += 1
    return count


def until_used_up(used: Floats, part: Floats, request: Floats, most: int) -> int:
    """
    How many of `most` equal requests may be placed one by one while something of a part is left before each.

    The first may always: its turn has come. A part is used up when no dimension has any left (`at_most`).
    """
    left = part - used
    open_ended = left >= MIN_RESOURCE
    if (open_ended & (request <= 0.0)).any():
        return most
    if not open_ended.any():
        return min(most, 1)
    steps = (left[open_ended] - MIN_RESOURCE) / request[open_ended]
    count = max(1, int(min(most, float(np.floor(steps.max())))))
    while count > 1 and at_most(part, used + (count - 1) * request):
        count -= 1
    while count < most and not at_most(part, used + count * request):
        count += 1
    return count


def stretch(used: Floats, limit: Floats, requests: Floats) -> int:
    """How many of these requests, `(n, dims)`, fit under a limit in their order (`lacking` of none)."""
    asked = requests > 0.0
    asked[:, PODS] = False
    beyond = (asked & (used + np.cumsum(requests, axis=0) > limit)).any(axis=1)
    return int(beyond.argmax()) if beyond.any() else len(requests)


def stretch_until_used_up(used: Floats, part: Floats, requests: Floats) -> int:
    """How many of these requests may be placed in their order while something of a part is left before each."""
    before = used + np.cumsum(requests, axis=0) - requests
    over = (part - before < MIN_RESOURCE).all(axis=1)
    return int(over.argmax()) if over.any() else len(requests)


def dominant_shares(held: Floats, base: Floats) -> list[float]:
    """`dominant_share` of each row."""
    named = names_of(base)
    if not named.any():
        return [0.0] * len(held)
    shares: list[float] = np.maximum((held[:, named] / base[named]).max(axis=1), 0.0).tolist()
    return shares


def names(dimensions: Dimensions, mask: Mask) -> list[str]:
    """The names of dimensions as messages list them: cpu, memory, pods, then the others sorted."""
    columns = np.flatnonzero(mask).tolist()
    return [dimensions.names[column] for column in columns if column <= PODS] + sorted(
        dimensions.names[column] for column in columns if column > PODS
    )


def shortage(dimensions: Dimensions, request: Floats, used: Floats, limit: Floats) -> str:
    """What a request lacks under a limit, with the numbers; empty when it fits."""
    short = names(dimensions, lacking(used + request, limit, request))
    parts = []
    for name in short:
        column = dimensions.column(name)
        parts.append(
            f"insufficient {name} (asked {request[column]:.2f}, taken {used[column]:.2f} of {limit[column]:.2f})"
        )
    return ", ".join(parts)


def water_fill(total: Floats, weights: Floats, least: Floats, most: Floats) -> Floats:
    """
    Divide a total among queues by weight: `(queues, dims)`, dimension by dimension.

    Each gets its weight's part of the total, `most` of it at most and `least` at least. What is left then goes by
    weight to those who still want some, until nobody does. `least` wins over `most`, and over the total: the parts
    may exceed it (compat: SHARE-2). With no weight at all nobody gets anything.
    """
    whole = float(weights.sum())
    if whole <= 0.0:
        return np.zeros_like(most)
    filled = np.maximum(np.minimum(total[None, :] * weights[:, None] / whole, most), least)
    left = np.maximum(total - filled.sum(axis=0), 0.0)
    for dimension in np.flatnonzero(left > 0.0).tolist():
        filled[:, dimension] = _pour(float(left[dimension]), weights, filled[:, dimension], most[:, dimension])
    # Limits are compared exactly, so no rounding of thirds may keep a whole unit out.
    snapped: Floats = np.rint(filled * _GRID) / _GRID
    return snapped


def _pour(left: float, weights: Floats, filled: Floats, most: Floats) -> Floats:
    """Raise levels by weight until nothing is left or all that have a weight are full."""
    wanting = np.flatnonzero((weights > 0.0) & (most > filled))
    wanting = wanting[np.argsort((most[wanting] - filled[wanting]) / weights[wanting], kind="stable")]
    result = filled.copy()
    # Who is full with the least comes first; each one that fills up leaves more for the others.
    for place, who in enumerate(wanting.tolist()):
        weight = float(weights[wanting[place:]].sum())
        if left * weights[who] / weight < most[who] - filled[who]:
            rest = wanting[place:]
            result[rest] = filled[rest] + left * weights[rest] / weight
            break
        result[who] = most[who]
        left -= float(most[who] - filled[who])
    return result


def real_capabilities(total: Floats, queues: Sequence[Queue], dimensions: Dimensions) -> tuple[Floats, Floats]:
    """
    (what each queue may hold at most, what is guaranteed to each), `(queues, dims)` both.

    What others are guaranteed is out of reach. A capability that names a resource which no node has counts
    nevertheless: an autoscaler may bring such a node.
    """
    guarantees = stacked([row_of(dimensions, queue.limits.guarantee) for queue in queues], dimensions)
    capabilities = stacked([capability_of(queue, dimensions) for queue in queues], dimensions)
    reachable = np.maximum(total - guarantees.sum(axis=0), 0.0) + guarantees
    absent = ~names_of(total)
    absent[: PODS + 1] = False
    unseen = absent[None, :] & np.isfinite(capabilities)
    return np.where(unseen, capabilities, np.minimum(reachable, capabilities)), guarantees


def capability_of(queue: Queue, dimensions: Dimensions) -> Floats:
    """A queue's own limit, infinite where it names none; cpu and memory of nothing mean no limit."""
    capability = queue.limits.capability
    row = row_of(dimensions, capability or {}, np.inf)
    row[:PODS][row[:PODS] <= 0.0] = np.inf
    return row


def stacked(rows: Sequence[Floats], dimensions: Dimensions) -> Floats:
    """Rows as a matrix `(len(rows), dims)`, also when there are none."""
    return np.stack(rows) if rows else np.zeros((0, len(dimensions)))
