from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import names, queues
from api.queues import Ancestry, Level, QueueTree
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue, QueueSpec

NAMES = [*"abcdefgh", "root"]
FORESTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", "missing", *NAMES]))


def tree(parents: dict[str, str], *, orphans_under_root: bool = True) -> QueueTree:
    made = [Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(parent=parent)) for name, parent in parents.items()]
    return QueueTree(made, orphans_under_root=orphans_under_root)


COMPANY = {"root": "", "sales": "root", "lab": "root", "l1": "lab", "l2": "l1", "l3": "l1"}


def test_children_are_listed_by_name() -> None:
    company = tree(COMPANY)
    assert company.children("root") == ("lab", "sales")
    assert company.children("l1") == ("l2", "l3")
    assert company.children("l3") == company.children("nobody") == ()
    assert company.is_leaf("sales")
    assert not company.is_leaf("lab")


@pytest.mark.parametrize(
    ("name", "parent", "ancestors"),
    [
        ("root", "", ()),
        ("sales", "root", ("root",)),
        ("l3", "l1", ("l1", "lab", "root")),
        ("nobody", "", ()),
    ],
)
def test_the_way_up(name: str, parent: str, ancestors: tuple[str, ...]) -> None:
    company = tree(COMPANY)
    assert company.parent(name) == parent
    assert company.ancestry(name) == Ancestry(ancestors)


def test_an_orphan_belongs_to_root_or_to_nobody() -> None:
    parents = {"root": "", "a": ""}
    assert tree(parents).children("root") == ("a",)
    assert tree(parents).ancestry("a") == Ancestry(("root",))
    for_admission = tree(parents, orphans_under_root=False)
    assert for_admission.children("root") == ()
    assert for_admission.ancestry("a") == Ancestry(())


def test_a_missing_parent_ends_the_way_up() -> None:
    assert tree({"a": "b", "b": "gone"}).ancestry("a") == Ancestry(("b",), missing="gone")
    assert tree({"a": ""}).ancestry("a") == Ancestry((), missing="root")
    assert tree({"a": "gone"}).children("gone") == ("a",)


def test_a_circle_ends_the_way_up() -> None:
    circle = tree({"a": "b", "b": "c", "c": "a", "d": "a"})
    assert circle.ancestry("a") == Ancestry(("b", "c"), has_cycle=True)
    assert circle.ancestry("d") == Ancestry(("a", "b", "c"), has_cycle=True)
    assert tree({"a": "a"}).ancestry("a") == Ancestry((), has_cycle=True)
    assert set(circle.descendants("a")) == {"b", "c", "d"}


def test_the_parent_of_root_is_ignored() -> None:
    odd = tree({"root": "a", "a": "root"})
    assert odd.parent("root") == ""
    assert odd.children("a") == ()
    assert odd.ancestry("a") == Ancestry(("root",))


@pytest.mark.parametrize(
    ("name", "depth", "height"), [("root", 0, 3), ("sales", 1, 0), ("lab", 1, 2), ("l1", 2, 1), ("l3", 3, 0)]
)
def test_levels_above_and_below(name: str, depth: int, height: int) -> None:
    company = tree(COMPANY)
    assert (company.depth(name), company.height(name)) == (depth, height)


def test_depth_counts_from_below_root() -> None:
    chain = tree({"par": "root", "kid": "par", "l2": "kid", "l3": "l2", "l4": "l3", "new": "l3", "newer": "l4"})
    assert (chain.depth("new"), chain.depth("newer")) == (5, 6)


@pytest.mark.parametrize(
    ("name", "parent", "cycles"),
    [("lab", "l3", True), ("lab", "lab", True), ("lab", "sales", False), ("l3", "lab", False), ("new", "l3", False)],
)
def test_a_queue_cannot_move_below_itself(name: str, parent: str, cycles: bool) -> None:
    assert tree(COMPANY).would_cycle(name, parent) is cycles


@given(FORESTS, st.booleans())
def test_every_walk_ends_and_agrees_with_the_others(parents: dict[str, str], under_root: bool) -> None:
    forest = tree(parents, orphans_under_root=under_root)
    for name in parents:
        below = list(forest.descendants(name))
        assert len(below) == len(set(below))
        assert name not in below
        for other in below:
            assert name in forest.ancestry(other).ancestors
        for child in forest.children(name):
            assert forest.parent(child) == name
            assert child == name or child in below
        assert 0 <= forest.height(name) <= len(parents)
        assert forest.depth(name) <= len(parents) + 1
        up = forest.ancestry(name)
        assert len(set(up.ancestors)) == len(up.ancestors)


@pytest.mark.parametrize(
    ("path", "weights", "expected"),
    [
        (None, None, [("", 1)]),
        ("root/eng/dev", "100/50/1.5", [("root", 100), ("eng", 50), ("dev", 1.5)]),
        ("root/eng/dev", "100", [("root", 100), ("eng", 1), ("dev", 1)]),
        ("root", "1/2/3", [("root", 1)]),
        ("root/a/b", "x/0.5/-3", [("root", 1), ("a", 1), ("b", 1)]),
        ("root/a/b", "nan/inf/", [("root", 1), ("a", 1), ("b", 1)]),
        ("a/b", None, [("a", 1), ("b", 1)]),
    ],
)
def test_weights_that_make_no_sense_count_as_one(
    path: str | None, weights: str | None, expected: list[tuple[str, float]]
) -> None:
    given_annotations = {names.HIERARCHY_ANNOTATION: path, names.HIERARCHY_WEIGHTS_ANNOTATION: weights}
    annotations = {key: value for key, value in given_annotations.items() if value is not None}
    assert queues.hierarchy(annotations) == tuple(Level(*level) for level in expected)
