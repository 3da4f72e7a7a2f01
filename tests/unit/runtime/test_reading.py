from __future__ import annotations

import pytest

from runtime.errors import DecodeError
from runtime.reading import head_of, read_object
from tests.things import THINGS, ZONES, Thing, ThingSpec
from tests.unit.runtime.nested import DEEP, TOO_DEEP


def test_an_object_is_read_into_its_model() -> None:
    assert read_object(THINGS, b'{"spec":{"size":3}}') == Thing(spec=ThingSpec(size=3))


def test_a_null_for_an_empty_value_is_no_error() -> None:
    assert read_object(THINGS, b'{"spec":{"tags":null}}') == Thing()


@pytest.mark.parametrize(
    ("text", "message", "field"),
    [
        (
            b'{"metadata":{"name":"a","namespace":"n"},"spec":{"size":"3"}}',
            "Thing n/a: spec.size: Expected `int`, got `str`",
            "spec.size",
        ),
        (b'{"spec":{"tags":["x",2]}}', "Thing (no name): spec.tags[1]: Expected `str`, got `int`", "spec.tags[1]"),
        (b"[]", "Thing (no name): Expected `object`, got `array`", ""),
        (b'{"metadata":{"name":7}}', "Thing (no name): metadata.name: Expected `str`, got `int`", "metadata.name"),
    ],
)
def test_an_error_names_object_and_field(text: bytes, message: str, field: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_object(THINGS, text)
    assert str(caught.value) == message
    assert caught.value.field == field


def test_a_cluster_scoped_object_is_named_without_namespace() -> None:
    with pytest.raises(DecodeError, match=r"^Zone z: spec: Expected"):
        read_object(ZONES, b'{"metadata":{"name":"z"},"spec":1}')


def test_half_an_object_is_an_error() -> None:
    with pytest.raises(DecodeError, match="Input data was truncated"):
        read_object(THINGS, b'{"spec":{')


@pytest.mark.parametrize("note", [DEEP, b'{"a":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP])
def test_an_object_that_is_nested_too_deep_is_named(note: bytes) -> None:
    text = b'{"note":%s,"metadata":{"name":"a","namespace":"n"}}' % note
    with pytest.raises(DecodeError, match=r"^Thing n/a: nested deeper than can be read$"):
        read_object(THINGS, text)


def test_an_object_whose_nulls_lie_too_deep_is_named() -> None:
    text = b'{"metadata":{"name":"a"},"spec":{"tags":null,"size":"x"},"note":%s}' % (b"[" * 800 + b"]" * 800)
    with pytest.raises(DecodeError, match=r"^Thing a: "):
        read_object(THINGS, text)


def test_text_that_is_no_utf_8_is_an_error() -> None:
    with pytest.raises(DecodeError, match=r"^Thing a: Invalid UTF-8"):
        read_object(THINGS, b'{"metadata":{"name":"a"},"spec":{"tags":["\xff"]}}')


def test_a_head_can_be_had_from_what_the_model_refuses() -> None:
    assert head_of(b'{"kind":"Thing","metadata":{"name":"a"},"spec":17}').metadata.name == "a"
    assert head_of(b"nonsense").metadata.name == ""
