from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.hypernode.fabric import Port, arrange, groups
from controllers.hypernode.wanted import changes
from generated.topology.v1alpha1 import HyperNode
from tests.unit.controllers.hypernode.samples import SOURCE_LABEL, hypernode, shape


def port(leaf: str | None, node: str | None, description: str | None = "Computer IB Port") -> Port:
    return Port(description=description, peer_node_name=leaf, system_name=node)


def sets(*texts: str) -> list[frozenset[str]]:
    return [frozenset(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([], []),
        ([port("l1", "a"), port("l1", "b")], ["a b"]),
        ([port("l2", "a"), port("l1", "b")], ["b", "a"]),
        ([port("l1", "a"), port("l2", "b"), port("l2", "a")], ["a b"]),
        ([port("l1", "a"), port("l3", "c"), port("l2", "b"), port("l2", "c")], ["a", "b c"]),
        ([port("l1", "a", "Switch IB Port"), port("l1", "b", None), port("l1", "c")], ["c"]),
        ([port("", "a"), port("l", ""), port(None, "b"), port("l", None)], []),
    ],
    ids=["none", "one leaf", "by leaf name", "joined by a node", "two groups", "no computers", "nameless"],
)
def test_leaves_that_share_nodes_are_one_group(ports: list[Port], expected: list[str]) -> None:
    assert groups(ports) == sets(*expected)


def test_a_fabric_becomes_leaves_and_a_spine() -> None:
    found = arrange(sets("b a", "c"), [])
    assert shape(found) == {
        "leaf-hn-0": (1, ["a", "b"]),
        "leaf-hn-1": (1, ["c"]),
        "spine-hn": (2, ["leaf-hn-0", "leaf-hn-1"]),
    }
    assert all(each.metadata.labels == {SOURCE_LABEL: "ufm"} for each in found)
    assert arrange([], []) == []


def leaf(number: int, *members: str, source: str = "ufm") -> HyperNode:
    return hypernode(f"leaf-hn-{number}", 1, *members, source=source)


@pytest.mark.parametrize(
    ("found", "existing", "names"),
    [
        (sets("x", "a b"), [leaf(0, "a", "b")], ["leaf-hn-1", "leaf-hn-0"]),
        (sets("a", "b c"), [leaf(0, "a", "b", "c")], ["leaf-hn-1", "leaf-hn-0"]),
        (sets("a b c"), [leaf(0, "a"), leaf(1, "b", "c")], ["leaf-hn-1"]),
        (sets("a", "b"), [leaf(7, "a"), leaf(3, "b")], ["leaf-hn-7", "leaf-hn-3"]),
        (sets("a"), [leaf(0, "a", source="other")], ["leaf-hn-1"]),
        (sets("a"), [leaf(0, "a", source="")], ["leaf-hn-1"]),
    ],
    ids=["a switch before it", "split", "joined", "any numbers", "another source", "a user's"],
)
def test_a_leaf_keeps_its_name_while_most_of_its_nodes_stay(
    found: list[frozenset[str]], existing: list[HyperNode], names: list[str]
) -> None:
    assert [each.metadata.name for each in arrange(found, existing)] == [*names, "spine-hn"]


links = st.lists(st.tuples(st.sampled_from("lmnop"), st.sampled_from("abcdefgh")), max_size=16)


@given(links, links)
def test_what_was_made_is_found_again(before: Any, after: Any) -> None:
    first = arrange(groups(port(*link) for link in before), [])
    assert not changes(arrange(groups(port(*link) for link in reversed(before)), first), first, "ufm")
    second = arrange(groups(port(*link) for link in after), first)
    assert len({each.metadata.name for each in second}) == len(second)
    assert not changes(arrange(groups(port(*link) for link in after), second), second, "ufm")


@given(links)
def test_groups_cover_each_node_once(found: Any) -> None:
    nodes = [node for group in groups(port(*link) for link in found) for node in group]
    assert sorted(nodes) == sorted({node for _, node in found})
