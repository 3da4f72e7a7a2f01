"""
The HyperNodes as a session sees them: numbered domains over the columns of nodes, below one virtual root.

Domains are numbered by tier, then name, the root last, so that a lower number is the narrower choice and every order
made from numbers is stable. Totals over the nodes of all domains are one array operation.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Floats, Mask, Rows

if TYPE_CHECKING:
    from scheduler.state.cluster import Cluster
    from scheduler.state.hypernode import HyperNodes
    from scheduler.state.node import Node

ROOT = "<cluster-top-hypernode>"
"""The name of the virtual root."""
NOWHERE = -1


class HyperNodeView:
    """
    One state of the tree over one numbering of the nodes. Shapes: `(domains,)`, or `(nodes,)` where said.

    `rows[domain]` are its columns, ascending. `parents[domain]` is -1 for the root.
    """

    def __init__(self, cluster: Cluster, hypernodes: HyperNodes) -> None:
        self.cluster = cluster
        self.nodes = cluster.nodes
        self.version = hypernodes.version
        self.errors = dict(hypernodes.errors)
        self.suspect = hypernodes.suspect
        tree = hypernodes.tree
        self.tier_names = tree.tier_names
        self.names = [*sorted(tree.tiers, key=lambda name: (tree.tiers[name], name)), ROOT]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.root = len(self.names) - 1
        tiers = [tree.tiers[name] for name in self.names[:-1]]
        self.tiers = [*tiers, max(tiers) + 1 if tiers else 1]
        self.parents = [self.numbers[tree.parents.get(name, ROOT)] for name in self.names[:-1]] + [NOWHERE]
        self.children: list[list[int]] = [[] for _ in self.names]
        for number, parent in enumerate(self.parents[:-1]):
            self.children[parent].append(number)
        self.rows = self._rows(tree.real_nodes(hypernodes.selected))
        self._sums: dict[str, Floats] = {}
        self._position = (-1, -1, -1)

    def _rows(self, real: dict[str, frozenset[str]]) -> list[Rows]:
        known = self.cluster.node_by_name
        rows = []
        for name in self.names[:-1]:
            members = (known[node].row for node in real[name] if node in known)
            rows.append(np.array(sorted(row for row in members if row >= 0), dtype=np.intp))
        return [*rows, np.arange(len(self.nodes), dtype=np.intp)]

    def is_current(self, cluster: Cluster, hypernodes: HyperNodes) -> bool:
        """Whether neither the tree nor the numbering of nodes has changed since."""
        return self.nodes is cluster.nodes and self.version == hypernodes.version

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.numbers

    # The tree.

    def chain(self, domain: int) -> list[int]:
        """A domain and all above it, upwards."""
        chain = []
        while domain != NOWHERE:
            chain.append(domain)
            domain = self.parents[domain]
        return chain

    def common(self, left: str, right: str) -> str:
        """The lowest domain above (or equal to) both names; an empty or unknown one adds nothing."""
        if left not in self.numbers or right not in self.numbers:
            return left if left in self.numbers else right if right in self.numbers else ""
        above = set(self.chain(self.numbers[left]))
        return self.names[next(domain for domain in self.chain(self.numbers[right]) if domain in above)]

    def highest_within(self, domain: int, tier: int) -> int:
        """The highest of a domain and those above it whose tier is allowed; -1 when its own is above that."""
        allowed = [above for above in self.chain(domain) if self.tiers[above] <= tier]
        return allowed[-1] if self.tiers[domain] <= tier else NOWHERE

    def below(self, domain: int) -> list[int]:
        """A domain and all below it, breadth first, siblings by number."""
        found = [domain]
        for each in found:
            found.extend(self.children[each])
        return found

    def nodes_of(self, domain: int) -> list[Node]:
        """The nodes themselves."""
        return [self.nodes[row] for row in self.rows[domain].tolist()]

    def mask(self, domain: int) -> Mask:
        """`(nodes,)`: which columns belong to a domain."""
        mask = np.zeros(len(self.nodes), dtype=np.bool_)
        mask[self.rows[domain]] = True
        return mask

    @cached_property
    def by_tier(self) -> dict[int, Rows]:
        """By tier: the domain of each node, `(nodes,)`, -1 where it is in none; of several the first by name."""
        found: dict[int, Rows] = {}
        for domain in reversed(range(len(self.names))):
            places = found.setdefault(self.tiers[domain], np.full(len(self.nodes), NOWHERE, dtype=np.intp))
            places[self.rows[domain]] = domain
        return found

    @cached_property
    def leaves(self) -> Rows:
        """`(nodes,)`: the domain of each node among those of the lowest tier, -1 where it is in none."""
        return self.by_tier[min(self.tiers)]

    def leaf_of(self, node: Node) -> str:
        """Name of a node's domain of the lowest tier, empty where it has none."""
        leaf = int(self.leaves[node.row]) if node.row >= 0 else NOWHERE
        return self.names[leaf] if leaf != NOWHERE else ""

    def narrowest(self, rows: Rows) -> str:
        """Name of the domain of the lowest tier that holds all these columns."""
        wanted = np.unique(rows)
        holds = (name for name, held in zip(self.names, self.rows, strict=True) if np.isin(wanted, held).all())
        return next(holds, "")

    # Totals.

    @cached_property
    def _spans(self) -> tuple[Rows, Rows, Rows]:
        sizes = np.array([len(rows) for rows in self.rows], dtype=np.intp)
        filled = np.flatnonzero(sizes)
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)[filled]
        return np.concatenate(self.rows), starts, filled

    def total(self, columns: Floats) -> Floats:
        """Sums over the nodes of each domain: `(..., nodes)` gives `(..., domains)`."""
        rows, starts, filled = self._spans
        sums = np.zeros((*columns.shape[:-1], len(self.names)), dtype=np.float64)
        if len(filled):
            sums[..., filled] = np.add.reduceat(columns[..., rows], starts, axis=-1)
        return sums

    def amounts(self, block: str) -> Floats:
        """`(dims, domains)` of `allocatable`, `used`, `releasing` or `pipelined`, as things stand now."""
        touched = self.cluster.touched
        position = (touched.moved.position, touched.changed.position, self.cluster.columns.width)
        if position != self._position:
            self._position = position
            self._sums.clear()
        sums = self._sums.get(block)
        if sums is None:
            sums = self._sums[block] = self.total(getattr(self.cluster.columns, block))
        return sums

    @property
    def idle(self) -> Floats:
        """`(dims, domains)`: allocatable less used."""
        return self.amounts("allocatable") - self.amounts("used")

    @property
    def future_idle(self) -> Floats:
        """`(dims, domains)`: idle, plus what is being released, less what waits for it."""
        return self.idle + self.amounts("releasing") - self.amounts("pipelined")
