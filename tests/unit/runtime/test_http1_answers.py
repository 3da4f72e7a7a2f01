"""Answers cut out of bytes, and requests put into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.http1_answers import MAX_HEAD, AnswerReader, Headers, HttpAnswer, encode_field, encode_request
from runtime.http1_framing import HttpError

OK = b"HTTP/1.1 200 OK\r\n"


def read(data: bytes) -> HttpAnswer | None:
    reader = AnswerReader()
    reader.feed(data)
    return reader.next()


def chunked(*chunks: bytes) -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "status", "body", "keep_alive"),
    [
        pytest.param(OK + b"Content-Length: 2\r\n\r\nab", 200, b"ab", True, id="a length"),
        pytest.param(OK + b"Content-Length: 0\r\n\r\n", 200, b"", True, id="empty"),
        pytest.param(chunked(b"ab", b"c"), 200, b"abc", True, id="chunks"),
        pytest.param(chunked(), 200, b"", True, id="no chunk"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True, id="a code without a body"),
        pytest.param(b"HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n", 304, b"", True, id="a length that only describes"),
        pytest.param(OK + b"Connection: close\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False, id="the last one"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False, id="an old server"),
        pytest.param(
            b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
            200,
            b"x",
            True,
            id="that keeps on",
        ),
        pytest.param(b"HTTP/1.1 429\r\nContent-Length: 0\r\n\r\n", 429, b"", True, id="no reason phrase"),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
            200,
            b"x",
            True,
            id="after interim answers",
        ),
    ],
)
def test_an_answer_is_read_with_its_framing(data: bytes, status: int, body: bytes, keep_alive: bool) -> None:
    answer = read(data)
    assert answer is not None
    assert (answer.status, answer.body, answer.keep_alive) == (status, body, keep_alive)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = AnswerReader()
    reader.feed(OK + b"\r\nab")
    assert reader.next() is None
    reader.feed(b"c")
    assert reader.next() is None
    answer = reader.end()
    assert answer is not None
    assert (answer.body, answer.keep_alive) == (b"abc", False)


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 2", OK + b"Content-Length: 2\r\n\r\na", chunked(b"ab")[:-3]])
def test_an_end_in_the_middle_is_no_answer(data: bytes) -> None:
    reader = AnswerReader()
    reader.feed(data)
    assert reader.next() is None
    assert reader.end() is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"220 smtp ready\r\n\r\n", "status line", id="another protocol"),
        pytest.param(b"HTTP/2 200\r\n\r\n", "status line", id="another version"),
        pytest.param(b"HTTP/1.1 101 Switching\r\n\r\n", "switch of protocols", id="a switch"),
        pytest.param(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "length is malformed", id="two lengths"),
        pytest.param(OK + b"Content-Length: -1\r\n\r\n", "length is malformed", id="a negative length"),
        pytest.param(
            OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "contradicts", id="length and chunks"
        ),
        pytest.param(OK + b"Transfer-Encoding: gzip\r\n\r\n", "not supported", id="another coding"),
        pytest.param(OK + b"A: b\r\n folded\r\n\r\n", "header line is malformed", id="a folded line"),
        pytest.param(OK + b"X: " + b"x" * MAX_HEAD, "response head is larger", id="an endless head"),
        pytest.param(chunked(b"ab").replace(b"2\r\n", b"z\r\n"), "chunk size", id="a chunk without a size"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(HttpError, match=text):
        read(data)


def test_headers_are_found_in_any_case_and_repeated_ones_joined() -> None:
    answer = read(OK + b'Warning: 299 - "a"\r\nwarning: 299 - "b"\r\nContent-Length: 0\r\n\r\n')
    assert answer is not None
    assert answer.headers["WARNING"] == '299 - "a", 299 - "b"'
    assert "Retry-After" not in answer.headers
    assert Headers.joined([("A", "1"), ("a", "2")])["A"] == "1, 2"


@given(st.lists(st.binary(max_size=40), max_size=5), st.data())
def test_answers_are_the_same_however_the_bytes_arrive(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(
        chunked(*(body[i : i + 7] for i in range(0, len(body), 7)))
        if index % 2
        else OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
        for index, body in enumerate(bodies)
    )
    reader, found = AnswerReader(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        reader.feed(stream[:size])
        stream = stream[size:]
        while (answer := reader.next()) is not None:
            found.append(answer.body)
    assert found == bodies
    assert reader.is_idle


def test_a_request_is_written_with_its_length() -> None:
    fields = encode_field("Host", "h") + encode_field("X", "ü")
    assert encode_request("POST", "/a?b=c", fields, b"{}") == (
        b"POST /a?b=c HTTP/1.1\r\nHost: h\r\nX: \xfc\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert encode_request("GET", "/a", "", None) == b"GET /a HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("value", ["a\r\nb", "a\nb", "a\0b", "\udcff", "\u20ac"])
def test_a_header_that_would_not_arrive_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="header X holds"):
        encode_field("X", value)


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/ä"])
def test_an_address_that_would_not_arrive_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="path"):
        encode_request("GET", target, "", None)
