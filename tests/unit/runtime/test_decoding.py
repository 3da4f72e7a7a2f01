from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.decoding import ObjectDecoder, decoder_of, without_nulls


class Image(msgspec.Struct, frozen=True, gc=False):
    names: tuple[str, ...] = ()
    size: int = 0


class Thing(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    seen: str | None = None
    images: tuple[Image, ...] = ()
    labels: dict[str, str] = {}
    image: Image = Image()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"name":"a","images":[{"names":["x"]}]}', Thing(name="a", images=(Image(names=("x",)),))),
        (b'{"name":null,"images":null,"labels":null,"image":null}', Thing()),
        (b'{"images":[{"names":null,"size":1},{"names":["x"]}]}', Thing(images=(Image(size=1), Image(names=("x",))))),
        (b'{"labels":{"a":null,"b":"c"}}', Thing(labels={"b": "c"})),
        (b'{"seen":null,"unknown":null}', Thing()),
        (b'{"seen":null,"image":null,"unknown":{"x":null}}', Thing()),
    ],
)
def test_nulls_read_as_absent(text: bytes, expected: Thing) -> None:
    assert ObjectDecoder(Thing).decode(text) == expected


@pytest.mark.parametrize(
    "data", [memoryview(b'{"name":null}'), bytearray(b'{"name":null}'), msgspec.Raw(b'{"name":null}')]
)
def test_each_form_of_the_text_is_taken(data: Any) -> None:
    assert ObjectDecoder(Thing).decode(data) == Thing()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'{"images":[null]}', r"\$\.images\[0\]"),
        (b'{"name":7}', r"\$\.name"),
        (b'{"image":null,"name":7}', r"\$\.name"),
        (b"[]", "Expected `object`"),
    ],
)
def test_what_remains_wrong_is_told_by_its_path(text: bytes, path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=path):
        ObjectDecoder(Thing).decode(text)


def test_text_that_is_no_json_is_no_validation_error() -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        ObjectDecoder(Thing).decode(b'{"name":')
    assert not isinstance(caught.value, msgspec.ValidationError)


def test_a_model_has_one_decoder() -> None:
    assert decoder_of(Thing) is decoder_of(Thing)
    assert decoder_of(Image).decode(b"{}") == Image()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_only_list_items_keep_their_nulls(value: Any) -> None:
    before = msgspec.json.encode(value)
    pruned = without_nulls(value)
    assert msgspec.json.encode(value) == before
    assert without_nulls(pruned) == pruned
    stack = [pruned]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            assert None not in node.values()
            stack += node.values()
        elif isinstance(node, list):
            stack += node


@given(JSON.filter(lambda value: b"null" not in msgspec.json.encode(value)))
def test_a_value_without_nulls_is_itself(value: Any) -> None:
    assert without_nulls(value) is value
