"""HyperNodes in the state: who selects which nodes, what the tree looks like, and what is wrong with it."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.topology.v1alpha1 import HyperNode
from scheduler.state.hypernode import HyperNodes
from scheduler.state.hypernode_view import ROOT
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.hypernodes import by_label, by_name, by_pattern, child, grow, hypernode

LABELS = {"a1": {"rack": "a"}, "a2": {"rack": "a"}, "b1": {"rack": "b"}}


def settled(*several: HyperNode, nodes: dict[str, dict[str, str]] | None = None) -> HyperNodes:
    found = HyperNodes()
    for each in several:
        found.set(each)
    found.settle(LABELS if nodes is None else nodes)
    return found


def test_members_select_existing_nodes_only() -> None:
    found = settled(
        hypernode("names", 1, by_name("a1"), by_name("gone")),
        hypernode("pattern", 1, by_pattern("^b")),
        hypernode("labels", 1, by_label(rack="a")),
        hypernode("both", 1, by_name("b1"), by_label(rack="a")),
    )
    assert found.selected == {"names": {"a1"}, "pattern": {"b1"}, "labels": {"a1", "a2"}, "both": {"a1", "a2", "b1"}}


NODE_EVENTS = [
    ("a label that appears", {**LABELS, "b1": {"rack": "a"}}, {"a1", "a2", "b1"}),
    ("a label that goes", {**LABELS, "a2": {}}, {"a1"}),
    ("a node that goes", {"a1": {"rack": "a"}, "b1": {"rack": "b"}}, {"a1"}),
    ("a node that comes", {**LABELS, "c1": {"rack": "a"}}, {"a1", "a2", "c1"}),
]


@pytest.mark.parametrize(("case", "nodes", "expected"), NODE_EVENTS, ids=[case for case, _, _ in NODE_EVENTS])
def test_nodes_are_followed(case: str, nodes: dict[str, dict[str, str]], expected: set[str]) -> None:
    del case
    found = settled(hypernode("labels", 1, by_label(rack="a")))
    before = found.version
    for name in {*LABELS, *nodes}:
        found.see_node(name)
    found.settle(nodes)
    assert found.selected["labels"] == expected
    assert found.version > before


def test_a_named_node_that_comes_later_is_found_and_nothing_else_is_news() -> None:
    found = settled(hypernode("names", 1, by_name("a1"), by_name("late")))
    before = found.version
    found.see_node("a1")
    found.settle(LABELS)
    assert found.version == before
    found.see_node("late")
    found.settle({**LABELS, "late": {}})
    assert found.selected["names"] == {"a1", "late"}


def test_a_hypernode_with_children_and_selectors_follows_nodes_too() -> None:
    found = settled(hypernode("leaf", 1, by_name("b1")), hypernode("mixed", 2, child("leaf"), by_label(rack="a")))
    found.see_node("a2")
    found.settle({**LABELS, "a2": {}})
    assert found.tree.real_nodes(found.selected)["mixed"] == {"a1", "b1"}


def test_a_changed_spec_selects_anew_and_an_equal_one_changes_nothing() -> None:
    found = settled(hypernode("x", 1, by_pattern("^a")))
    before = found.version
    found.set(hypernode("x", 1, by_pattern("^a")))
    found.settle(LABELS)
    assert found.version == before
    found.set(hypernode("x", 1, by_pattern("^b")))
    found.settle(LABELS)
    assert found.selected == {"x": {"b1"}}


def test_a_circle_is_an_error_until_it_is_corrected() -> None:
    found = settled(hypernode("a", 2, child("b")), hypernode("b", 1, child("a")))
    assert found.errors == {
        "b": "cyclic dependency detected: HyperNode a is already in the ancestor chain [a b]",
    }
    found.set(hypernode("c", 1, by_name("a1")))
    found.settle(LABELS)
    assert "b" in found.errors  # what happens elsewhere corrects nothing
    found.set(hypernode("b", 1, by_name("b1")))
    found.settle(LABELS)
    assert not found.errors
    assert not found.suspect


def test_of_two_parents_the_older_keeps_the_child_until_one_drops_it() -> None:
    younger = hypernode("s1", 2, child("s0"), created="2026-01-02T00:00:00Z")
    older = hypernode("s2", 2, child("s0"), created="2026-01-01T00:00:00Z")
    found = settled(hypernode("s0", 1, by_name("a1")), younger, older)
    assert found.errors == {"s1": "HyperNode s0 already has a parent s2, and cannot set another parent s1"}
    found.set(hypernode("s2", 2, by_name("a2"), created="2026-01-01T00:00:00Z"))
    found.settle(LABELS)
    assert not found.errors
    assert found.tree.parents["s0"] == "s1"


def test_errors_make_suspect_who_disputes_and_all_above_and_nobody_else() -> None:
    found = settled(
        hypernode("s0", 1, by_name("a1")),
        hypernode("s1", 2, child("s0")),
        hypernode("s2", 2, child("s0")),
        hypernode("top", 3, child("s1")),
        hypernode("elsewhere", 2, by_name("b1")),
    )
    assert set(found.suspect) == {"s1", "s2", "top"}


def test_errors_and_bad_members_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = settled(hypernode("a", 1, child("a")), hypernode("b", 1, by_pattern("(")))
        found.set(hypernode("c", 1))
        found.settle(LABELS)
    assert [record.getMessage().split(" hypernode=")[1].split(" ")[0] for record in caplog.records] == ["a", "b"]


def test_a_tier_name_means_the_tier_of_the_youngest_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = settled(
            hypernode("a", 1, tier_name="rack", created="2026-01-02T00:00:00Z"),
            hypernode("b", 2, tier_name="rack", created="2026-01-01T00:00:00Z"),
        )
    assert found.tree.tier_names == {"rack": 1}
    assert [record.args for record in caplog.records] == [("b", "rack", 2, 1)]


def test_a_deleted_child_is_skipped_and_freed_for_another() -> None:
    found = settled(hypernode("leaf", 1, by_name("a1")), hypernode("p", 2, child("leaf")), hypernode("q", 2))
    found.remove("leaf")
    found.settle(LABELS)
    assert found.tree.children == {}
    assert found.tree.real_nodes(found.selected) == {"p": frozenset(), "q": frozenset()}
    found.remove("p")
    found.set(hypernode("q", 2, child("leaf")))
    found.set(hypernode("leaf", 1, by_name("b1")))
    found.settle(LABELS)
    assert found.tree.parents == {"leaf": "q"}
    assert found.tree.real_nodes(found.selected)["q"] == {"b1"}


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", "", None])), max_size=12))
def test_steps_come_out_as_selecting_all_anew(steps: list[tuple[str, str | None]]) -> None:
    objects = [hypernode("label", 1, by_label(rack="a")), hypernode("name", 1, by_name("x"), by_pattern("y"))]
    nodes: dict[str, dict[str, str]] = {}
    found = settled(*objects, nodes=nodes)
    for name, rack in steps:
        nodes = {key: value for key, value in nodes.items() if key != name}
        if rack is not None:
            nodes[name] = {"rack": rack}
        found.see_node(name)
        found.settle(nodes)
        assert found.selected == settled(*objects, nodes=nodes).selected


# The view of a session.


def world() -> World:
    made = World()
    for name in ("n0", "n1", "n2", "n3", "n4"):
        made.node(name, cpu=1000.0 * (int(name[1]) + 1))
    grow(
        made,
        {
            "s0": (1, ["n0", "n1"]),
            "s1": (1, ["n2"]),
            "s2": (1, ["n3", "missing"]),
            "t0": (2, ["s0", "s1"]),
            "empty": (4, []),
        },
    )
    made.cluster.settle()
    return made


def test_a_virtual_root_stands_above_all() -> None:
    cluster = world().cluster
    view = cluster.hypernodes.view(cluster)
    assert view.names == ["s0", "s1", "s2", "t0", "empty", ROOT]
    assert view.tiers == [1, 1, 1, 2, 4, 5]
    assert [view.names[number] for number in view.children[view.root]] == ["s2", "t0", "empty"]
    assert [rows.tolist() for rows in view.rows] == [[0, 1], [2], [3], [0, 1, 2], [], [0, 1, 2, 3, 4]]
    assert [view.names[number] for number in view.below(view.root)] == [ROOT, "s2", "t0", "empty", "s0", "s1"]


def test_without_hypernodes_the_root_has_tier_1() -> None:
    made = World()
    made.node("n0")
    made.cluster.settle()
    view = made.cluster.hypernodes.view(made.cluster)
    assert (view.names, view.tiers, view.by_tier[1].tolist()) == ([ROOT], [1], [0])


COMMON = [
    ("s0", "s1", "t0"),
    ("s0", "t0", "t0"),
    ("s0", "s0", "s0"),
    ("s0", "s2", ROOT),
    ("", "s1", "s1"),
    ("s1", "", "s1"),
    ("gone", "s1", "s1"),
    ("", "", ""),
]


@pytest.mark.parametrize(("left", "right", "expected"), COMMON)
def test_the_lowest_common_domain(left: str, right: str, expected: str) -> None:
    cluster = world().cluster
    assert cluster.hypernodes.view(cluster).common(left, right) == expected


def test_the_highest_domain_within_a_tier() -> None:
    cluster = world().cluster
    view = cluster.hypernodes.view(cluster)
    reached = {tier: view.highest_within(view.numbers["s0"], tier) for tier in range(6)}
    assert {tier: view.names[number] if number >= 0 else "" for tier, number in reached.items()} == {
        0: "", 1: "s0", 2: "t0", 3: "t0", 4: "t0", 5: ROOT,
    }  # fmt: skip


def test_totals_follow_what_is_placed_and_skip_empty_domains() -> None:
    made = world()
    view = made.cluster.hypernodes.view(made.cluster)
    assert view.amounts("allocatable")[0].tolist() == [3000, 3000, 4000, 6000, 0, 15000]
    assert view.idle[0].tolist() == [3000, 3000, 4000, 6000, 0, 15000]
    made.running("p", "n1", shape(500.0))
    assert view.idle[0].tolist() == [2500, 3000, 4000, 5500, 0, 14500]


def test_totals_grow_with_the_resources_that_are_named() -> None:
    made = world()
    view = made.cluster.hypernodes.view(made.cluster)
    assert len(view.idle) == 3
    made.cluster.learn({"example.com/fpga": 0.0})
    assert view.idle[3].tolist() == [0.0] * len(view)


def test_the_domain_of_a_node_is_that_of_the_lowest_tier() -> None:
    cluster = world().cluster
    view = cluster.hypernodes.view(cluster)
    assert [view.leaf_of(node) for node in cluster.nodes] == ["s0", "s0", "s1", "s2", ""]
    assert view.narrowest(np.array([0, 1])) == "s0"
    assert view.narrowest(np.array([0, 2])) == "t0"
    assert view.narrowest(np.array([0, 4])) == ROOT


def test_a_view_is_kept_until_the_tree_or_the_nodes_change() -> None:
    made = world()
    cluster = made.cluster
    first = cluster.hypernodes.view(cluster)
    assert cluster.hypernodes.view(cluster) is first
    made.node("n5")
    cluster.settle()
    second = cluster.hypernodes.view(cluster)
    assert second is not first
    cluster.hypernodes.set(hypernode("s3", 1, by_name("n5")))
    third = cluster.hypernodes.view(cluster)
    assert third.rows[third.numbers["s3"]].tolist() == [5]
    cluster.remove_node("n5")
    cluster.settle()
    assert cluster.hypernodes.view(cluster).rows[third.numbers["s3"]].tolist() == []
