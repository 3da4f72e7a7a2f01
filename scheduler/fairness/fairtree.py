"""
The tree of hierarchical dominant resource fairness (plugins.md 5.1): queues by their paths, jobs as leaves.

Of an inner node counts what its children hold, each unsaturated child scaled to the smallest share among them, so
that no child weighs more by being further ahead. A change of a job updates its path alone, unless it changes which
resources are still to be had: then all nodes are computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.fairness.shares import dominant_share, names_of
from scheduler.state.dimensions import Floats, Mask

TOLERANCE = 1e-6
"""Shares closer than this are equal."""


class Branch:
    """A node: a queue's path up to some segment, or a job."""

    __slots__ = ("allocated", "children", "is_saturated", "jobs", "parent", "request", "share", "weight")

    def __init__(self, width: int, weight: float = 1.0, parent: Branch | None = None) -> None:
        self.weight = weight
        self.parent = parent
        self.children: dict[str, Branch] = {}
        self.jobs: dict[str, Branch] = {}
        self.allocated: Floats = np.zeros(width)
        self.request: Floats = np.zeros(width)
        self.share = 0.0
        self.is_saturated = False

    def members(self) -> list[Branch]:
        """Everything directly below."""
        return [*self.children.values(), *self.jobs.values()]


_ABSENT = Branch(0)


class FairTree:
    """Shares of queues. `total` is what the nodes offer."""

    def __init__(self, total: Floats) -> None:
        self.total = total
        self.root = Branch(len(total))
        self.held: Floats = np.zeros(len(total))
        self._leaves: dict[str, Branch] = {}
        self._offered = names_of(total)
        self._demanding = self._demand()

    def _demand(self) -> Mask:
        mask: Mask = self._offered & (self.held < self.total)
        return mask

    def add(self, job_id: str, path: Sequence[str], weights: Sequence[str], request: Floats, allocated: Floats) -> None:
        """Hang a job below its queue. Call `settle` after the last one."""
        place = self.root
        for depth, segment in enumerate(path[1:], start=1):
            below = place.children.get(segment)
            if below is None:
                below = place.children[segment] = Branch(len(self.total), _weight(weights, depth), place)
            place = below
        leaf = place.jobs[job_id] = self._leaves[job_id] = Branch(len(self.total), parent=place)
        leaf.request, leaf.allocated = request, allocated
        self.held = self.held + allocated

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._leaves

    def settle(self) -> None:
        """Compute everything anew."""
        self._demanding = self._demand()
        self._settle(self.root)

    def _settle(self, branch: Branch) -> None:
        for below in branch.children.values():
            self._settle(below)
        for leaf in branch.jobs.values():
            self._judge(leaf)
        self._join(branch)

    def set_allocated(self, job_id: str, allocated: Floats) -> Floats:
        """Give a job what it holds now, and bring its path up to date; returns what it held before."""
        leaf = self._leaves[job_id]
        before, leaf.allocated = leaf.allocated, allocated
        self.held = self.held + (allocated - before)
        if not np.array_equal(self._demand(), self._demanding):
            self.settle()
            return before
        self._judge(leaf)
        branch = leaf.parent
        while branch is not None:
            self._join(branch)
            branch = branch.parent
        return before

    def _judge(self, leaf: Branch) -> None:
        """Whether a job can gain no more: it has all it asked of something, or wants what is used up."""
        leaf.share = dominant_share(leaf.allocated, self.total)
        has, wants = leaf.allocated != 0.0, leaf.request != 0.0
        named = names_of(leaf.allocated)
        full = has & wants & (leaf.allocated >= leaf.request)
        leaf.is_saturated = bool((named & (full | (~self._demanding & wants))).any())

    def _join(self, branch: Branch) -> None:
        members = branch.members()
        shares = [member.share for member in members if member.share and not member.is_saturated]
        least = min(1.0, *shares) if shares else 1.0
        allocated = np.zeros(len(self.total))
        for member in members:
            if member.share:
                scale = 1.0 if member.is_saturated else least / member.share
                allocated = allocated + member.allocated * scale
        branch.allocated = allocated
        branch.share = dominant_share(allocated, self.total)
        branch.is_saturated = all(member.is_saturated for member in members)

    def compare(self, left: Sequence[str], right: Sequence[str]) -> int:
        """Negative when the queue at the left path comes first."""
        a, b = self.root, self.root
        for depth in range(min(len(left), len(right))):
            if depth:
                a, b = a.children.get(left[depth], _ABSENT), b.children.get(right[depth], _ABSENT)
            if a.is_saturated != b.is_saturated:
                return 1 if a.is_saturated else -1
            difference = a.share / a.weight - b.share / b.weight
            if abs(difference) > TOLERANCE:
                return 1 if difference > 0 else -1
        return 0


def _weight(weights: Sequence[str], depth: int) -> float:
    try:
        weight = float(weights[depth])
    except (IndexError, ValueError):
        return 1.0
    return max(1.0, weight)
