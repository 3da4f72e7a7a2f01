from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import hypernodes
from api.hypernodes import HyperNodeTree, MemberIndex, build_tree
from generated.topology.v1alpha1 import HyperNode
from tests.unit.api.effort import effort

NODES = {
    "node1": {"zone": "east"},
    "node2": {},
    "node3": {"other": "x"},
    "node4": {"zone": "west"},
}


def exact(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def regex(pattern: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"regexMatch": {"pattern": pattern}}}


def labels(kind: str = "Node", **selector: Any) -> dict[str, Any]:
    return {"type": kind, "selector": {"labelMatch": selector}}


def hypernode(name: str, *members: dict[str, Any], tier: int = 1, tier_name: str = "") -> HyperNode:
    spec = {"tier": tier, "tierName": tier_name, "members": members}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, HyperNode)


def parent(name: str, *children: str, tier: int = 2) -> HyperNode:
    return hypernode(name, *(exact(child, "HyperNode") for child in children), tier=tier)


EAST = labels(matchLabels={"zone": "east"})

SELECTED = [
    ("by name", [exact("node1")], {"node1"}),
    ("by pattern, anywhere in the name", [regex("e[13]")], {"node1", "node3"}),
    ("by anchored pattern", [regex("^node$")], set()),
    ("by label", [EAST], {"node1"}),
    ("by expression", [labels(matchExpressions=[{"key": "zone", "operator": "Exists"}])], {"node1", "node4"}),
    ("an empty label selector means nothing", [labels()], set()),
    ("no selector means nothing", [{"type": "Node"}], set()),
    ("members unite", [exact("node2"), regex("4"), EAST], {"node1", "node2", "node4"}),
    ("children are no nodes", [exact("node1", "HyperNode"), regex(".", "HyperNode")], set()),
    (
        "several selectors in one member unite",
        [{"type": "Node", "selector": {**exact("node2")["selector"], **regex("4")["selector"]}}],
        {"node2", "node4"},
    ),
]

SPOILT = [
    (exact(""), "spec.members[0].selector: exactMatch.name is empty"),
    (regex("(["), "regexMatch.pattern '([': error parsing regexp: missing closing ]: `[`"),
    (labels(matchExpressions=[{"key": "zone", "operator": "Wrong"}]), "labelMatch: unknown operator 'Wrong'"),
    (
        {"type": "Node", "selector": {**exact("node1")["selector"], **regex("([")["selector"]}},
        "error parsing regexp",
    ),
    ({"type": "Node", "selector": {**exact("")["selector"], **regex(".")["selector"]}}, "exactMatch.name is empty"),
]


@pytest.mark.parametrize(("members", "expected"), [case[1:] for case in SELECTED], ids=[case[0] for case in SELECTED])
def test_members_select_nodes(members: list[dict[str, Any]], expected: set[str]) -> None:
    index = MemberIndex([hypernode("h", *members)])
    assert index.select(NODES) == {"h": expected}
    assert {name for name, held in NODES.items() if "h" in index.owners(name, held)} == expected


@pytest.mark.parametrize(("member", "problem"), SPOILT)
def test_a_bad_member_selects_nothing_and_leaves_the_others_alone(member: dict[str, Any], problem: str) -> None:
    spoilt = hypernode("h", member, exact("node4"))
    assert MemberIndex([spoilt]).select(NODES) == {"h": {"node4"}}
    assert problem in hypernodes.members_of(spoilt).problems[0]
    assert hypernodes.count_members(spoilt, NODES) == 1


def test_names_are_not_checked_for_existence() -> None:
    index = MemberIndex([hypernode("h", exact("gone"), exact("node1"))])
    assert index.names("h") == {"gone", "node1"}
    assert index.select(NODES) == {"h": {"node1"}}
    assert index.owners("gone", {}) == {"h"}


@pytest.mark.parametrize(
    ("members", "count"),
    [
        ([exact("master"), EAST, regex("node[1-3]")], 4),
        ([exact("a", "HyperNode"), exact("b", "HyperNode"), exact("a", "HyperNode")], 2),
        ([regex("node")], 4),
        ([], 0),
    ],
)
def test_node_count_takes_members_of_both_types(members: list[dict[str, Any]], count: int) -> None:
    assert hypernodes.count_members(hypernode("h", *members), NODES) == count


def test_new_nodes_matter_to_patterns_and_labels_only() -> None:
    def is_dynamic(*members: dict[str, Any]) -> bool:
        return hypernodes.members_of(hypernode("h", *members), kind="Node").is_dynamic

    assert is_dynamic(exact("a"), regex("x"))
    assert is_dynamic(EAST, exact("b", "HyperNode"))
    assert not is_dynamic(exact("a"))
    assert not is_dynamic(regex("x", "HyperNode"))
    assert not is_dynamic(labels())


@given(st.lists(st.lists(st.sampled_from(["^a", "b$", "[ab]c", "c+", "a|b"]), max_size=3), max_size=4))
def test_an_index_agrees_with_matching_one_by_one(patterns: list[list[str]]) -> None:
    nodes: dict[str, dict[str, str]] = {name: {} for name in ("a", "ab", "ac", "bc", "cc", "d")}
    made = [hypernode(str(number), *map(regex, several)) for number, several in enumerate(patterns)]
    expected = {
        str(number): {node for node in nodes if any(re.search(pattern, node) for pattern in several)}
        for number, several in enumerate(patterns)
    }
    assert MemberIndex(made).select(nodes) == expected


def fabric() -> HyperNodeTree:
    return build_tree(
        [
            hypernode("s0", exact("node1"), tier_name="rack"),
            hypernode("s1", regex("node[23]"), tier_name="rack"),
            parent("s4", "s0", "s1", "s0", tier=2),
            hypernode("s2", tier=1),
            parent("s5", "s2", "gone", tier=2),
            parent("s6", "s4", "s5", tier=3),
            hypernode("alone", tier=1),
        ]
    )


def test_the_tree_links_what_exists() -> None:
    tree = fabric()
    assert tree.is_ready
    assert tree.parents == {"s0": "s4", "s1": "s4", "s2": "s5", "s4": "s6", "s5": "s6"}
    assert tree.children == {"s4": ("s0", "s1"), "s5": ("s2",), "s6": ("s4", "s5")}
    assert tree.tiers["s6"] == 3
    assert tree.tier_names == {"rack": 1}
    assert tree.ancestors("s0") == ("s0", "s4", "s6")
    assert tree.ancestors("alone") == ("alone",)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("s0", "s1", "s4"),
        ("s0", "s2", "s6"),
        ("s0", "s0", "s0"),
        ("s0", "s4", "s4"),
        ("s4", "s0", "s4"),
        ("s0", "alone", ""),
        ("", "s0", "s0"),
        ("s0", "", "s0"),
        ("", "", ""),
    ],
)
def test_the_lowest_common_ancestor(left: str, right: str, expected: str) -> None:
    assert fabric().lowest_common_ancestor(left, right) == expected


def test_real_nodes_are_collected_upwards() -> None:
    nodes = fabric().real_nodes({"s0": {"n1"}, "s1": {"n2", "n3"}, "s4": {"n9"}, "s2": {"n1"}})
    assert nodes["s4"] == {"n1", "n2", "n3", "n9"}
    assert nodes["s6"] == {"n1", "n2", "n3", "n9"}
    assert nodes["s5"] == {"n1"}
    assert nodes["alone"] == set()


def test_a_second_parent_is_refused_to_the_later_claimant() -> None:
    tree = build_tree([hypernode("c"), parent("p", "c"), parent("q", "c")])
    assert tree.parents == {"c": "p"}
    assert tree.errors == {"q": "HyperNode c already has a parent p, and cannot set another parent q"}
    assert not tree.is_ready


@pytest.mark.parametrize(
    ("several", "errors"),
    [
        ([parent("a", "a")], {"a": "HyperNode a is already in the ancestor chain [a]"}),
        ([parent("a", "b"), parent("b", "a")], {"b": "HyperNode a is already in the ancestor chain [a b]"}),
        (
            [parent("c", "a"), parent("a", "b"), parent("b", "c")],
            {"b": "HyperNode c is already in the ancestor chain [a b c]"},
        ),
    ],
)
def test_a_circle_is_cut_at_the_claim_that_closes_it(several: list[HyperNode], errors: dict[str, str]) -> None:
    tree = build_tree(several)
    assert dict(tree.errors) == {name: f"cyclic dependency detected: {text}" for name, text in errors.items()}


def ladder(size: int) -> list[HyperNode]:
    """Each HyperNode above the next one, the topmost first, and each claiming the topmost as well."""
    return [parent(f"h{step:04}", f"h{step + 1:04}", "h0000") for step in range(size)]


@pytest.mark.parametrize("order", [1, -1])
def test_a_deep_tree_is_built_in_time_that_grows_with_its_size(order: int) -> None:
    small, large = ladder(200)[::order], ladder(800)[::order]
    assert effort(lambda: build_tree(large)) < 5 * effort(lambda: build_tree(small))


def test_the_message_of_a_long_circle_names_its_beginning() -> None:
    tree = build_tree(ladder(100))
    assert len(tree.parents) == 99
    assert set(tree.errors) == {f"h{step:04}" for step in range(100)}
    shown = " ".join(f"h{step:04}" for step in range(68, 100))
    assert tree.errors["h0099"] == (
        f"cyclic dependency detected: HyperNode h0000 is already in the ancestor chain [{shown} ...]"
    )


def test_who_claims_a_child_of_a_far_relative_is_told_of_its_parent() -> None:
    several = [parent(f"h{step:04}", f"h{step + 1:04}") for step in range(100)] + [hypernode("h0100")]
    several.append(parent("other", "h0050"))
    assert build_tree(several).errors == {
        "other": "HyperNode h0050 already has a parent h0049, and cannot set another parent other"
    }
    far = build_tree([*several[:-2], parent("h0100", "h0050")])
    assert far.errors == {"h0100": "HyperNode h0050 already has a parent h0049, and cannot set another parent h0100"}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from([*"abcdef", "gone"]), max_size=4), min_size=1)
)
def test_any_claims_give_a_forest(claims: dict[str, list[str]]) -> None:
    tree = build_tree([parent(name, *children) for name, children in claims.items()])
    assert sorted(tree.upwards()) == sorted(claims)
    for name in claims:
        chain = tree.ancestors(name)
        assert len(set(chain)) == len(chain)
    for name, held in tree.children.items():
        assert all(tree.parents[child] == name for child in held)
    met = {(name, child) for name, held in tree.children.items() for child in held}
    wanted = {(name, child) for name, several in claims.items() for child in several if child in claims}
    assert {name for name, _ in wanted - met} == set(tree.errors)
