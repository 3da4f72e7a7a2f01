"""Request heads in HTTP/2."""

from __future__ import annotations

import pytest

from runtime.http2_hpack import read_block, text_of
from runtime.http2_requests import HeadEncoder

JSON = {"Content-Type": "application/json"}


def encoder() -> HeadEncoder:
    return HeadEncoder("host:6443", [("User-Agent", "vc"), ("Connection", "close"), ("Host", "other")])


def fields(block: bytes) -> list[tuple[str, str]]:
    return [(name, text_of(value)) for name, value in read_block(block)]


def test_a_head_has_everything_in_its_order_and_nothing_of_http_1() -> None:
    assert fields(encoder().encode("POST", "/a?b=c", "Bearer t", JSON, b"12345")) == [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "host:6443"),
        (":path", "/a?b=c"),
        ("user-agent", "vc"),
        ("content-type", "application/json"),
        ("authorization", "Bearer t"),
        ("content-length", "5"),
    ]


def test_what_differs_between_requests_is_told_each_time() -> None:
    heads = encoder()
    calls = [
        ("GET", "/" + "p" * 200, "", {}, None),
        ("POST", "/a", "Bearer 1", JSON, b""),
        ("PATCH", "/b", "Bearer 2", {"Content-Type": "other"}, b"x"),
        ("GET", "/a", "", {}, None),
    ]
    for method, target, authorization, headers, body in calls * 2:
        found = dict(fields(heads.encode(method, target, authorization, headers, body)))
        assert (found[":method"], found[":path"]) == (method, target)
        assert found.get("authorization", "") == authorization
        assert found.get("content-type") == headers.get("Content-Type")
        assert found.get("content-length") == (None if body is None else str(len(body)))


def test_outdated_credentials_are_not_kept() -> None:
    heads = encoder()
    for number in range(3):
        heads.encode("GET", "/", f"Bearer {number}", {}, None)
    assert [key[1] for key in heads._kept] == ["Bearer 2"]


@pytest.mark.parametrize(
    ("target", "authorization", "headers"),
    [
        ("/a b", "", {}),
        ("/\u00e9", "", {}),
        ("/a\r\n", "", {}),
        ("/", "Bearer a\n", {}),
        ("/", "Bearer \u20ac", {}),
        ("/", "", {"X": "a\r\nb: c"}),
    ],
)
def test_what_would_not_arrive_as_meant_is_refused(target: str, authorization: str, headers: dict[str, str]) -> None:
    heads = encoder()
    for _ in range(2):
        with pytest.raises(ValueError, match="holds a"):
            heads.encode("GET", target, authorization, headers, None)
