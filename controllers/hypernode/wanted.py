"""HyperNodes as a discovery wants them, and what has to be written so that they are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from api import names
from generated.meta.v1 import ObjectMeta
from generated.topology.v1alpha1 import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec


class Changes(msgspec.Struct, frozen=True):
    """What differs. Empty when all is as wanted."""

    create: tuple[HyperNode, ...] = ()
    """Lower tiers first."""
    update: tuple[tuple[HyperNode, dict[str, Any]], ...] = ()
    """What is there, and a merge patch."""
    delete: tuple[HyperNode, ...] = ()
    """Upper tiers first."""
    taken: tuple[str, ...] = ()
    """Names that somebody else's HyperNodes have."""

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete)


def hypernode(
    name: str, source: str, tier: int, kind: str, members: Iterable[str], *, label: Mapping[str, str] | None = None
) -> HyperNode:
    """A HyperNode of these members, by name and sorted. `label` is the node label that it stands for, if any."""
    own = dict(label or {})
    return HyperNode(
        metadata=ObjectMeta(name=name, labels={**own, names.NETWORK_TOPOLOGY_SOURCE_LABEL: source}),
        spec=HyperNodeSpec(
            tier=tier,
            tier_name=next(iter(own), ""),
            members=tuple(
                MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member)))
                for member in sorted(set(members))
            ),
        ),
    )


def source_of(found: HyperNode) -> str:
    """Who discovered a HyperNode; empty for one that a user made."""
    return found.metadata.labels.get(names.NETWORK_TOPOLOGY_SOURCE_LABEL, "")


def exact_members(found: HyperNode) -> frozenset[str]:
    """The members that it gives by name."""
    selectors = (member.selector.exact_match for member in found.spec.members)
    return frozenset(match.name for match in selectors if match is not None)


def changes(wanted: Sequence[HyperNode], existing: Iterable[HyperNode], source: str) -> Changes:
    """What makes the HyperNodes of a source those wanted. Those of others are never touched."""
    found = {each.metadata.name: each for each in existing}
    create, update, taken = [], [], []
    for each in wanted:
        present = found.get(each.metadata.name)
        if present is None:
            create.append(each)
        elif source_of(present) != source:
            taken.append(each.metadata.name)
        elif patch := _patch(present, each):
            update.append((present, patch))
    kept = {each.metadata.name for each in wanted}
    delete = [each for name, each in found.items() if source_of(each) == source and name not in kept]
    return Changes(
        create=tuple(sorted(create, key=_rank)),
        update=tuple(sorted(update, key=lambda pair: _rank(pair[0]))),
        delete=tuple(sorted(delete, key=_rank, reverse=True)),
        taken=tuple(sorted(taken)),
    )


def _rank(each: HyperNode) -> tuple[int, str]:
    return each.spec.tier, each.metadata.name


def _patch(present: HyperNode, wanted: HyperNode) -> dict[str, Any]:
    """What to merge into the one that is there, empty when nothing differs. Labels of others are kept."""
    body: dict[str, Any] = {}
    labels = {key: value for key, value in wanted.metadata.labels.items() if present.metadata.labels.get(key) != value}
    if present.spec != wanted.spec:
        spec = msgspec.to_builtins(wanted.spec)
        body["spec"] = {"tierName": None, "members": [], **spec}
    if labels or body:
        body["metadata"] = {"uid": present.metadata.uid, **({"labels": labels} if labels else {})}
    return body
