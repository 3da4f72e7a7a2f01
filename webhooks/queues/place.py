"""Where in the tree a queue may hang (webhooks.md 6.4). Parents are only names: every walk here ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api import names
from api.queues import QueueTree
from api.resources import PODS
from generated.scheduling.v1beta1 import Queue, QueueState
from runtime.quantity import ZERO, Quantity, QuantityError, parse

TOP: Final = frozenset(("", names.ROOT_QUEUE))
"""Parents that need not exist."""


def not_found(name: str) -> str:
    """The words of API servers for a queue that isn't there."""
    return f'queue.scheduling.volcano.sh "{name}" not found'


def problem(queue: Queue, tree: QueueTree, deepest: int) -> str:
    """
    The first reason against the queue's parent, empty when there is none.

    `tree` holds the queue as it is to be; `deepest` is how many levels there may be below the root.
    """
    name, parent = queue.metadata.name, queue.spec.parent
    if name == names.ROOT_QUEUE:
        return f"root queue's parent must stay empty, but spec.parent is {parent}" if parent else ""
    return "" if parent in TOP else next(_problems(name, parent, tree, deepest), "")


def _problems(name: str, parent: str, tree: QueueTree, deepest: int) -> Iterator[str]:
    if parent == name:
        yield f"queue {name} cannot use itself as parent"
    if tree.would_cycle(name, parent):
        yield f"queue {name} cannot be moved under its descendant {parent}"
    above = tree.ancestry(name)
    if above.has_cycle:
        yield f"queue {name} cannot use {parent} as parent: the queues above it form a circle ({_way(above.ancestors)})"
    if tree.depth(name) + tree.height(name) > deepest:
        yield f"queue {name} exceeds the maximum allowed depth of {deepest}"
    if above.missing not in TOP:
        yield f"failed to get parent queue {above.missing} of queue {name}: {not_found(above.missing)}"
    pods = allocated_pods(tree.queues[parent]) if parent in tree.queues else ZERO
    if not pods.is_zero and tree.children(parent) == (name,):
        yield f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {pods}"


def _way(queues: tuple[str, ...]) -> str:
    return " -> ".join((*queues, queues[0]))


def allocated_pods(queue: Queue) -> Quantity:
    """How many pods run in the queue, as far as its status can be read."""
    try:
        return parse(queue.status.allocated.get(PODS, 0))
    except QuantityError:
        return ZERO


def warnings(queue: Queue, tree: QueueTree) -> tuple[str, ...]:
    """What will come of the place, though it is allowed."""
    parent = tree.queues.get(queue.spec.parent)
    state = parent.status.state if parent is not None else ""
    if state in {"", QueueState.OPEN} or queue.metadata.name == names.ROOT_QUEUE:
        return ()
    told = f"queue `{queue.spec.parent}` status is `{state}`: `{queue.metadata.name}` takes no jobs until it is open"
    return (f"spec.parent: {told}",)
