"""
Whether a queue's resources fit with those above, beside and below it (webhooks.md 6.6).

Capability is bounded by the nearest ancestor that names the resource; the guarantees and the deserved amounts of
children must not add up to more than those of their parent. A resource that the parent doesn't name is unlimited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from api.queues import QueueTree
from api.resources import CPU, MEMORY, from_numbers, numbers
from generated.scheduling.v1beta1 import Queue, QueueSpec
from runtime.quantity import Quantity, QuantityError, Raw, parse
from webhooks.queues.place import TOP, not_found

Counted = Mapping[str, int]
"""Plain numbers: millicores, bytes, whole pods, thousandths of everything else."""


def problem(queue: Queue, tree: QueueTree) -> str:
    """The first thing that doesn't fit, empty when all does. `tree` holds the queue as it is to be."""
    return next(_problems(queue, tree), "")


def _problems(queue: Queue, tree: QueueTree) -> Iterator[str]:
    name, parent = queue.metadata.name, queue.spec.parent
    if parent not in TOP and parent != name:
        above = tree.queues.get(parent)
        if above is None:
            yield f"parent queue {parent} not found: {not_found(parent)}"
        else:
            yield from _above(queue, tree)
            siblings = [tree.queues[child] for child in tree.children(parent) if child != name]
            yield from _sums(f"parent queue {parent}", above.spec, (*siblings, queue))
    children = [tree.queues[child] for child in tree.children(name)]
    if children:
        yield from _below(queue, tree)
        yield from _sums(f"queue {name}", queue.spec, children)


def _above(queue: Queue, tree: QueueTree) -> Iterator[str]:
    """Capability beside the nearest ancestor that limits the same resource."""
    ancestors = [
        _counted(tree.queues[name].spec.capability)
        for name in tree.ancestry(queue.metadata.name).ancestors
        if name not in TOP
    ]
    for resource, own in sorted(_counted(queue.spec.capability).items()):
        bound = next((held[resource] for held in ancestors if held.get(resource, 0) > 0), None)
        if own > 0 and bound is not None and own > bound:
            yield (
                f"queue {queue.metadata.name} capability[{resource}]={_amount(resource, own)} exceeds its ancestor's"
                f" capability={_amount(resource, bound)}"
            )


def _below(queue: Queue, tree: QueueTree) -> Iterator[str]:
    """Capability beside the largest one in the branches below, each branch cut where somebody names the resource."""
    for resource, own in sorted(_counted(queue.spec.capability).items()):
        largest = _largest_below(queue.metadata.name, resource, tree)
        if 0 < own < largest:
            yield (
                f"queue {queue.metadata.name} capability[{resource}]={_amount(resource, own)} is smaller than its"
                f" descendants' max capability={_amount(resource, largest)}"
            )


def _largest_below(name: str, resource: str, tree: QueueTree) -> int:
    largest, seen = 0, {name}
    waiting = list(tree.children(name))
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        own = _counted(tree.queues[current].spec.capability).get(resource, 0)
        largest = max(largest, own)
        if own <= 0:
            waiting.extend(tree.children(current))
    return largest


_Pick = Callable[[QueueSpec], Mapping[str, Raw] | None]
_SHARES: Final[tuple[tuple[str, _Pick], ...]] = (
    ("guarantee", lambda spec: spec.guarantee.resource),
    ("deserved", lambda spec: spec.deserved),
)


def _sums(who: str, parent: QueueSpec, children: Iterable[Queue]) -> Iterator[str]:
    """Guarantees and deserved amounts, compared after each child is added."""
    sums: dict[str, Counter[str]] = {share: Counter() for share, _ in _SHARES}
    for child in children:
        for share, pick in _SHARES:
            total, limit = sums[share], _counted(pick(parent))
            total.update(_counted(pick(child.spec)))
            if any(resource in limit and amount > limit[resource] for resource, amount in total.items()):
                yield (
                    f"{who} validation failed: sum of children's {share} ({_listed(total)})"
                    f" exceeds parent's {share} limit ({_listed(limit)})"
                )


def _counted(given: Mapping[str, Raw] | None) -> dict[str, int]:
    """As numbers, without what can't be read: other queues are not judged here."""
    readable: dict[str, Quantity] = {}
    for name, value in (given or {}).items():
        try:
            readable[name] = parse(value)
        except QuantityError:
            continue
    return numbers(readable)


def _amount(resource: str, number: int) -> str:
    return str(from_numbers({resource: number})[resource]) if resource in {CPU, MEMORY} else f"{number:.2f}"


def _listed(counted: Counted) -> str:
    others = sorted(counted.keys() - {CPU, MEMORY})
    return ", ".join(f"{name} {counted.get(name, 0):.2f}" for name in (CPU, MEMORY, *others))
