from __future__ import annotations

import msgspec
import pytest

from runtime.errors import DecodeError, Gone, ServerError
from runtime.watching import read_change, read_event
from tests.things import THINGS
from tests.unit.runtime.nested import DEEP, TOO_DEEP


def line(kind: str, obj: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj})


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
def test_an_event_has_its_type_and_the_objects_text(kind: str) -> None:
    event = read_event(line(kind, {"metadata": {"name": "a"}}))
    assert event.type == kind
    assert bytes(event.object) == b'{"metadata":{"name":"a"}}'


def test_a_change_is_typed() -> None:
    change = read_change(THINGS, line("ADDED", {"spec": {"size": 4}}))
    assert (change.type, change.object.spec.size) == ("ADDED", 4)


def test_an_unreadable_object_is_named() -> None:
    with pytest.raises(DecodeError, match=r"^Thing n/a: spec\.size: Expected"):
        read_change(THINGS, line("ADDED", {"metadata": {"name": "a", "namespace": "n"}, "spec": {"size": "x"}}))


def test_an_expired_version_is_gone() -> None:
    with pytest.raises(Gone, match="too old resource version"):
        read_event(
            line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})
        )


def test_another_error_is_the_servers() -> None:
    with pytest.raises(ServerError, match="etcd is gone"):
        read_event(line("ERROR", {"kind": "Status", "code": 500, "message": "etcd is gone"}))


def test_an_error_without_a_status_still_ends_the_watch() -> None:
    with pytest.raises(ServerError, match="the watch ended"):
        read_event(line("ERROR", ["?"]))


def test_an_event_about_a_deep_object_has_its_type_and_the_objects_text() -> None:
    event = read_event(b'{"type":"ADDED","object":%s}' % DEEP)
    assert (event.type, bytes(event.object)) == ("ADDED", DEEP)


def test_a_deep_object_is_named() -> None:
    text = b'{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n"},"note":%s}}' % DEEP
    with pytest.raises(DecodeError, match=r"^Thing n/a: nested deeper than can be read"):
        read_change(THINGS, text)


def test_a_deep_error_still_ends_the_watch() -> None:
    with pytest.raises(ServerError, match="the watch ended"):
        read_event(b'{"type":"ERROR","object":%s}' % DEEP)


@pytest.mark.parametrize(
    "text", [b"[" * TOO_DEEP, b'{"type":"\xff","object":{}}', b'{"type":' + DEEP + b',"object":1}']
)
def test_what_the_parser_itself_refuses_is_an_error(text: bytes) -> None:
    with pytest.raises(DecodeError, match="not a watch event"):
        read_event(text)


@pytest.mark.parametrize("text", [b"", b"nonsense", b"{}", b'{"type":"ADDED"}', b'{"type":1,"object":{}}'])
def test_what_is_no_event_is_an_error(text: bytes) -> None:
    with pytest.raises(DecodeError, match="not a watch event"):
        read_event(text)
