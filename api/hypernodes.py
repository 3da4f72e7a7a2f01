"""
HyperNodes: which nodes and children their members name, and the tree that they form.

Members select nodes by name, by pattern or by labels. With thousands of nodes and hundreds of HyperNodes the question
is asked often, so a `MemberIndex` answers it for all HyperNodes at once. Bad patterns and selectors spoil only the
member they stand in; a HyperNode that can't take its place in the tree is reported and the others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from generated.topology.v1alpha1 import HyperNode, MemberSelector, MemberSpec, MemberType
from runtime.patterns import PatternError, PatternSet, check
from runtime.selector import InvalidSelector, Selector, from_label_selector

Nodes = Mapping[str, Mapping[str, str]]
"""Labels of the nodes, by name."""


class Members(msgspec.Struct, frozen=True):
    """What the members of one HyperNode select, in usable form."""

    names: frozenset[str] = frozenset()
    """Given by name; whether they exist is not checked."""
    patterns: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    problems: tuple[str, ...] = ()
    """Why some members select nothing."""

    @property
    def is_dynamic(self) -> bool:
        """Whether a new node, or a changed label, can change what is selected."""
        return bool(self.patterns or self.selectors)


def members_of(hypernode: HyperNode, *, kind: str = "") -> Members:
    """What the members select, of one `kind` (MemberType), or of both when it is empty."""
    exact: set[str] = set()
    patterns: list[str] = []
    selectors: list[Selector] = []
    problems: list[str] = []
    for index, member in enumerate(hypernode.spec.members):
        if kind and member.type != kind:
            continue
        try:
            selector = _checked(member.selector)
        except _Fault as fault:
            problems.append(f"spec.members[{index}].selector: {fault}")
            continue
        exact.update(selector.names)
        patterns.extend(selector.patterns)
        selectors.extend(selector.selectors)
    return Members(frozenset(exact), tuple(patterns), tuple(selectors), tuple(problems))


def child_names(hypernode: HyperNode) -> tuple[str, ...]:
    """The HyperNodes that it claims as children, each once; only those given by name can be."""
    claimed = (_exact_name(member) for member in hypernode.spec.members if member.type == MemberType.HYPER_NODE)
    return tuple(dict.fromkeys(name for name in claimed if name))


def count_members(hypernode: HyperNode, nodes: Nodes) -> int:
    """What `status.nodeCount` shows: distinct names over all members, whatever their type (compat: HN-3)."""
    index = MemberIndex((hypernode,), kind="")
    return len(index.names(hypernode.metadata.name) | index.select(nodes)[hypernode.metadata.name])


class MemberIndex:
    """
    Which of many HyperNodes select a node, asked in time that hardly grows with their number.

    Takes members of type Node, or those of another `kind` (empty: both).
    """

    def __init__(self, hypernodes: Iterable[HyperNode], *, kind: str = MemberType.NODE) -> None:
        self.members = {each.metadata.name: members_of(each, kind=kind) for each in hypernodes}
        owners = [(pattern, name) for name, held in self.members.items() for pattern in held.patterns]
        self._patterns = PatternSet([pattern for pattern, _ in owners])
        self._pattern_owners = [name for _, name in owners]
        self._selectors = [(each, name) for name, held in self.members.items() for each in held.selectors]
        self._by_name: dict[str, list[str]] = {}
        for name, held in self.members.items():
            for node in held.names:
                self._by_name.setdefault(node, []).append(name)

    def names(self, hypernode: str) -> frozenset[str]:
        """The nodes that a HyperNode names, existing or not."""
        return self.members[hypernode].names

    def owners(self, node: str, labels: Mapping[str, str]) -> set[str]:
        """The HyperNodes that select a node."""
        found = set(self._by_name.get(node, ()))
        found.update(self._pattern_owners[position] for position in self._patterns.matching(node))
        found.update(name for selector, name in self._selectors if selector.matches(labels))
        return found

    def select(self, nodes: Nodes) -> dict[str, set[str]]:
        """The existing nodes that each HyperNode selects."""
        selected: dict[str, set[str]] = {name: set() for name in self.members}
        for node, labels in nodes.items():
            for owner in self.owners(node, labels):
                selected[owner].add(node)
        return selected


class HyperNodeTree(msgspec.Struct, frozen=True):
    """How HyperNodes hang together. Only existing ones appear, and only links without contradiction."""

    parents: Mapping[str, str]
    children: Mapping[str, tuple[str, ...]]
    tiers: Mapping[str, int]
    tier_names: Mapping[str, int]
    """Tier by its name; of two tiers of one name the later HyperNode's counts."""
    errors: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By HyperNode: which of its claims was not met. The tree is usable while this is empty."""

    @property
    def is_ready(self) -> bool:
        """Whether every HyperNode has its place."""
        return not self.errors

    def ancestors(self, name: str) -> tuple[str, ...]:
        """A HyperNode and all above it, upwards."""
        chain = [name]
        while chain[-1] in self.parents:
            chain.append(self.parents[chain[-1]])
        return tuple(chain)

    def lowest_common_ancestor(self, left: str, right: str) -> str:
        """The lowest HyperNode above (or equal to) both, empty when there is none; an empty name adds nothing."""
        if not left or not right:
            return left or right
        above = set(self.ancestors(left))
        return next((name for name in self.ancestors(right) if name in above), "")

    def upwards(self) -> tuple[str, ...]:
        """All HyperNodes, children before parents."""
        roots = [name for name in self.tiers if name not in self.parents]
        downwards: list[str] = []
        while roots:
            downwards.append(roots.pop())
            roots.extend(self.children.get(downwards[-1], ()))
        return tuple(reversed(downwards))

    def real_nodes(self, own: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
        """The nodes at or below each HyperNode, given those that it selects itself."""
        below: dict[str, frozenset[str]] = {}
        for name in self.upwards():
            parts = [below[child] for child in self.children.get(name, ())]
            below[name] = frozenset(own.get(name, ())).union(*parts)
        return below


def build_tree(hypernodes: Sequence[HyperNode]) -> HyperNodeTree:
    """
    The tree of these HyperNodes; where two claim one child, the earlier in the sequence gets it.

    A claim that would close a circle, or give a second parent, is left out and becomes the claimant's error.
    """
    existing = {each.metadata.name: each for each in hypernodes}
    links = _Links()
    children: dict[str, list[str]] = {}
    errors: dict[str, str] = {}
    for name, hypernode in existing.items():
        for child in child_names(hypernode):
            if child not in existing:
                continue  # takes its place once it exists
            if error := links.add(child, name):
                errors.setdefault(name, error)
                continue
            children.setdefault(name, []).append(child)
    return HyperNodeTree(
        parents=links.parents,
        children={name: tuple(held) for name, held in children.items()},
        tiers={name: each.spec.tier for name, each in existing.items()},
        tier_names={each.spec.tier_name: each.spec.tier for each in existing.values() if each.spec.tier_name},
        errors=errors,
    )


class _Fault(Exception):  # noqa: N818  # private: never leaves members_of()
    """Why a member selects nothing."""


def _checked(selector: MemberSelector) -> Members:
    """One member's selectors, which unite. Raises _Fault: one bad part spoils the member (compat: HN-2)."""
    patterns: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    if selector.exact_match is not None and not selector.exact_match.name:
        raise _Fault("exactMatch.name is empty")
    if selector.regex_match is not None:
        patterns = (selector.regex_match.pattern,)
        try:
            check(patterns[0])
        except PatternError as error:
            raise _Fault(f"regexMatch.pattern {patterns[0]!r}: {error}") from None
    if selector.label_match is not None:
        parsed = from_label_selector(selector.label_match)
        if isinstance(parsed, InvalidSelector):
            raise _Fault(f"labelMatch: {parsed}")
        if not parsed.selects_everything:  # compat: HN-1
            selectors = (parsed,)
    names = frozenset((selector.exact_match.name,)) if selector.exact_match is not None else frozenset()
    return Members(names, patterns, selectors)


def _exact_name(member: MemberSpec) -> str:
    return member.selector.exact_match.name if member.selector.exact_match is not None else ""


_SHOWN: Final = 32
"""HyperNodes of a chain that a message names; no real fabric has so many tiers."""


class _Links:
    """The links of a tree in the making, each of which is judged in about the same time, however deep the tree is."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self._above: dict[str, str] = {}
        """Some ancestor of each HyperNode that has one: the way to the top grows shorter each time it is walked."""

    def add(self, child: str, parent: str) -> str:
        """Hang `child` below `parent`. Why it can't be, and wasn't done; empty when it was."""
        held = self.parents.get(child)
        chain = self._chain(parent)
        if child in chain or (held is None and self._top(parent) == child):
            return f"cyclic dependency detected: HyperNode {child} is already in the ancestor chain [{_told(chain)}]"
        if held is not None:
            return f"HyperNode {child} already has a parent {held}, and cannot set another parent {parent}"
        self.parents[child] = self._above[child] = parent
        return ""

    def _chain(self, name: str) -> list[str]:
        """A HyperNode and those above it, upwards: one more than is shown at most."""
        chain = [name]
        while chain[-1] in self.parents and len(chain) <= _SHOWN:
            chain.append(self.parents[chain[-1]])
        return chain

    def _top(self, name: str) -> str:
        """The HyperNode at the top of the tree that this one is in."""
        way = []
        while name in self._above:
            way.append(name)
            name = self._above[name]
        self._above.update(dict.fromkeys(way, name))
        return name


def _told(chain: Sequence[str]) -> str:
    return " ".join(sorted(chain[:_SHOWN])) + (" ..." if len(chain) > _SHOWN else "")
