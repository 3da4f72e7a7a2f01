from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from runtime.decoding import decoder_of
from runtime.errors import ApiError, DecodeError, Gone, ServerError
from runtime.event_reader import Bookmark, Broken, Decoder, Deleted, EventReader
from runtime.interning import InterningDecoder
from tests.unit.runtime.models import PODS, Pod, key, line, pod, text
from tests.unit.runtime.nested import DEEP


class Own:
    """A decoder of somebody's own."""

    def decode(self, data: bytes | msgspec.Raw, /) -> Pod:
        found = msgspec.json.decode(data, type=Pod)
        if found.metadata.name == "cursed":
            raise RuntimeError("cursed")
        return found


DECODERS: list[Decoder[Pod]] = [decoder_of(Pod), InterningDecoder(Pod, intern=("spec.containers",)), Own()]


@pytest.fixture(params=DECODERS, ids=["plain", "interning", "own"])
def reader(request: pytest.FixtureRequest) -> EventReader[Pod]:
    return EventReader(PODS, request.param)


@pytest.mark.parametrize("event", ["ADDED", "MODIFIED"])
def test_a_change_is_read_with_its_object(reader: EventReader[Pod], event: str) -> None:
    assert reader.read_line(line(event, pod("a", 7, node="n1"))) == (event, pod("a", 7, node="n1"))


@pytest.mark.parametrize("spec", [b"{}", b'{"containers":"unreadable"}'])
def test_of_a_deletion_only_the_identity_is_read(reader: EventReader[Pod], spec: bytes) -> None:
    last = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"spec":%s}' % spec
    deleted = ("DELETED", Deleted(key("a"), "u", "7"))
    assert reader.read_line(line("DELETED", last)) == deleted
    assert reader.read_line(b'{ "object":%s, "type":"DELETED"}' % last) == deleted


def test_members_may_come_in_any_order_with_others(reader: EventReader[Pod]) -> None:
    swapped = b'{"object":%s,"extra":1,"type":"ADDED"}' % text(pod("a"))
    assert reader.read_line(swapped) == ("ADDED", pod("a"))


@pytest.mark.parametrize(
    "bookmark",
    [
        b'{"metadata":{"resourceVersion":"9"}}',
        b'{"kind":"Pod","metadata":{"resourceVersion":"9","creationTimestamp":null},"spec":{"containers":null}}',
    ],
)
def test_a_bookmark_is_a_version(reader: EventReader[Pod], bookmark: bytes) -> None:
    assert reader.read_line(line("BOOKMARK", bookmark)) == ("BOOKMARK", Bookmark("9"))


def test_an_object_that_does_not_fit_is_named(reader: EventReader[Pod]) -> None:
    bad = (
        b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"spec":{"containers":[{"name":5}]}}'
    )
    event, broken = reader.read_line(line("MODIFIED", bad))
    assert event == "MODIFIED"
    assert isinstance(broken, Broken)
    assert (broken.key, broken.uid, broken.resource_version) == (key("a"), "u", "7")
    assert "Pod ns/a: spec.containers[0].name" in str(broken.error)
    assert isinstance(reader.read_object(msgspec.Raw(bad)), Broken)


def test_an_object_without_readable_metadata_is_still_only_one_object(reader: EventReader[Pod]) -> None:
    event, broken = reader.read_line(line("ADDED", b'{"metadata":[1]}'))
    assert event == "ADDED"
    assert isinstance(broken, Broken)
    assert broken.key == key("", "")


def test_a_decoder_that_throws_spoils_one_object_only() -> None:
    own = EventReader(PODS, Own())
    _, broken = own.read_line(line("ADDED", pod("cursed", 3)))
    assert isinstance(broken, Broken)
    assert "cursed" in str(broken.error)
    assert broken.resource_version == "3"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old", "status": "Failure"}, Gone),
        ({"code": 500, "message": "boom"}, ServerError),
        ({"code": 400, "message": "no"}, ApiError),
        ({"metadata": {}, "status": {"phase": "looks like a pod"}}, ApiError),
    ],
)
def test_an_error_event_is_raised(reader: EventReader[Pod], status: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        reader.read_line(line("ERROR", text(status)))


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"type":"ADDED"}', b'{"object":{}}', b"\xff"])
def test_a_line_that_is_no_event_is_a_decode_error(reader: EventReader[Pod], garbage: bytes) -> None:
    with pytest.raises(DecodeError):
        reader.read_line(garbage)


def test_an_unknown_event_is_passed_over(reader: EventReader[Pod], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert reader.read_line(line("PURGED", pod("a", 8))) == ("BOOKMARK", Bookmark("8"))
    assert "type=PURGED" in caplog.text


def test_a_line_of_megabytes_is_read(reader: EventReader[Pod]) -> None:
    big = pod("a", note="x" * 3_000_000)
    assert reader.read_line(line("ADDED", big)) == ("ADDED", big)


def test_objects_of_a_list_with_nulls_are_read(reader: EventReader[Pod]) -> None:
    raw = msgspec.Raw(b'{"metadata":{"name":"a","labels":null}}')
    found = reader.read_object(raw)
    assert isinstance(found, Broken) == isinstance(reader._decoder, Own)


@pytest.mark.parametrize("event", ["ADDED", "MODIFIED"])
@pytest.mark.parametrize("spec", [b'{"x":%s}', b"%s"])
def test_an_object_nested_too_deep_is_named(reader: EventReader[Pod], event: str, spec: bytes) -> None:
    meta = b'{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}'
    bad = b'{"spec":%s,"metadata":%s}' % (spec % DEEP, meta)
    kind, broken = reader.read_line(line(event, bad))
    assert kind == event
    assert isinstance(broken, Broken)
    assert (broken.key, broken.uid, broken.resource_version) == (key("a"), "u", "7")
    assert isinstance(reader.read_object(msgspec.Raw(bad)), Broken)
    assert reader.read_line(line("DELETED", bad)) == ("DELETED", Deleted(key("a"), "u", "7"))
