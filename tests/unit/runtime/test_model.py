from __future__ import annotations

import gc

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from runtime.model import Builder, Model


class Part(Model, kw_only=True):
    name: str = ""


class Whole(Model, kw_only=True):
    pod_name: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    part: Part = Part()
    maybe: Part | None = None
    always: str = msgspec.field(default_factory=str)
    many: tuple[Part, ...] = ()


class WholeBuilder(Builder, kw_only=True):
    pod_name: str | UnsetType | None = UNSET
    number: int | UnsetType | None = UNSET


def decode(text: bytes) -> Whole:
    return msgspec.json.decode(text, type=Whole)


def test_a_model_is_frozen_and_keyword_only() -> None:
    with pytest.raises(AttributeError):
        Whole().pod_name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Whole("x")  # type: ignore[call-arg]


def test_a_model_is_invisible_to_the_garbage_collector() -> None:
    assert not gc.is_tracked(decode(b'{"part":{"name":"x"},"many":[{}]}'))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (b"{}", b'{"always":""}'),
        (b'{"podName":"a","podIP":"b"}', b'{"always":"","podName":"a","podIP":"b"}'),
        (b'{"podName":"","many":[],"unknown":1}', b'{"always":""}'),
        (b'{"part":{}}', b'{"always":"","part":{}}'),
        (b'{"maybe":{}}', b'{"always":"","maybe":{}}'),
        (b'{"maybe":null}', b'{"always":""}'),
    ],
)
def test_defaults_are_left_out_but_not_what_was_written(text: bytes, written: bytes) -> None:
    assert sorted(msgspec.json.decode(msgspec.json.encode(decode(text)))) == sorted(msgspec.json.decode(written))
    assert msgspec.json.decode(msgspec.json.encode(decode(text))) == msgspec.json.decode(written)


def test_a_builder_sends_what_was_set() -> None:
    assert msgspec.json.encode(WholeBuilder()) == b"{}"
    assert msgspec.json.encode(WholeBuilder(pod_name="", number=None)) == b'{"podName":"","number":null}'
    changed = WholeBuilder()
    changed.number = 0
    assert msgspec.json.encode(changed) == b'{"number":0}'
