from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.jsonpatch import PatchError, apply, equal, split, with_parents
from runtime.patches import Operation, add, pointer, remove, replace
from runtime.patches import test as check

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab~/01-", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/01-", max_size=3), inner, max_size=3),
    max_leaves=12,
)


def move(source: str, path: str) -> Operation:
    return {"op": "move", "from": source, "path": path}


def copied(source: str, path: str) -> Operation:
    return {"op": "copy", "from": source, "path": path}


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        pytest.param({"a": 1}, add("/b", 2), {"a": 1, "b": 2}, id="add a member"),
        pytest.param({"a": 1}, add("/a", 2), {"a": 2}, id="add over a member"),
        pytest.param({"a": 1}, add("", [3]), [3], id="add over the whole document"),
        pytest.param({"l": [1, 3]}, add("/l/1", 2), {"l": [1, 2, 3]}, id="insert into a list"),
        pytest.param({"l": [1]}, add("/l/1", 2), {"l": [1, 2]}, id="insert at the end by index"),
        pytest.param({"l": [1]}, add("/l/-", 2), {"l": [1, 2]}, id="append"),
        pytest.param({"l": [[1], [2]]}, add("/l/1/0", 0), {"l": [[1], [0, 2]]}, id="insert into a list in a list"),
        pytest.param({}, add("/", 1), {"": 1}, id="the empty name is a name"),
        pytest.param({"a": {"0": 1}}, add("/a/-", 2), {"a": {"0": 1, "-": 2}}, id="a dash is a name in an object"),
        pytest.param({"a/b": {"c~d": 1}}, replace("/a~1b/c~0d", 2), {"a/b": {"c~d": 2}}, id="escapes"),
        pytest.param({"~1": 1}, remove("/~01"), {}, id="an escaped tilde before a one"),
        pytest.param({"a": 1, "b": 2}, remove("/a"), {"b": 2}, id="remove a member"),
        pytest.param({"l": [1, 2, 3]}, remove("/l/1"), {"l": [1, 3]}, id="remove an element"),
        pytest.param({"a": None}, remove("/a"), {}, id="null is a value"),
        pytest.param({"l": [1, 2]}, replace("/l/0", None), {"l": [None, 2]}, id="replace an element"),
        pytest.param({"a": 1}, replace("", 7), 7, id="replace the whole document"),
        pytest.param({"a": {"b": 1}, "c": {}}, move("/a/b", "/c/d"), {"a": {}, "c": {"d": 1}}, id="move"),
        pytest.param({"l": [1, 2, 3]}, move("/l/0", "/l/2"), {"l": [2, 3, 1]}, id="move within a list"),
        pytest.param({"a": 1}, move("/a", "/a"), {"a": 1}, id="move to its own place"),
        pytest.param({"a": {"b": 1}}, move("/a/b", "/a"), {"a": 1}, id="move over its parent"),
        pytest.param({"a": 1, "ab": 2}, move("/a", "/ab"), {"ab": 1}, id="a longer name isn't inside a shorter"),
        pytest.param({"a": [1]}, copied("/a", "/b"), {"a": [1], "b": [1]}, id="copy"),
        pytest.param({"a": {"b": 1}}, copied("/a", "/a/c"), {"a": {"b": 1, "c": {"b": 1}}}, id="copy into itself"),
        pytest.param({"a": [1, {"b": 2.0}]}, check("/a", [1.0, {"b": 2}]), {"a": [1, {"b": 2.0}]}, id="test"),
    ],
)
def test_an_operation_does_what_the_standard_says(document: Any, operation: Operation, expected: Any) -> None:
    before = copy.deepcopy(document)

    assert apply(document, [operation]) == expected
    assert document == before, "the given document was changed"


@pytest.mark.parametrize(
    ("document", "operation", "message"),
    [
        ({}, add("/a/b", 1), "add '/a/b': there is no member 'a'"),
        ({"a": 1}, add("/a/b", 1), "add '/a/b': there is no object or list around 'b'"),
        ({"l": [1]}, add("/l/2", 1), "add '/l/2': index 2 is beyond the list of 1"),
        ({"l": [1]}, add("/l/01", 1), "add '/l/01': '01' is no list index"),
        ({"l": [1]}, add("/l/-1", 1), "add '/l/-1': '-1' is no list index"),
        ({"l": [1]}, add("/l/²", 1), "add '/l/²': '²' is no list index"),
        ({"l": [1]}, add("/l/", 1), "add '/l/': '' is no list index"),
        ({"l": [1]}, remove("/l/-"), "remove '/l/-': '-' is no list index"),
        ({"l": [1]}, replace("/l/1", 1), "replace '/l/1': index 1 is beyond the list of 1"),
        ({}, remove("/a"), "remove '/a': there is no member 'a'"),
        ({}, remove(""), "remove '': the whole document can't be removed"),
        ({}, replace("/a", 1), "replace '/a': there is no member 'a'"),
        ({"a": {"b": 1}}, move("/a", "/a/b/c"), "move '/a/b/c': '/a' can't be moved into itself"),
        ({}, move("/a", "/b"), "move '/b': there is no member 'a'"),
        ({"a": 1}, check("/a", True), "test '/a': the value is 1"),
        ({"a": [1, 2]}, check("/a", [1]), "test '/a': the value is [1,2]"),
        ({}, add("a", 1), "add 'a': JSON pointer 'a' must be empty or start with a slash"),
        ({"~": 1}, remove("/~"), "remove '/~': JSON pointer '/~' has a tilde that is neither ~0 nor ~1"),
        ({"~": 1}, remove("/~2"), "remove '/~2': JSON pointer '/~2' has a tilde that is neither ~0 nor ~1"),
        ({}, {"op": "add", "path": "/a"}, "add '/a': the operation has no 'value'"),
        ({}, {"op": "add", "value": 1}, "add None: the operation has no 'path'"),
        ({}, {"op": "move", "path": "/a"}, "move '/a': the operation has no 'from'"),
        ({}, {"op": "merge", "path": "/a"}, "{'op': 'merge', 'path': '/a'} is no known operation"),
        ({}, {}, "{} is no known operation"),
    ],
)
def test_an_operation_that_does_not_fit_says_why(document: Any, operation: Operation, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply(document, [operation])

    assert str(caught.value) == message


def test_operations_follow_each_other_and_fail_as_a_whole() -> None:
    document = {"a": 1}

    assert apply(document, [add("/b", {}), add("/b/c", 2), remove("/a")]) == {"b": {"c": 2}}
    with pytest.raises(PatchError):
        apply(document, [add("/b", 1), remove("/c")])
    assert document == {"a": 1}


@given(JSON, JSON)
def test_equality_is_that_of_json(left: Any, right: Any) -> None:
    assert equal(left, copy.deepcopy(left))
    assert equal(left, right) == equal(right, left)
    if equal(left, right):
        assert left == right
    assert not equal({"a": [left]}, {"a": [left, right]})


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(1, True, False), (0, False, False), (1, 1.0, True), ([1], [True], False), ({"a": 0}, {"a": False}, False)],
)
def test_a_number_is_no_boolean(left: Any, right: Any, expected: bool) -> None:  # a table's column
    assert equal(left, right) is expected


@given(st.lists(st.text("ab~/01-", max_size=4)))
def test_a_pointer_splits_into_the_parts_that_it_was_made_of(parts: list[str]) -> None:
    assert split(pointer(*parts)) == tuple(parts)


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        pytest.param(
            {},
            [add("/spec/weight", 1)],
            [add("/spec", {}), add("/spec/weight", 1)],
            id="one parent",
        ),
        pytest.param(
            {"a": {}},
            [add("/a/b/c/d", 1)],
            [add("/a/b", {}), add("/a/b/c", {}), add("/a/b/c/d", 1)],
            id="parents below what is there",
        ),
        pytest.param(
            {},
            [add("/a/b", 1), add("/a/c", 2)],
            [add("/a", {}), add("/a/b", 1), add("/a/c", 2)],
            id="made once",
        ),
        pytest.param({"spec": None}, [add("/spec/x", 1)], [add("/spec", {}), add("/spec/x", 1)], id="null is nothing"),
        pytest.param(
            {"l": [{}]}, [add("/l/0/a/b", 1)], [add("/l/0/a", {}), add("/l/0/a/b", 1)], id="inside a list element"
        ),
        pytest.param({}, [add("/a~1b/c~0d", 1)], [add("/a~1b", {}), add("/a~1b/c~0d", 1)], id="escaped names"),
        pytest.param(
            {"x": 1}, [move("/x", "/a/b")], [add("/a", {}), move("/x", "/a/b")], id="for the target of a move"
        ),
        pytest.param({"a": {}}, [add("/a/b", 1)], [add("/a/b", 1)], id="none is missing"),
        pytest.param({}, [add("/a", 1), remove("/a")], [add("/a", 1), remove("/a")], id="other operations pass"),
    ],
)
def test_missing_parents_are_added(document: Any, operations: list[Operation], expected: list[Operation]) -> None:
    assert list(with_parents(document, operations)) == expected


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        pytest.param({"a": 1}, add("/a/b/c", 1), id="a number in the way"),
        pytest.param({"l": []}, add("/l/0/a", 1), id="no such element"),
        pytest.param({}, replace("/a/b", 1), id="replace needs its target"),
        pytest.param({}, {"path": "/a"}, id="no operation"),
    ],
)
def test_what_no_parent_can_mend_is_an_error(document: Any, operation: Operation) -> None:
    with pytest.raises(PatchError):
        with_parents(document, [operation])
