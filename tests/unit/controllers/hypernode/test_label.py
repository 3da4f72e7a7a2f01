from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.hypernode.label import Hierarchy, LabelError, arrange, hierarchies, labels_of, random_suffix
from controllers.hypernode.settings import Source
from controllers.hypernode.wanted import changes
from generated.core.v1 import Node
from generated.topology.v1alpha1 import HyperNode
from tests.unit.controllers.hypernode.samples import SOURCE_LABEL, hypernode, node, shape

NET = (Hierarchy("net", ("rack", "row")),)


def counted() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"{next(numbers):05d}"


def made(nodes: Iterable[Node], existing: Iterable[HyperNode] = (), types: Any = NET) -> list[HyperNode]:
    return arrange(types, nodes, existing, counted())


def source(**types: list[str]) -> Source:
    levels = {name: [{"nodeLabel": label} for label in labels] for name, labels in types.items()}
    return Source("label", config={"networkTopologyTypes": levels})


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ({"net": ["row", "rack", "host"]}, (Hierarchy("net", ("rack", "row")),)),
        ({"b": ["x", "h"], "a": ["y", "h"]}, (Hierarchy("a", ("y",)), Hierarchy("b", ("x",)))),
        ({"a" * 20: ["x", "h"]}, (Hierarchy("a" * 20, ("x",)),)),
        ({"a" * 21: ["x", "h"]}, ()),
        ({"é" * 11: ["x", "h"]}, ()),
        ({"net": ["row", "row", "host"]}, ()),
        ({"net": ["", "host"]}, ()),
        ({"net": ["host"]}, (Hierarchy("net", ()),)),
        ({"net": []}, (Hierarchy("net", ()),)),
    ],
)
def test_types_are_read_bottom_up_without_their_last_label(
    types: dict[str, list[str]], expected: tuple[Hierarchy, ...]
) -> None:
    assert hierarchies(source(**types)) == expected


def test_what_is_no_list_of_labels_is_an_error() -> None:
    with pytest.raises(LabelError, match="failed to parse config of source label"):
        hierarchies(Source("label", config={"networkTopologyTypes": {"net": "row"}}))


def test_the_labels_that_count() -> None:
    assert labels_of(NET) == {"rack", "row"}


def test_nodes_of_a_rack_and_racks_of_a_row() -> None:
    found = made([node("n3", rack="b", row="x"), node("n2", rack="a", row="x"), node("n1", rack="a", row="x")])
    assert shape(found) == {
        "hypernode-net-tier1-00000": (1, ["n1", "n2"]),
        "hypernode-net-tier2-00001": (2, ["hypernode-net-tier1-00000", "hypernode-net-tier1-00002"]),
        "hypernode-net-tier1-00002": (1, ["n3"]),
    }
    first, second, _ = found
    assert first.metadata.labels == {"rack": "a", SOURCE_LABEL: "label"}
    assert (first.spec.tier_name, first.spec.members[0].type) == ("rack", "Node")
    assert (second.spec.tier_name, second.spec.members[0].type) == ("row", "HyperNode")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("n", row="x")], {}),
        ([node("n", rack="a")], {"hypernode-net-tier1-00000": (1, ["n"])}),
        ([node("n")], {}),
        ([node("n", rack="")], {"hypernode-net-tier1-00000": (1, ["n"])}),
        ([], {}),
    ],
    ids=["upper tier only", "lower tier only", "no label", "an empty value", "no node"],
)
def test_a_missing_label_ends_the_way_up(nodes: list[Node], expected: dict[str, Any]) -> None:
    assert shape(made(nodes)) == expected


@pytest.mark.parametrize(
    ("existing", "name"),
    [
        (hypernode("hypernode-net-tier1-old", 1, source="label", rack="a"), "hypernode-net-tier1-old"),
        (hypernode("hypernode-net-tier1-old", 1, source="label", rack="b"), "hypernode-net-tier1-00000"),
        (hypernode("hypernode-net-tier1-old", 1, source="ufm", rack="a"), "hypernode-net-tier1-00000"),
        (hypernode("hypernode-net-tier1-old", 1, rack="a"), "hypernode-net-tier1-00000"),
        (hypernode("hypernode-net-tier10-old", 1, source="label", rack="a"), "hypernode-net-tier1-00000"),
        (hypernode("hypernode-other-tier1-old", 1, source="label", rack="a"), "hypernode-net-tier1-00000"),
        (hypernode("hypernode-net-tier1-00000", 1), "hypernode-net-tier1-00001"),
    ],
    ids=["found", "another value", "another source", "a user's", "another tier", "another type", "name taken"],
)
def test_a_name_is_found_again_by_its_labels(existing: HyperNode, name: str) -> None:
    assert list(shape(made([node("n", rack="a")], [existing]))) == [name]


def test_of_several_names_the_smallest_is_kept() -> None:
    existing = [hypernode(f"hypernode-net-tier1-{end}", 1, source="label", rack="a") for end in "cab"]
    assert list(shape(made([node("n", rack="a")], existing))) == ["hypernode-net-tier1-a"]


def test_two_types_with_one_label_have_their_own_hypernodes() -> None:
    types = (Hierarchy("A", ("rack",)), Hierarchy("a", ("rack",)))
    existing = [hypernode("hypernode-a-tier1-old", 1, source="label", rack="x")]
    assert shape(made([node("n", rack="x")], existing, types)) == {
        "hypernode-a-tier1-old": (1, ["n"]),
        "hypernode-a-tier1-00000": (1, ["n"]),
    }


def test_names_run_out() -> None:
    with pytest.raises(LabelError, match=r"no free name hypernode-net-tier1-\* was found in 20 tries"):
        arrange(NET, [node("n", rack="a")], [hypernode("hypernode-net-tier1-x", 1)], lambda: "x")


def test_names_end_in_five_characters() -> None:
    assert len(random_suffix()) == 5
    assert random_suffix().isalnum()


racks = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), st.booleans(), st.booleans()), max_size=12)


@given(racks, racks, st.randoms())
def test_what_was_made_is_found_again_whatever_the_order(before: Any, after: Any, random: Any) -> None:
    def nodes(of: Any) -> list[Node]:
        found = [
            node(f"n{i}", **({"rack": rack} if has_rack else {}), **({"row": row} if has_row else {}))
            for i, (rack, row, has_rack, has_row) in enumerate(of)
        ]
        random.shuffle(found)
        return found

    first = arrange(NET, nodes(before), [])
    again = arrange(NET, nodes(before), first)
    assert not changes(again, first, "label")
    second = arrange(NET, nodes(after), first)
    assert not changes(arrange(NET, nodes(after), second), second, "label")
    assert len({each.metadata.name for each in second}) == len(second)
