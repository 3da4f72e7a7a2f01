"""
HyperNodes out of node labels: nodes with the same rack label form a HyperNode, racks of one row another (11.4).

Everything is sorted, so that the same nodes always give the same HyperNodes. A name is found again by its labels.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from api import names
from controllers.hypernode.settings import LABEL, Source
from controllers.hypernode.wanted import hypernode, source_of
from generated.core.v1 import Node
from generated.topology.v1alpha1 import HyperNode, MemberType
from runtime.controller import ReconcileError

_log = logging.getLogger(__name__)

LONGEST_TYPE: Final = 20
"""Bytes."""
NAME_TRIES: Final = 20
_TYPES: Final = "networkTopologyTypes"
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Spells no words."""


class LabelError(ReconcileError):
    """HyperNodes can't be made out of labels."""


class _Level(msgspec.Struct, rename="camel"):
    node_label: str = ""


class _Config(msgspec.Struct, rename="camel"):
    network_topology_types: dict[str, list[_Level]] = {}


class Hierarchy(msgspec.Struct, frozen=True):
    """One type of topology: node labels from tier 1 upwards."""

    type: str
    labels: tuple[str, ...]


def hierarchies(source: Source) -> tuple[Hierarchy, ...]:
    """The types of a source, sorted; those that can't be used are left out with a warning. Raises LabelError."""
    try:
        config = msgspec.convert(source.config, _Config)
    except msgspec.ValidationError as error:
        raise LabelError(f"failed to parse config of source {LABEL}: {error}") from error
    usable = ((name, levels) for name, levels in sorted(config.network_topology_types.items()) if _check(name, levels))
    # The last label tells one node from the other, so no HyperNode stands for it.
    return tuple(Hierarchy(name, tuple(level.node_label for level in reversed(levels[:-1]))) for name, levels in usable)


def _check(name: str, levels: Sequence[_Level]) -> bool:
    labels = [level.node_label for level in levels]
    if len(name.encode()) > LONGEST_TYPE:
        problem = f"its name is longer than {LONGEST_TYPE} bytes"
    elif len(set(labels)) < len(labels):
        problem = "a label stands in it twice"
    elif not all(labels):
        problem = "a label is empty"
    else:
        return True
    _log.warning("topology type left out source=%s type=%s reason=%s", LABEL, name, problem)
    return False


def labels_of(types: Iterable[Hierarchy]) -> frozenset[str]:
    """The node labels that count."""
    return frozenset(label for each in types for label in each.labels)


def random_suffix() -> str:
    """Five random characters that end a name."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(5))


def arrange(
    types: Iterable[Hierarchy],
    nodes: Iterable[Node],
    existing: Iterable[HyperNode],
    suffix: Callable[[], str] = random_suffix,
) -> list[HyperNode]:
    """The HyperNodes that these nodes form. Raises LabelError."""
    namer = _Namer(existing, suffix)
    ordered = sorted(nodes, key=lambda node: node.metadata.name)
    found: dict[str, tuple[int, dict[str, str], set[str]]] = {}
    for hierarchy in types:
        for node in ordered:
            member = node.metadata.name
            for tier, label in enumerate(hierarchy.labels, start=1):
                value = node.metadata.labels.get(label)
                if value is None:
                    break
                name = namer.name(hierarchy.type, tier, label, value)
                found.setdefault(name, (tier, {label: value}, set()))[2].add(member)
                member = name
    return [
        hypernode(
            name,
            LABEL,
            tier,
            MemberType.NODE if tier == 1 else MemberType.HYPER_NODE,
            members,
            label=label,
        )
        for name, (tier, label, members) in found.items()
    ]


class _Namer:
    """Names of groups: the smallest one that an existing HyperNode of these labels has, else a new one."""

    def __init__(self, existing: Iterable[HyperNode], suffix: Callable[[], str]) -> None:
        self._suffix = suffix
        self._taken: set[str] = set()
        """Names of all that exist or come."""
        self._kept: set[str] = set()
        """Names of existing ones that were given to a group."""
        self._given: dict[tuple[str, int, str, str], str] = {}
        self._found: dict[tuple[str, str], list[str]] = {}
        for each in sorted(existing, key=lambda each: each.metadata.name):
            self._taken.add(each.metadata.name)
            if source_of(each) == LABEL:
                for pair in each.metadata.labels.items():
                    self._found.setdefault(pair, []).append(each.metadata.name)

    def name(self, kind: str, tier: int, label: str, value: str) -> str:
        """Raises LabelError."""
        group = (kind, tier, label, value)
        if group not in self._given:
            self._given[group] = self._known(*group) or self._new(kind, tier)
        return self._given[group]

    def _known(self, kind: str, tier: int, label: str, value: str) -> str:
        prefix = names.hypernode_name_prefix(kind, tier) + "-"
        found = self._found.get((label, value), ())
        name = next((name for name in found if name.startswith(prefix) and name not in self._kept), "")
        self._kept.add(name)
        return name

    def _new(self, kind: str, tier: int) -> str:
        prefix = names.hypernode_name_prefix(kind, tier)
        for _ in range(NAME_TRIES):
            name = f"{prefix}-{self._suffix()}"
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise LabelError(f"no free name {prefix}-* was found in {NAME_TRIES} tries")


def values(labels: Mapping[str, str], keys: Iterable[str]) -> dict[str, Any]:
    """What a node says under the keys that count."""
    return {key: labels[key] for key in keys if key in labels}
