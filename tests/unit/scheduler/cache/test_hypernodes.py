"""HyperNodes and sub-group policies from the API server into the state."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from generated.core.v1 import Node
from generated.scheduling.v1beta1 import PodGroup
from generated.topology.v1alpha1 import HyperNode
from scheduler.cache.facts import Facts
from scheduler.state.cluster import Cluster
from tests.unit.scheduler.hypernodes import by_label, by_name, hypernode


def facts() -> Facts:
    return Facts(Cluster(), scheduler_names=("volcano",), default_queue="default")


def node(name: str, **labels: str) -> Node:
    document = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"cpu": "1"}}}
    return msgspec.convert(document, Node)


def selected(found: Facts) -> dict[str, list[str]]:
    cluster = found.cluster
    cluster.settle()
    view = cluster.hypernodes.view(cluster)
    return {
        name: [cluster.nodes[row].name for row in rows.tolist()]
        for name, rows in zip(view.names[:-1], view.rows[:-1], strict=True)
    }


def test_hypernodes_come_change_and_go() -> None:
    found = facts()
    for name, rack in (("n0", "a"), ("n1", "a"), ("n2", "b")):
        found.apply(("Node", None, node(name, rack=rack)))
    first = hypernode("s0", 1, by_label(rack="a"))
    found.apply(("HyperNode", None, first))
    assert selected(found) == {"s0": ["n0", "n1"]}
    second = hypernode("s0", 1, by_name("n2"))
    found.apply(("HyperNode", first, second))
    assert selected(found) == {"s0": ["n2"]}
    found.apply(("HyperNode", second, None))
    assert selected(found) == {}


def test_nodes_are_followed_through_label_changes_and_deletion() -> None:
    found = facts()
    found.apply(("HyperNode", None, hypernode("s0", 1, by_label(rack="a"))))
    old = node("n0", rack="a")
    found.apply(("Node", None, old))
    assert selected(found) == {"s0": ["n0"]}
    moved = node("n0", rack="b")
    found.apply(("Node", old, moved))
    assert selected(found) == {"s0": []}
    back = node("n0", rack="a")
    found.apply(("Node", moved, back))
    assert selected(found) == {"s0": ["n0"]}
    found.apply(("Node", back, None))
    assert selected(found) == {"s0": []}


@pytest.mark.parametrize(("tier", "starts_a_cycle"), [(1, False), (2, True)])
def test_only_what_scheduling_reads_starts_a_cycle(tier: int, starts_a_cycle: bool) -> None:
    found = facts()
    first = hypernode("s0", 1, by_name("n0"))
    found.apply(("HyperNode", None, first))
    before = found.cluster.version
    found.apply(("HyperNode", first, hypernode("s0", tier, by_name("n0"))))
    assert (found.cluster.version != before) is starts_a_cycle


def test_a_repeated_delete_changes_nothing() -> None:
    found = facts()
    gone: HyperNode = hypernode("s0", 1)
    found.apply(("HyperNode", gone, None))
    assert len(found.cluster.hypernodes) == 0


def group(**policy: Any) -> PodGroup:
    spec = {"minMember": 1, "subGroupPolicy": [{"name": "p", **policy}]}
    return msgspec.convert({"metadata": {"name": "g", "namespace": "ns", "uid": "u"}, "spec": spec}, PodGroup)


def test_a_policy_without_keys_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    found = facts()
    first, later = group(), msgspec.structs.replace(group(), kind="PodGroup")
    with caplog.at_level(logging.WARNING):
        found.apply(("PodGroup", None, first))
        found.apply(("PodGroup", first, later))
        found.apply(("PodGroup", later, group(matchLabelKeys=["block"])))
    warnings = [record.getMessage() for record in caplog.records if "sub-group policy" in record.getMessage()]
    assert len(warnings) == 1
    assert "podgroup=ns/g policy=p" in warnings[0]
