from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bodies import encode, encode_object, read_head
from tests.things import THINGS, Meta, Thing, ThingSpec

TYPED = {"apiVersion": "example.org/v1", "kind": "Thing"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (Thing(), TYPED),
        (Thing(spec=ThingSpec(size=1)), {**TYPED, "spec": {"size": 1}}),
        (Thing(api_version="example.org/v1", kind="Thing"), TYPED),
        (Thing(kind="Thing", metadata=Meta(name="a")), {**TYPED, "metadata": {"name": "a"}}),
        ({}, TYPED),
        ({"metadata": {"name": "a"}, "kind": "Thing"}, {**TYPED, "metadata": {"name": "a"}}),
        (b'{"spec": {"size": 1}}', {**TYPED, "spec": {"size": 1}}),
        (b" \n{ }", TYPED),
        (b'{"kind":"Thing","apiVersion":"example.org/v1"}', TYPED),
    ],
)
def test_every_form_of_body_carries_its_type(body: Any, expected: dict[str, Any]) -> None:
    text, _ = encode_object(THINGS, body)
    assert msgspec.json.decode(text) == expected
    assert text.count(b'"kind"') == 1
    assert text.count(b'"apiVersion"') == 1


def test_a_body_that_names_its_type_is_sent_as_it_is() -> None:
    body = b'{"kind":"Thing",  "apiVersion":"example.org/v1", "future": 1}'
    assert encode_object(THINGS, body)[0] is body


@pytest.mark.parametrize(
    ("body", "metadata"),
    [
        ({}, {"name": "a"}),
        ({"metadata": {"labels": {"x": "y"}}}, {"labels": {"x": "y"}, "name": "a"}),
        ({"metadata": {"name": "own"}}, {"name": "own"}),
        (Thing(), {"name": "a"}),
    ],
)
def test_a_name_is_put_in_where_there_is_none(body: Any, metadata: dict[str, Any]) -> None:
    text, _ = encode_object(THINGS, body, "a")
    assert msgspec.json.decode(text) == {**TYPED, "metadata": metadata}


def test_fields_that_no_model_knows_survive_in_raw_bodies() -> None:
    text, _ = encode_object(THINGS, b'{"spec":{"invented":[1,null]}}')
    assert msgspec.json.decode(text)["spec"] == {"invented": [1, None]}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"kind": "Job"}, "Job"),
        ({"apiVersion": "v1"}, "v1"),
        (b'{"kind":"Thing","apiVersion":"other/v1"}', "other/v1 Thing"),
    ],
)
def test_an_object_of_another_kind_is_refused_with_both_names(body: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"is a {named}, expected example.org/v1 Thing"):
        encode_object(THINGS, body)


@pytest.mark.parametrize("body", [b"[]", b"", b"nonsense", b'"text"', b'{"kind":3}', [1]])
def test_what_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes object"):
        encode_object(THINGS, body)


def test_the_head_tells_type_and_identity() -> None:
    body = Thing(kind="Thing", metadata=Meta(name="a", namespace="n", uid="u", resource_version="7"))
    head = read_head(body)
    assert (head.kind, head.metadata.name, head.metadata.namespace) == ("Thing", "a", "n")
    assert (head.metadata.uid, head.metadata.resource_version) == ("u", "7")


def test_bytes_are_json_already() -> None:
    assert encode(b'{"a" : 1}') == b'{"a" : 1}'
    assert encode({"a": 1}) == b'{"a":1}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text().filter(lambda key: key not in ("apiVersion", "kind", "metadata")), json_values))
def test_splicing_adds_the_type_and_changes_nothing_else(body: dict[str, Any]) -> None:
    text, _ = encode_object(THINGS, body)
    assert msgspec.json.decode(text) == {**TYPED, **body}
