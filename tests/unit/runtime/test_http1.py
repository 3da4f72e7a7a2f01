from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.http1 import HttpRequest, HttpResponse, RequestReader, encode_response, http_date
from runtime.http1_framing import HttpError

LIMIT = 100
GET = b"GET /x?a=b HTTP/1.1\r\nHost: h\r\n\r\n"


def post(body: bytes = b"", *headers: str, target: str = "/", version: str = "1.1") -> bytes:
    lines = [f"POST {target} HTTP/{version}", "Host: h", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n" + body


def chunked(*chunks: bytes, trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return post(framed + b"0\r\n" + trailers + b"\r\n", "Transfer-Encoding: chunked")


def read(data: bytes, limit: int = LIMIT) -> HttpRequest | None:
    reader = RequestReader(limit)
    reader.feed(data)
    return reader.next()


def read_complete(data: bytes, limit: int = LIMIT) -> HttpRequest:
    request = read(data, limit)
    assert request is not None
    return request


def test_a_request_is_read_with_its_parts() -> None:
    request = read_complete(
        post(b"hello", "Content-Length: 5", "X-Two:a", "x-two: \t b ", target="/jobs?timeout=10s&x")
    )

    assert (request.method, request.path, request.query) == ("POST", "/jobs", "timeout=10s&x")
    assert request.headers == {"host": "h", "content-length": "5", "x-two": "a, b"}
    assert request.body == b"hello"
    assert request.keep_alive


@pytest.mark.parametrize(
    ("data", "body"),
    [
        pytest.param(GET, b"", id="no body"),
        pytest.param(post(b"", "Content-Length: 0"), b"", id="an empty body"),
        pytest.param(post(b"x" * LIMIT, f"Content-Length: {LIMIT}"), b"x" * LIMIT, id="as large as allowed"),
        pytest.param(post(b"ab", "Content-Length: 2", "content-length: 2"), b"ab", id="the same length twice"),
        pytest.param(chunked(b"ab", b"c" * 20), b"ab" + b"c" * 20, id="chunks"),
        pytest.param(chunked(), b"", id="no chunk"),
        pytest.param(chunked(b"ab", trailers=b"A: b\r\nC: d\r\n"), b"ab", id="trailers"),
        pytest.param(
            post(b"2;name=value\r\nab\r\n0\r\n\r\n", "Transfer-Encoding: CHUNKED"), b"ab", id="a chunk extension"
        ),
        pytest.param(b"\r\n\r\n" + GET, b"", id="empty lines in front"),
        pytest.param(GET.replace(b"/x", b"http://h:1/x"), b"", id="an absolute target"),
    ],
)
def test_a_request_is_read_however_it_is_cut(data: bytes, body: bytes) -> None:
    assert read_complete(data).body == body

    reader = RequestReader(LIMIT)
    for position in range(len(data)):
        assert reader.next() is None, f"complete after {position} of {len(data)} bytes"
        reader.feed(data[position : position + 1])
    request = reader.next()
    assert request is not None
    assert request.body == body
    assert reader.is_idle


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.binary(max_size=LIMIT), st.booleans())
def test_requests_in_a_row_are_told_apart(cuts: list[int], body: bytes, in_chunks: bool) -> None:  # drawn
    one = chunked(body) if in_chunks and body else post(body, f"Content-Length: {len(body)}")
    data = one + GET + one
    reader, found = RequestReader(LIMIT), []
    for cut in [*cuts, len(data)]:
        reader.feed(data[:cut])
        data = data[cut:]
        while (request := reader.next()) is not None:
            found.append(request)

    assert [(request.method, request.body) for request in found] == [("POST", body), ("GET", b""), ("POST", body)]
    assert reader.is_idle
    assert reader.buffered == 0


@given(st.binary(max_size=80))
def test_rubbish_is_refused_or_waited_for_but_never_breaks_the_reader(data: bytes) -> None:
    for text in (data, GET[:-4] + b"\r\n" + data + b"\r\n\r\n", post(data, "Transfer-Encoding: chunked")):
        with suppress(HttpError):
            read(text)


@pytest.mark.parametrize(
    ("data", "status", "text"),
    [
        (post(b"", f"Content-Length: {LIMIT + 1}"), 413, "request body too large"),
        (chunked(b"x" * LIMIT, b"x"), 413, "request body too large"),
        (post(b"ffffffff\r\n", "Transfer-Encoding: chunked"), 413, "request body too large"),
        (post(b"", "X: " + "y" * 33_000), 431, "request head is larger than 32768 bytes"),
        (b"G" * 33_000, 431, "request head is larger than 32768 bytes"),
        (chunked(trailers=b"A: " + b"x" * 33_000), 431, "trailers are larger than 32768 bytes"),
        (b"GET /\r\n\r\n", 400, "request line is malformed"),
        (b"GET  / HTTP/1.1\r\n\r\n", 400, "request line is malformed"),
        (b"GET / x HTTP/1.1\r\n\r\n", 400, "request line is malformed"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400, "request line is malformed"),
        (b"G T / HTTP/1.1\r\n\r\n", 400, "request line is malformed"),
        (b"\x16\x03\x01\x00\r\n\r\n", 400, "request line is malformed"),
        (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, "only HTTP/1.1 and HTTP/1.0 are spoken here"),
        (b"PRI * HTTP/2.0\r\n\r\n", 505, "only HTTP/1.1 and HTTP/1.0 are spoken here"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "missing required Host header"),
        (b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400, "request target must be a path"),
        (b"GET http://[ HTTP/1.1\r\nHost: h\r\n\r\n", 400, "request target must be a path"),
        (post(b"", "Name : x"), 400, "header line is malformed"),
        (post(b"", " folded"), 400, "header line is malformed"),
        (post(b"", "no colon"), 400, "header line is malformed"),
        (post(b"", ": no name"), 400, "header line is malformed"),
        (post(b"", "X: a\nY: b"), 400, "header line is malformed"),
        (post(b"", "X: a\rY: b"), 400, "header line is malformed"),
        (post(b"", "X: a\0"), 400, "header line is malformed"),
        (post(b"a", "Content-Length: 1", "Content-Length: 2"), 400, "content length is malformed"),
        (post(b"a", "Content-Length: +1"), 400, "content length is malformed"),
        (post(b"a", "Content-Length: -1"), 400, "content length is malformed"),
        (post(b"a", "Content-Length: 0x1"), 400, "content length is malformed"),
        (post(b"a", "Content-Length: \xb2"), 400, "content length is malformed"),
        (post(b"a", "Content-Length:"), 400, "content length is malformed"),
        (post(b"a", "Content-Length: " + "9" * 5000), 400, "content length is malformed"),
        (
            post(b"0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"),
            400,
            "transfer encoding contradicts the length or the protocol version",
        ),
        (
            post(b"0\r\n\r\n", "Transfer-Encoding: chunked", version="1.0"),
            400,
            "transfer encoding contradicts the length or the protocol version",
        ),
        (post(b"", "Transfer-Encoding: gzip, chunked"), 501, "transfer encoding 'gzip, chunked' is not supported"),
        (post(b"x\r\n", "Transfer-Encoding: chunked"), 400, "chunk size is no hexadecimal number"),
        (post(b"-1\r\n", "Transfer-Encoding: chunked"), 400, "chunk size is no hexadecimal number"),
        (post(b" 1\r\n", "Transfer-Encoding: chunked"), 400, "chunk size is no hexadecimal number"),
        (post(b"1" * 2000, "Transfer-Encoding: chunked"), 400, "chunk size line is too long"),
        (post(b"1\r\nabc\r\n", "Transfer-Encoding: chunked"), 400, "chunk is longer than its size"),
    ],
)
def test_what_is_too_large_or_ambiguous_is_refused(data: bytes, status: int, text: str) -> None:
    with pytest.raises(HttpError) as caught:
        read(data)

    assert (caught.value.status, caught.value.text) == (status, text)


def test_a_large_body_is_refused_before_it_arrives() -> None:
    reader = RequestReader(LIMIT)
    reader.feed(post(b"", "Content-Length: 101", "Expect: 100-continue"))

    with pytest.raises(HttpError, match="request body too large"):
        reader.next()
    assert not reader.take_continue()


@pytest.mark.parametrize(
    ("version", "headers", "expected"),
    [
        ("1.1", [], True),
        ("1.1", ["Connection: close"], False),
        ("1.1", ["Connection: Upgrade, CLOSE"], False),
        ("1.1", ["Connection: keep-alive"], True),
        ("1.0", [], False),
        ("1.0", ["Connection: keep-alive"], True),
        ("1.0", ["Connection: keep-alive, close"], False),
    ],
)
def test_the_connection_is_kept_as_the_client_asks(version: str, headers: list[str], *, expected: bool) -> None:
    assert read_complete(post(b"", "Content-Length: 0", *headers, version=version)).keep_alive is expected


def test_a_client_that_waits_for_a_continue_gets_it_once() -> None:
    reader = RequestReader(LIMIT)
    reader.feed(post(b"", "Content-Length: 2", "Expect: 100-Continue"))

    assert reader.next() is None
    assert reader.take_continue()
    assert not reader.take_continue()
    reader.feed(b"ab")
    request = reader.next()
    assert request is not None
    assert request.body == b"ab"


def test_a_client_that_does_not_wait_gets_no_continue() -> None:
    reader = RequestReader(LIMIT)
    reader.feed(post(b"a", "Content-Length: 2", "Expect: 100-continue"))

    assert reader.next() is None
    assert not reader.take_continue()


@pytest.mark.parametrize(
    ("data", "is_idle", "is_in_head", "buffered"),
    [
        (b"", True, True, 0),
        (b"POST / HT", False, True, 9),
        (post(b"a", "Content-Length: 2"), False, False, 1),
        (post(b"2\r\nab\r\n1", "Transfer-Encoding: chunked"), False, False, 3),
        (post(b"ab", "Content-Length: 2"), True, True, 0),
    ],
)
def test_the_reader_tells_how_far_a_request_has_come(
    data: bytes, *, is_idle: bool, is_in_head: bool, buffered: int
) -> None:
    reader = RequestReader(LIMIT)
    reader.feed(data)
    reader.next()

    assert (reader.is_idle, reader.is_in_head, reader.buffered) == (is_idle, is_in_head, buffered)


REFUSAL = (
    b"HTTP/1.1 405 Method Not Allowed\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
    b"Allow: POST\r\nConnection: close\r\n\r\nno"
)


@pytest.mark.parametrize(
    ("response", "close", "expected"),
    [
        (
            HttpResponse(200, b'{"a":1}'),
            False,
            b'HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
        ),
        (
            HttpResponse(405, b"no", "text/plain", ("Allow: POST",)),
            True,
            REFUSAL,
        ),
    ],
)
def test_an_answer_is_written(response: HttpResponse, *, close: bool, expected: bytes) -> None:
    assert encode_response(response, date="now", close=close) == expected


def test_the_answer_to_head_tells_of_its_body_only() -> None:
    said = encode_response(HttpResponse(405, b"no", "text/plain"), date="now", close=False, has_body=False)
    assert said.endswith(b"\r\nContent-Length: 2\r\n\r\n")


def test_a_date_is_written_as_http_does() -> None:
    assert http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT"
