from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api import names, podgroups
from generated.core.v1 import Pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "R", "controller": True}
OTHER = {"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "T"}


@pytest.mark.parametrize(
    ("references", "name"),
    [([], "podgroup-U"), ([OTHER], "podgroup-U"), ([OTHER, OWNER], "podgroup-R"), ([OWNER], "podgroup-R")],
)
def test_pods_of_one_controller_share_a_group(references: list[Any], name: str) -> None:
    pod = msgspec.convert({"metadata": {"name": "p", "uid": "U", "ownerReferences": references}}, Pod)
    assert podgroups.name_for(pod) == name


@pytest.mark.parametrize(
    ("value", "members"),
    [
        (None, 1),
        ("-1", 1),
        ("x", 1),
        ("", 1),
        (" 4", 1),
        ("4.0", 1),
        ("1_0", 1),
        ("2147483648", 1),
        ("9" * 30, 1),
        ("0", 0),
        ("4", 4),
        ("+4", 4),
        ("2147483647", 2147483647),
    ],
)
def test_senseless_minimums_count_as_one(value: str | None, members: int) -> None:
    annotations = {} if value is None else {names.GROUP_MIN_MEMBER_ANNOTATION: value}
    assert podgroups.min_member(annotations) == members


@pytest.mark.parametrize(
    ("mode", "tier", "expected"),
    [
        ("SOFT", "abc", ("soft", None)),
        (None, "2", ("hard", 2)),
        ("hard", None, ("hard", None)),
        ("x", "3", ("hard", 3)),
        ("", None, ("hard", None)),
        ("soft", "", ("soft", None)),
        ("soft", "-1", ("soft", -1)),
        ("soft", str(2**63), ("soft", None)),
    ],
)
def test_topology_of_annotations(mode: str | None, tier: str | None, expected: tuple[str, int | None]) -> None:
    annotations = {
        key: value
        for key, value in (
            (names.NETWORK_TOPOLOGY_MODE_ANNOTATION, mode),
            (names.NETWORK_TOPOLOGY_HIGHEST_TIER_ANNOTATION, tier),
        )
        if value is not None
    }
    topology = podgroups.network_topology(annotations)
    assert topology is not None
    assert (topology.mode, topology.highest_tier_allowed) == expected
    assert topology.highest_tier_name == ""


def test_without_annotations_there_is_no_topology() -> None:
    assert podgroups.network_topology({"other": "x"}) is None
