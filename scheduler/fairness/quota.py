"""
What each queue may have by its explicit amounts: capability, deserved, guarantee; flat or in a tree (plugins.md 7).

In a tree what a queue holds counts for all queues above it as well. A queue whose place in the tree is wrong is
`broken`, with all below it; the rest of the tree goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from api.queues import QueueTree
from scheduler.fairness import shares
from scheduler.state.account import Entry
from scheduler.state.dimensions import MIN_RESOURCE, PODS, Dimensions, Floats, Mask
from scheduler.state.queue import ROOT

if TYPE_CHECKING:
    from scheduler.contract.ledger import Ledger
    from scheduler.session import Session
    from scheduler.state.queue import Queue

log = logging.getLogger(__name__)


class Quota(msgspec.Struct, frozen=True):
    """A queue's amounts in a session, `(dims,)` rows. `path` are the queues above, the root first; empty when flat."""

    name: str
    path: tuple[str, ...]
    is_leaf: bool
    deserved: Floats
    deserves: Mask
    """The dimensions that `deserved` names, if only with nothing."""
    guarantee: Floats
    capability: Floats
    real_capability: Floats
    broken: str = ""
    """Why nothing can be scheduled here, empty when all is well."""

    @property
    def full_path(self) -> tuple[str, ...]:
        """From the root to the queue itself."""
        return (*self.path, self.name)

    @property
    def is_best_effort(self) -> bool:
        """Whether nothing is deserved."""
        has = shares.names_of(self.deserved)
        return not (has[:PODS].any() or has[PODS + 1 :].any())


class Quotas:
    """All queues' quotas, and what is held and reserved under each as the session goes on."""

    def __init__(self, session: Session, *, hierarchy: bool) -> None:
        self.session = session
        self.hierarchy = hierarchy
        cluster = session.cluster
        self.dimensions: Dimensions = cluster.dimensions
        self.queues = {name: queue for name, queue in sorted(cluster.queues.items()) if queue.object is not None}
        self.total: Floats = cluster.columns.allocatable.sum(axis=1)
        self.by_name: Mapping[str, Quota] = _tree(self) if hierarchy else _flat(self)
        self._sums = self._summed()
        self._moved: Ledger[str, Floats] = session.ledger()
        self._inqueue: Ledger[str, Floats] = session.ledger()
        self._nothing = np.zeros(len(self.dimensions))

    def _summed(self) -> dict[str, Floats]:
        """Accounts with those of all queues below, at the opening of the session."""
        sums = {name: queue.account for name, queue in self.queues.items()}
        for name, quota in self.by_name.items():
            for above in quota.path:
                sums[above] = sums[above] + self.queues[name].account
        return sums

    def get(self, queue: Queue) -> Quota | None:
        """A queue's quota; None for one that this session doesn't know or whose place in the tree is wrong."""
        quota = self.by_name.get(queue.name)
        return quota if quota is not None and not quota.broken else None

    def above(self, quota: Quota) -> list[Quota]:
        """The quota itself, then those above it, nearest first."""
        return [self.by_name[name] for name in reversed(quota.full_path)]

    # What is held.

    def _entry(self, name: str, entry: Entry) -> Floats:
        row: Floats = self._sums[name][entry]
        return row

    def claimed(self, name: str) -> Floats:
        """What a queue and all below it hold, pipelined tasks included."""
        return self._entry(name, Entry.CLAIMED) + self._moved.get(name, self._nothing)

    def wanted(self, name: str) -> Floats:
        """What tasks below ask for that hold something or wait, as the session found it."""
        return self._entry(name, Entry.WANTED)

    def inqueue(self, name: str) -> Floats:
        """What jobs that were let in still keep free."""
        return self._entry(name, Entry.RESERVED) + self._inqueue.get(name, self._nothing)

    def in_use(self, name: str) -> Floats:
        """What counts against an admission: held and kept free, without what jobs hold beyond their minimum."""
        return self.claimed(name) + self.inqueue(name) - self._entry(name, Entry.ELASTIC)

    def share(self, name: str) -> float:
        """The dominant share of what is deserved; 1 where nothing is."""
        quota = self.by_name[name]
        return 1.0 if quota.is_best_effort else shares.dominant_share(self.claimed(name), quota.deserved)

    def move(self, queue: str, change: Floats) -> None:
        """A queue took or gave up room, and so did those above it."""
        self._add(self._moved, queue, change)

    def let_in(self, queue: str, row: Floats) -> None:
        """A queue and those above it keep something free from now on."""
        self._add(self._inqueue, queue, row)

    def _add(self, ledger: Ledger[str, Floats], queue: str, change: Floats) -> None:
        quota = self.by_name.get(queue)
        for name in quota.full_path if quota is not None else ():
            ledger[name] = ledger.get(name, self._nothing) + change


# Building.


def _named(dimensions: Dimensions, *amounts: Mapping[str, float] | None) -> Mask:
    mask = np.zeros(len(dimensions), dtype=np.bool_)
    for given in amounts:
        for name in given or ():
            column = dimensions.get(name)
            if column is not None:
                mask[column] = True
    return mask


def _flat(quotas: Quotas) -> dict[str, Quota]:
    dimensions, queues = quotas.dimensions, list(quotas.queues.values())
    real, guarantees = shares.real_capabilities(quotas.total, queues, dimensions)
    unseen = ~shares.names_of(quotas.total)
    unseen[: PODS + 1] = False
    found: dict[str, Quota] = {}
    for queue, most, guarantee in zip(queues, real, guarantees, strict=True):
        limits = queue.limits
        deserved = shares.row_of(dimensions, limits.deserved or {})
        deserved = np.maximum(np.where(unseen, deserved, np.minimum(deserved, most)), guarantee)
        named = _named(dimensions, limits.deserved, limits.guarantee)
        capability = shares.capability_of(queue, dimensions)
        found[queue.name] = Quota(queue.name, (), True, deserved, named, guarantee, capability, most)
    return found


def _tree(quotas: Quotas) -> dict[str, Quota]:
    objects = [queue.object for queue in quotas.queues.values() if queue.object is not None]
    tree = QueueTree(objects)
    found: dict[str, Quota] = {}
    for name in quotas.queues:
        reason = _misplaced(tree, name)
        if reason:
            log.error("queue can't be scheduled queue=%s why=%s", name, reason)
            nothing = np.zeros(len(quotas.dimensions))
            unnamed = np.zeros(len(quotas.dimensions), dtype=np.bool_)
            found[name] = Quota(name, (), tree.is_leaf(name), nothing, unnamed, nothing, nothing, nothing, reason)
    if ROOT in quotas.queues and ROOT not in found:
        _descend(quotas, tree, ROOT, None, found)
    return found


def _misplaced(tree: QueueTree, name: str) -> str:
    ancestry = tree.ancestry(name)
    if ancestry.has_cycle:
        return f"cycle detected in queue hierarchy for queue {name}"
    if ancestry.missing:
        child = ancestry.ancestors[-1] if ancestry.ancestors else name
        return f"the queue {child} has invalid parent queue {ancestry.missing}"
    return ""


def _descend(quotas: Quotas, tree: QueueTree, name: str, parent: Quota | None, found: dict[str, Quota]) -> None:
    """Make a queue's quota from its parent's, then those below."""
    dimensions, limits = quotas.dimensions, quotas.queues[name].limits
    children = [child for child in tree.children(name) if child in quotas.queues]
    guarantee = shares.row_of(dimensions, limits.guarantee)
    deserved = shares.row_of(dimensions, limits.deserved or {})
    named = _named(dimensions, limits.deserved, limits.guarantee)
    capability = shares.capability_of(quotas.queues[name], dimensions)
    path: tuple[str, ...] = ()
    if parent is None:
        guarantee, deserved = (_sum_of(quotas, children, kind) for kind in ("guarantee", "deserved"))
        below = [quotas.queues[child].limits for child in children]
        named = _named(dimensions, *(one.deserved for one in below), *(one.guarantee for one in below))
        real = capability
    else:
        path = parent.full_path
        deserved = np.maximum(deserved, guarantee)
        capability = np.where(np.isfinite(capability), capability, parent.capability)
        siblings = [child for child in tree.children(parent.name) if child in quotas.queues]
        others = _sum_of(quotas, siblings, "guarantee") - guarantee
        real = np.minimum(_reachable(quotas, parent, others), capability)
    quota = Quota(name, path, not children, deserved, named, guarantee, capability, real)
    found[name] = quota
    for child in children:
        _descend(quotas, tree, child, quota, found)


def _sum_of(quotas: Quotas, names: Sequence[str], kind: str) -> Floats:
    rows = [shares.row_of(quotas.dimensions, getattr(quotas.queues[name].limits, kind) or {}) for name in names]
    return sum(rows, start=np.zeros(len(quotas.dimensions)))


def _reachable(quotas: Quotas, parent: Quota, others: Floats) -> Floats:
    """
    What a child may have of its parent: all but what its siblings are guaranteed.

    Where the parent has no limit the cluster's total stands for it as far as something is guaranteed to others, and
    else there is none: an autoscaler may add nodes.
    """
    open_ended = ~np.isfinite(parent.real_capability)
    base = np.where(open_ended & (others >= MIN_RESOURCE), quotas.total, parent.real_capability)
    reachable: Floats = np.maximum(base - others, 0.0)
    return reachable
