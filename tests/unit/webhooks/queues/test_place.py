"""Where a queue may hang."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.scheduling.v1beta1 import Queue
from tests.unit.webhooks.queues.worlds import queue, tree
from webhooks.queues import place

CHAIN = (
    queue("root"),
    queue("par", "root"),
    queue("kid", "par"),
    queue("l2", "kid"),
    queue("l3", "l2"),
    queue("l4", "l3"),
    queue("busy", "root", pods="3"),
    queue("shared", "root", pods="3"),
    queue("first", "shared"),
    queue("x", "y"),
    queue("y", "x"),
    queue("lost", "gone"),
)


def told(new: Queue, deepest: int = 5) -> str:
    return place.problem(new, tree(*CHAIN, new), deepest)


@pytest.mark.parametrize(
    ("name", "parent", "expected"),
    [
        ("q", "", ""),
        ("q", "root", ""),
        ("q", "l3", ""),
        ("q", "l4", "queue q exceeds the maximum allowed depth of 5"),
        ("q", "q", "queue q cannot use itself as parent"),
        ("par", "kid", "queue par cannot be moved under its descendant kid"),
        ("par", "l4", "queue par cannot be moved under its descendant l4"),
        ("kid", "root", ""),
        ("busy", "l2", ""),
        ("kid", "first", "queue kid exceeds the maximum allowed depth of 5"),
        ("l3", "first", ""),
        (
            "q",
            "missing",
            'failed to get parent queue missing of queue q: queue.scheduling.volcano.sh "missing" not found',
        ),
        ("q", "lost", 'failed to get parent queue gone of queue q: queue.scheduling.volcano.sh "gone" not found'),
        ("q", "busy", "queue busy cannot be the parent queue of queue q because it has allocated Pods: 3"),
        ("q", "shared", ""),
        ("q", "x", "queue q cannot use x as parent: the queues above it form a circle (x -> y -> x)"),
        ("root", "", ""),
        ("root", "par", "root queue's parent must stay empty, but spec.parent is par"),
        ("root", "root", "root queue's parent must stay empty, but spec.parent is root"),
    ],
)
def test_a_parent_is_accepted_or_refused_in_known_words(name: str, parent: str, expected: str) -> None:
    assert told(queue(name, parent)) == expected


def test_a_root_that_does_not_exist_is_a_parent_all_the_same() -> None:
    new = queue("q", "root")
    assert place.problem(new, tree(new), 5) == ""
    child = queue("c", "q")
    assert place.problem(child, tree(new, child), 5) == ""


def test_a_queue_that_comes_back_brings_its_subtree() -> None:
    orphans = [queue("a", "q"), queue("b", "a"), queue("c", "b")]
    again = queue("q", "p")
    assert (
        place.problem(again, tree(queue("p"), again, *orphans), 4) == "queue q exceeds the maximum allowed depth of 4"
    )
    below = queue("q", "c")
    assert place.problem(below, tree(below, *orphans), 9) == "queue q cannot be moved under its descendant c"


@pytest.mark.parametrize(("pods", "counted"), [("1500m", "1500m"), ("0", "0"), ("1e1.5", "0")])
def test_allocated_pods_are_read_as_far_as_they_can_be(pods: str, counted: str) -> None:
    assert str(place.allocated_pods(queue("q", pods=pods))) == counted


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown", "Open", ""])
def test_a_parent_that_takes_nothing_is_told(state: str) -> None:
    new = queue("q", "p")
    told = place.warnings(new, tree(queue("p", state=state), new))
    text = f"spec.parent: queue `p` status is `{state}`: `q` takes no jobs until it is open"
    assert told == (() if state in {"", "Open"} else (text,))


names = st.sampled_from("abcdef")


@given(parents=st.dictionaries(names, names), name=names, parent=names)
def test_no_tree_keeps_the_walks_from_ending_and_none_that_is_accepted_has_a_circle(
    parents: dict[str, str], name: str, parent: str
) -> None:
    stored = [queue(each, above) for each, above in parents.items() if each != name]
    new = queue(name, parent)
    if place.problem(new, tree(*stored, new), 5) == "":
        way, current = [name], parent
        above = {each.metadata.name: each.spec.parent for each in stored}
        while current in above:
            assert current not in way
            way.append(current)
            current = above[current]
        assert len(way) <= 5
