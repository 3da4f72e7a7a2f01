"""Changes of a flow's entry over its template."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.jobflow.merging import merge

BASE = {
    "queue": "q",
    "minAvailable": 2,
    "tasks": [
        {
            "name": "a",
            "replicas": 1,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}], "args": ["x", "y"]}
                    ],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                }
            },
        },
        {"name": "b", "replicas": 1},
    ],
    "volumes": [{"mountPath": "/d", "volumeClaimName": "old"}],
    "plugins": {"svc": [], "ssh": []},
}


def changed(**changes: Any) -> dict[str, Any]:
    return merge(BASE, changes)


@pytest.mark.parametrize(
    ("changes", "path", "expected"),
    [
        ({"queue": "r"}, ("queue",), "r"),
        ({"queue": None}, ("queue",), None),
        ({"minAvailable": 0}, ("minAvailable",), 0),
        ({"tasks": [{"name": "b", "replicas": 5}]}, ("tasks", 1), {"name": "b", "replicas": 5}),
        ({"tasks": [{"name": "n"}]}, ("tasks", 2), {"name": "n"}),
        ({"plugins": {"svc": ["--x"]}}, ("plugins",), {"svc": ["--x"], "ssh": []}),
        ({"plugins": {"svc": None}}, ("plugins",), {"ssh": []}),
        (
            {"volumes": [{"mountPath": "/d", "volumeClaimName": "new"}]},
            ("volumes",),
            [{"mountPath": "/d", "volumeClaimName": "new"}],
        ),
    ],
)
def test_a_change_reaches_its_place_and_no_other(changes: dict[str, Any], path: tuple[Any, ...], expected: Any) -> None:
    found: Any = changed(**changes)
    for step in path:
        found = found[step] if isinstance(found, list) else found.get(step)
    assert found == expected
    rest = {name: value for name, value in BASE.items() if name not in changes}
    assert {name: changed(**changes)[name] for name in rest} == rest


def test_items_deep_in_a_pod_are_merged_by_their_names() -> None:
    container = {"name": "c", "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}], "args": ["z"]}
    task = {"name": "a", "template": {"spec": {"containers": [container, {"name": "side"}]}}}
    spec = changed(tasks=[task])["tasks"][0]["template"]["spec"]
    assert spec["containers"] == [
        {
            "name": "c",
            "image": "i",
            "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}],
            "args": ["z"],
        },
        {"name": "side"},
    ]
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_a_list_with_an_item_that_has_no_name_is_replaced() -> None:
    assert changed(tasks=[{"replicas": 1}])["tasks"] == [{"replicas": 1}]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tasks", "name", "env", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["tasks", "name", "env", "x", "volumes"]), _JSON, max_size=4)


@given(_OBJECTS, _OBJECTS)
def test_merging_changes_nothing_in_place_and_twice_is_once(base: dict[str, Any], changes: dict[str, Any]) -> None:
    before = msgspec.json.encode([base, changes])
    once = merge(base, changes)
    assert msgspec.json.encode([base, changes]) == before
    assert merge(once, changes) == once
