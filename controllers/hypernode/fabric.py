"""
HyperNodes out of a network fabric: leaves that reach the same nodes form one, and a spine joins them all (11.3).

A leaf HyperNode keeps its name while its nodes stay more or less the same, whatever is plugged in beside it: jobs are
placed by these names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from api import names
from controllers.hypernode.settings import UFM
from controllers.hypernode.wanted import exact_members, hypernode, source_of
from generated.topology.v1alpha1 import HyperNode, MemberType

_COMPUTER: Final = "Computer"
LEAF_TIER: Final = 1
SPINE_TIER: Final = 2


class Port(msgspec.Struct, frozen=True):
    """What a fabric manager says of a port."""

    description: str | None = ""
    peer_node_name: str | None = ""
    system_name: str | None = ""


def groups(ports: Iterable[Port]) -> list[frozenset[str]]:
    """Nodes that hang together by their leaves, in the order of the leaves' names."""
    nodes_of: dict[str, set[str]] = {}
    for port in ports:
        if _COMPUTER in (port.description or "") and port.peer_node_name and port.system_name:
            nodes_of.setdefault(port.peer_node_name, set()).add(port.system_name)
    leaves_of: dict[str, list[str]] = {}
    for leaf, nodes in nodes_of.items():
        for node in nodes:
            leaves_of.setdefault(node, []).append(leaf)
    found: list[frozenset[str]] = []
    seen: set[str] = set()
    for first in sorted(nodes_of):
        if first in seen:
            continue
        seen.add(first)
        waiting, nodes = [first], set()
        while waiting:
            reached = nodes_of[waiting.pop()] - nodes
            nodes |= reached
            news = {leaf for node in reached for leaf in leaves_of[node]} - seen
            seen |= news
            waiting.extend(news)
        found.append(frozenset(nodes))
    return found


def arrange(found: Sequence[frozenset[str]], existing: Iterable[HyperNode]) -> list[HyperNode]:
    """The HyperNodes of these groups of nodes; none when there is no group."""
    if not found:
        return []
    leaves = _leaf_names(found, list(existing))
    made = [hypernode(name, UFM, LEAF_TIER, MemberType.NODE, nodes) for name, nodes in zip(leaves, found, strict=True)]
    return [*made, hypernode(names.UFM_SPINE, UFM, SPINE_TIER, MemberType.HYPER_NODE, leaves)]


def _leaf_names(found: Sequence[frozenset[str]], existing: Sequence[HyperNode]) -> list[str]:
    """A name for each group: that of the existing leaf with which it has most in common, else a new number."""
    given: dict[int, str] = {}
    kept: set[str] = set()
    for _, place, name in sorted(_matches(found, existing)):
        if place not in given and name not in kept:
            given[place] = name
            kept.add(name)
    taken = {each.metadata.name for each in existing}
    numbers = (name for number in count() if (name := f"{names.UFM_LEAF_PREFIX}{number}") not in taken)
    return [given.get(place) or next(numbers) for place in range(len(found))]


def _matches(found: Sequence[frozenset[str]], existing: Sequence[HyperNode]) -> Iterator[tuple[int, int, str]]:
    """Which groups have nodes in common with which leaves: how many (negative), the group's place, the leaf's name."""
    leaves_of: dict[str, list[str]] = {}
    for each in existing:
        name = each.metadata.name
        if source_of(each) == UFM and each.spec.tier == LEAF_TIER and name.startswith(names.UFM_LEAF_PREFIX):
            for member in exact_members(each):
                leaves_of.setdefault(member, []).append(name)
    for place, nodes in enumerate(found):
        common = Counter(name for node in nodes for name in leaves_of.get(node, ()))
        yield from ((-many, place, name) for name, many in common.items())
