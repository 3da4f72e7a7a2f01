"""
The HyperNodes that exist: their tree, the nodes that each selects, and what is wrong with them.

Kept in step with every change of HyperNodes, nodes and labels, so that a node which no longer matches leaves at once.
A HyperNode in error never hides another one's: each settling looks at all claims anew.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from api.hypernodes import HyperNodeTree, MemberIndex, build_tree, child_names
from generated.topology.v1alpha1 import HyperNode
from scheduler.state.hypernode_view import HyperNodeView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from api.hypernodes import Nodes
    from scheduler.state.cluster import Cluster

log = logging.getLogger(__name__)


class HyperNodes:
    """
    Objects by name and what follows from them. `settle` brings it up to date; `version` changes with the outcome.

    `selected` are the existing nodes that a HyperNode selects itself; `suspect` are the HyperNodes whose set of nodes
    can't be relied on, with the error that is the cause.
    """

    def __init__(self) -> None:
        self.version = 0
        self.tree: HyperNodeTree = build_tree(())
        self.suspect: Mapping[str, str] = {}
        self.selected: dict[str, set[str]] = {}
        self._objects: dict[str, HyperNode] = {}
        self._index = MemberIndex(())
        self._owners: dict[str, set[str]] = {}
        self._changed: set[str] = set()
        self._seen_nodes: set[str] = set()
        self._view: HyperNodeView | None = None

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    # Facts.

    @property
    def objects(self) -> Mapping[str, HyperNode]:
        """What was taken in, by name, in the order in which it first came."""
        return self._objects

    def set(self, obj: HyperNode) -> None:
        """Take in a HyperNode, or its new state."""
        old = self._objects.get(obj.metadata.name)
        self._objects[obj.metadata.name] = obj
        if old is None or old.spec != obj.spec:
            self._changed.add(obj.metadata.name)

    def remove(self, name: str) -> None:
        """Forget a HyperNode; its children may be claimed by others."""
        if self._objects.pop(name, None) is not None:
            self._changed.add(name)

    def see_node(self, name: str) -> None:
        """A node came, went, or has other labels."""
        self._seen_nodes.add(name)

    @property
    def errors(self) -> Mapping[str, str]:
        """By HyperNode: which of its claims could not be met."""
        return self.tree.errors

    # What follows from them.

    def view(self, cluster: Cluster) -> HyperNodeView:
        """The domains of a session over the nodes of `cluster`, which must be settled."""
        if self._changed or self._seen_nodes:
            self.settle(_Labels(cluster))
        if self._view is None or not self._view.is_current(cluster, self):
            self._view = HyperNodeView(cluster, self)
        return self._view

    def settle(self, nodes: Nodes) -> None:
        """Bring everything up to date. `nodes` are the labels of the existing nodes by name."""
        if self._changed:
            self.version += 1
            self._rebuild()
            self._select(nodes)
        if self._move(nodes):
            self.version += 1
        self._changed.clear()
        self._seen_nodes.clear()

    def _rebuild(self) -> None:
        # The older one keeps a disputed child, whatever the order in which they were listed at a restart.
        ordered = sorted(
            self._objects.values(), key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name)
        )
        known = self.tree.errors
        self.tree = build_tree(ordered)
        for name, error in self.tree.errors.items():
            if known.get(name) != error:
                log.warning("hypernode can't take its place in the tree hypernode=%s error=%s", name, error)
        for hypernode in ordered:
            spec, tiers = hypernode.spec, self.tree.tier_names
            if spec.tier_name and tiers[spec.tier_name] != spec.tier:
                log.warning(
                    "hypernodes disagree on a tier name hypernode=%s name=%s tier=%d: tier %d counts",
                    hypernode.metadata.name, spec.tier_name, spec.tier, tiers[spec.tier_name],
                )  # fmt: skip
        self.suspect = _suspects(self.tree, self._objects)
        self._index = MemberIndex(ordered)

    def _select(self, nodes: Nodes) -> None:
        """Find the nodes of the HyperNodes that changed."""
        changed = MemberIndex(self._objects[name] for name in self._changed if name in self._objects)
        for name, members in changed.members.items():
            for problem in members.problems:
                log.warning("hypernode member selects nothing hypernode=%s problem=%s", name, problem)
        is_dynamic = any(members.is_dynamic for members in changed.members.values())
        found = changed.select(nodes) if is_dynamic else {}
        for name in self._changed:
            for node in self.selected.pop(name, ()):
                self._owners[node].discard(name)
        for name, members in changed.members.items():
            selected = found.get(name) or {node for node in members.names if node in nodes}
            self.selected[name] = selected
            for node in selected:
                self._owners.setdefault(node, set()).add(name)

    def _move(self, nodes: Nodes) -> bool:
        """Put the nodes that were seen where they belong now; whether any went elsewhere."""
        moved = False
        for node in self._seen_nodes:
            before = self._owners.pop(node, set())
            after = self._index.owners(node, nodes[node]) if node in nodes else set()
            if after:
                self._owners[node] = after
            for name in before - after:
                self.selected[name].discard(node)
            for name in after - before:
                self.selected[name].add(node)
            moved |= before != after
        return moved


class _Labels(Mapping[str, Mapping[str, str]]):
    """The labels of the existing nodes by name, read where they stand."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.node_by_name

    def __getitem__(self, name: str) -> Mapping[str, str]:
        node = self._nodes[name]
        if node.object is None:
            raise KeyError(name)
        return node.labels

    def __iter__(self) -> Iterator[str]:
        return (name for name, node in self._nodes.items() if node.object is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _suspects(tree: HyperNodeTree, objects: Mapping[str, HyperNode]) -> dict[str, str]:
    """Claimants in error, those who hold what they claimed, and all above either."""
    suspect: dict[str, str] = {}
    for claimant, error in tree.errors.items():
        disputed = (child for child in child_names(objects[claimant]) if tree.parents.get(child) != claimant)
        holders = (tree.parents[child] for child in disputed if child in tree.parents)
        for name in _above(tree, (claimant, *holders)):
            suspect.setdefault(name, error)
    return suspect


def _above(tree: HyperNodeTree, names: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(ancestor for name in names for ancestor in tree.ancestors(name))
