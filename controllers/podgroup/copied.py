"""
What a group has from the pods of a StatefulSet, noted on the group itself.

Such a group outlives the revision it was made for, and the next one may drop what this one asked for. The note tells
that apart from what others set on the group, which stays (compat: GROUP-4).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from api import names
from generated.scheduling.v1beta1 import NetworkTopologySpec, PodGroup


class Copied(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Annotations, labels, queue and topology as they were copied last; the queue is empty where pods named none."""

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    queue: str = ""
    network_topology: NetworkTopologySpec | None = None


_NOTHING = Copied()


def note(copied: Copied) -> dict[str, str]:
    """The annotation that remembers it; none where nothing was copied."""
    if copied == _NOTHING:
        return {}
    return {names.COPIED_FROM_PODS_ANNOTATION: msgspec.json.encode(copied, order="deterministic").decode()}


def noted(group: PodGroup) -> Copied:
    """What a group remembers: nothing where there is no note, as on groups of older releases, or one that can't be read."""
    text = group.metadata.annotations.get(names.COPIED_FROM_PODS_ANNOTATION, "")
    try:
        return msgspec.json.decode(text, type=Copied) if text else _NOTHING
    except msgspec.DecodeError:
        return _NOTHING


def dropped(before: Mapping[str, str], found: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, None]:
    """The keys to take away: copied once, no longer wanted, and not changed by anybody since."""
    return {key: None for key, value in before.items() if key not in wanted and found.get(key) == value}
