from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.defaulting import Node, apply, fill

PORT = Node(values={"protocol": "TCP"})
SPEC = Node(
    values={"queue": "default", "extra": {"deep": {}}},
    properties={"ports": Node(items=PORT), "byName": Node(additional=PORT), "extra": Node(properties={"deep": PORT})},
)
ROOT = Node(properties={"spec": SPEC})

CASES: list[tuple[str, Any, Any]] = [
    ("nothing outside present objects", {}, {}),
    ("an absent property", {"spec": {"extra": {}}}, {"spec": {"extra": {}, "queue": "default"}}),
    ("a null property", {"spec": {"queue": None, "extra": {}}}, {"spec": {"extra": {}, "queue": "default"}}),
    ("a null without default", {"spec": None, "x": None}, {}),
    ("a given zero stays", {"spec": {"queue": "", "extra": {}}}, {"spec": {"extra": {}, "queue": ""}}),
    ("each item", {"spec": {"ports": [{}, {"protocol": "UDP"}], "extra": {}}},
     {"spec": {"ports": [{"protocol": "TCP"}, {"protocol": "UDP"}], "extra": {}, "queue": "default"}}),
    ("each map value", {"spec": {"byName": {"a": {}}, "extra": {}}},
     {"spec": {"byName": {"a": {"protocol": "TCP"}}, "extra": {}, "queue": "default"}}),
    ("inside a default", {"spec": {}}, {"spec": {"queue": "default", "extra": {"deep": {"protocol": "TCP"}}}}),
    ("null items stay", {"spec": {"ports": [None], "extra": {}}}, {"spec": {"ports": [None], "extra": {}, "queue": "default"}}),
    ("unknown parts stay", {"other": {"a": [{"b": 1}]}}, {"other": {"a": [{"b": 1}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_defaults_are_the_servers(value: Any, expected: Any) -> None:
    before = copy.deepcopy(value)
    assert apply(value, ROOT) == expected
    assert value == before


def test_no_two_objects_share_a_default() -> None:
    first, second = apply({"spec": {}}, ROOT), apply({"spec": {}}, ROOT)
    first["spec"]["extra"]["deep"]["protocol"] = "changed"
    assert second["spec"]["extra"]["deep"]["protocol"] == "TCP"
    assert apply({"spec": {}}, ROOT) == second


JSON = st.recursive(
    st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["spec", "ports", "queue", "extra", "x"]), inner),
)


@given(JSON)
def test_defaulting_twice_changes_nothing(value: Any) -> None:
    once = apply(value, ROOT)
    assert apply(once, ROOT) == once


@given(JSON)
def test_what_is_given_survives(value: Any) -> None:
    assert _contains(apply(value, ROOT), value)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return all(key in whole and _contains(whole[key], item) for key, item in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(_contains, whole, part))
    return bool(whole == part)


class Spec(msgspec.Struct, frozen=True, omit_defaults=True):
    queue: str | None = None
    ports: tuple[dict[str, str], ...] = ()


class Root(msgspec.Struct, frozen=True, omit_defaults=True):
    spec: Spec = Spec()


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (Root(), Root()),
        (Root(spec=Spec(queue="q", ports=({},))), Root(spec=Spec(queue="q", ports=({"protocol": "TCP"},)))),
        (msgspec.json.decode(b'{"spec":{}}', type=Root), Root(spec=Spec(queue="default"))),
    ],
)
def test_an_object_is_filled(given_: Root, expected: Root) -> None:
    assert fill(given_, ROOT) == expected
