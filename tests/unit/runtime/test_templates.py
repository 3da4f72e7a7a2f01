from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.model import Model
from runtime.templates import FEW, Templates
from tests.unit.runtime.models import Container, PodSpec, text

NODE_NAME = next(info for info in msgspec.structs.fields(PodSpec) if info.name == "node_name")


class Counting:
    """A decoder that notes what it is asked for, behind templates."""

    def __init__(self, model: Any = PodSpec) -> None:
        self.texts: list[bytes] = []
        self._decode = msgspec.json.Decoder(model).decode
        self.templates = Templates(self.decode, NODE_NAME, self.word)

    def decode(self, raw: bytes) -> Any:
        self.texts.append(raw)
        return self._decode(raw)

    def word(self, raw: bytes) -> str:
        return raw.decode()


def spec(node: str, image: str = "i") -> bytes:
    return text(PodSpec(node_name=node, containers=(Container(name="c", image=image),), priority=3))


def test_of_texts_that_differ_in_the_name_alone_only_the_first_is_decoded() -> None:
    counting = Counting()
    parts = [counting.templates.get(spec(f"node-{number}")) for number in range(5)]
    assert parts == [msgspec.json.decode(spec(f"node-{number}"), type=PodSpec) for number in range(5)]
    assert counting.texts == [spec("node-0"), spec("node-0").replace(b"node-0", b"")]
    assert len(counting.templates) == 1


def test_parts_of_one_template_share_what_is_inside_and_are_different_objects() -> None:
    counting = Counting()
    first, second, third = (counting.templates.get(spec(node)) for node in ("a", "b", "b"))
    assert second is not third
    assert second.containers is third.containers
    assert first == msgspec.structs.replace(second, node_name="a")


def test_texts_without_the_name_have_a_template_of_their_own() -> None:
    counting = Counting()
    parts = [counting.templates.get(spec("")) for _ in range(3)]
    assert {part.node_name for part in parts} == {""}
    assert counting.templates.get(spec("n")).node_name == "n"
    assert len(counting.templates) == 2


def test_texts_that_differ_elsewhere_have_different_templates() -> None:
    counting = Counting()
    found = [counting.templates.get(spec(node, image)) for image in "xy" for node in ("a", "b")]
    assert [(part.node_name, part.containers[0].image) for part in found] == [
        ("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "shape",
    [
        b'{"containers":[{"nodeName":"%s"}]}',
        b'{"containers":[{"nodeName":"%s"}],"node\\u004eame":"x"}',
        b'{"nodeName":"%s","containers":[{"nodeName":"x"}]}',
        b'{"containers":[{"nodeName":"x"}],"nodeName":"%s"}',
        b'{"nodeName":"a","nodeName":"%s"}',
        b'{"nodeName":"%s","node\\u004eame":"last"}',
        b'{"nodeName": "%s"}',
        b'{"nodeName":"\\u0061%s"}',
        b'{"nodeName":"\xc3\xb6%s"}',
        b'{"containers":[{"name":"\\"nodeName\\":%s"}]}',
        b'{"containers":[{"name":"nodeName"},{"image":"%s"}],"nodeName":"n"}',
    ],
    ids=["deeper", "deeper and escaped", "twice", "twice, the other way", "repeated", "overruled", "blank",
         "escaped", "not ASCII", "in a text", "as a value"],
)  # fmt: skip
def test_a_name_that_is_not_where_it_seems_to_be_is_never_put_in(shape: bytes) -> None:
    counting = Counting()
    for name in (b"x", b"y", b"", b"x", b"z"):
        assert counting.templates.get(shape % name) == msgspec.json.decode(shape % name, type=PodSpec)


@pytest.mark.parametrize("broken", [b'{"nodeName":7}', b'{"nodeName":"a"', b'{"nodeName":"a","priority":"x"}', b"[]"])
def test_errors_of_the_decoder_come_through_and_leave_nothing_behind(broken: bytes) -> None:
    counting = Counting()
    for _ in range(2):
        with pytest.raises(msgspec.DecodeError):
            counting.templates.get(broken)
    assert len(counting.templates) == 0


def test_templates_that_nobody_asks_for_any_more_make_room() -> None:
    counting = Counting()
    for number in range(20 * FEW):
        counting.templates.get(spec("n", f"image-{number}"))
        counting.templates.get(spec("m", "in use"))
    assert len(counting.templates) <= 3 * FEW
    counting.texts.clear()
    assert counting.templates.get(spec("o", "in use")).node_name == "o"
    assert counting.texts == []


class Strict(Model):
    """A struct whose other field depends on nothing; the name stands last."""

    note: str = ""
    node_name: str = ""


PRINTABLE = st.text(st.characters(codec="utf-8"), max_size=6)
TEMPLATES = Counting(Strict).templates


@given(PRINTABLE, PRINTABLE)
def test_every_part_is_what_its_text_says(note: str, node: str) -> None:
    made = Strict(note=note, node_name=node)
    for _ in range(2):
        assert TEMPLATES.get(msgspec.json.encode(made)) == made
