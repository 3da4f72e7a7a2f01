"""What a session makes of a server's frames; the server's side is in http2_peer."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import http2_frames as frames
from runtime.http1_answers import MAX_HEAD, HttpAnswer
from runtime.http2_exchange import Exchange, Unprocessed
from runtime.http2_frames import LARGEST_WINDOW, ErrorCode, Http2Error, frame
from runtime.http2_hpack import read_block, write_fields
from runtime.http2_session import Session
from runtime.streaming import Broken
from tests.unit.runtime.http2_peer import (
    GREETING,
    HEAD,
    announce,
    answer,
    asked,
    data,
    goaway,
    greeted,
    head,
    parse,
    reset,
    sent,
)

Told = tuple[int, int, dict[str, str], bytes] | tuple[int, type, str]


def told(exchanges: Iterable[Exchange]) -> list[Told]:
    """Outcomes in a form that can be compared."""
    found: list[Told] = []
    for exchange in exchanges:
        outcome = exchange.outcome
        if isinstance(outcome, HttpAnswer):
            found.append((exchange.stream, outcome.status, dict(outcome.headers), outcome.body))
        else:
            found.append((exchange.stream, type(outcome), str(outcome)))
    return found


def outcome(session: Session, exchange: Exchange) -> object:
    assert exchange in session.finished
    assert exchange not in session.under_way
    return exchange.outcome


def test_a_session_begins_with_the_preface_settings_and_a_wide_window() -> None:
    session = Session()
    first = session.outbox.frames[0]
    assert first == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    settings, window = sent(session)
    values = dict(struct.iter_unpack(">HI", settings.payload))
    assert (settings.kind, settings.stream) == (frames.SETTINGS, 0)
    assert values == {1: 0, 2: 0, 4: 2**31 - 1, 6: MAX_HEAD}
    assert (window.kind, window.stream, window.number + 65_535) == (frames.WINDOW_UPDATE, 0, 2**31 - 1)


def test_settings_are_acknowledged() -> None:
    session = greeted()
    session.feed(announce(max_concurrent_streams=7))
    assert [(f.kind, f.flags, f.payload) for f in sent(session)] == [(frames.SETTINGS, frames.ACK, b"")]
    session.feed(frame(frames.SETTINGS, frames.ACK, 0))
    assert sent(session) == []


def test_a_server_that_limits_our_header_table_hears_once_that_there_is_none() -> None:
    session = greeted()
    session.feed(announce(header_table_size=100))
    asked(session)
    asked(session)
    _, first, second = sent(session)
    assert first.payload == b"\x20" + HEAD
    assert second.payload == HEAD


def test_a_request_without_a_body_is_one_frame_and_one_with_a_body_two() -> None:
    session = greeted()
    asked(session)
    asked(session, b"body")
    found = [(f.kind, f.flags, f.stream) for f in sent(session)]
    assert found == [
        (frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1),
        (frames.HEADERS, frames.END_HEADERS, 3),
        (frames.DATA, frames.END_STREAM, 3),
    ]


def test_a_large_head_is_continued() -> None:
    session = greeted()
    block = write_fields([("a", "x" * 40_000)])
    asked(session, b"body", block)
    first, second, third, body = sent(session)
    assert [f.kind for f in (first, second, third)] == [frames.HEADERS, frames.CONTINUATION, frames.CONTINUATION]
    assert [f.flags for f in (first, second, third, body)] == [0, 0, frames.END_HEADERS, frames.END_STREAM]
    assert first.payload + second.payload + third.payload == block


LENGTH = ("content-length", "4")
PADDED_HEAD = frame(
    frames.HEADERS,
    frames.END_HEADERS | frames.PADDED | frames.WITH_PRIORITY,
    1,
    b"\x02" + bytes(5) + b"\x88" + bytes(2),
)


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        pytest.param(answer(1, b"body", LENGTH), (200, b"body"), id="headers and data"),
        pytest.param(head(1) + data(1, b"bo", last=False) + data(1, b"dy"), (200, b"body"), id="two parts"),
        pytest.param(head(1) + data(1, b"body", last=False) + data(1, b""), (200, b"body"), id="an empty last part"),
        pytest.param(head(1, flags=5, status="204"), (204, b""), id="headers only"),
        pytest.param(head(1, LENGTH, flags=5, status="304"), (304, b""), id="a length that only describes"),
        pytest.param(head(1, status="103") + answer(1, b"body"), (200, b"body"), id="after an interim answer"),
        pytest.param(head(1) + data(1, b"body", last=False) + frame(1, 5, 1, write_fields([("a", "b")])), (200, b"body"), id="trailers"),
        pytest.param(PADDED_HEAD + frame(0, 9, 1, b"\x03body" + bytes(3)), (200, b"body"), id="padding and priority"),
        pytest.param(frame(1, 0, 1, b"\x88") + frame(9, 0, 1) + frame(9, 4, 1, b"\x0f\x0d\x014") + data(1, b"body"), (200, b"body"), id="continued headers"),
        pytest.param(frame(2, 0, 1, bytes(5)) + frame(0xFA, 0xFF, 0, b"new") + answer(1, b"body"), (200, b"body"), id="priorities and unknown frames"),
    ],
)  # fmt: skip
def test_an_answer_is_put_together(received: bytes, expected: tuple[int, bytes]) -> None:
    session = greeted()
    exchange = asked(session)
    session.feed(received)
    found = outcome(session, exchange)
    assert isinstance(found, HttpAnswer)
    assert (found.status, found.body) == expected
    assert session.load == 0


def test_answers_come_in_any_order() -> None:
    session = greeted()
    first, second = asked(session), asked(session)
    session.feed(head(1) + head(3) + data(3, b"b") + data(1, b"a"))
    assert session.finished == [second, first]
    assert [told([e])[0][3] for e in (first, second)] == [b"a", b"b"]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("received", "text"),
    [
        pytest.param(data(1, b"body"), "without headers", id="no head"),
        pytest.param(data(1, b""), "no headers", id="nothing"),
        pytest.param(frame(1, 5, 1, write_fields([("a", "b")])), "no status", id="no status"),
        pytest.param(head(1, status="20"), "no status", id="a short status"),
        pytest.param(head(1, status="099"), "no status", id="a small status"),
        pytest.param(head(1, status="100", flags=5), "ends before", id="only an interim answer"),
        pytest.param(head(1, status="101"), "ends before", id="another protocol"),
        pytest.param(head(1, (":path", "/")), "unexpected header ':path'", id="a request"),
        pytest.param(head(1) + head(1), "a second head", id="two heads"),
        pytest.param(answer(1, b"bod", LENGTH), "a body of 3 bytes with a content length of 4", id="too short"),
        pytest.param(answer(1, b"body!", LENGTH), "a body of 5 bytes with a content length of 4", id="too long"),
        pytest.param(head(1, ("content-length", "-1")), "content length is malformed", id="a negative length"),
        pytest.param(head(1, LENGTH, ("content-length", "5")), "content length is malformed", id="two lengths"),
    ],
)
def test_a_malformed_answer_resets_its_stream_and_leaves_the_others_alone(received: bytes, text: str) -> None:
    session = greeted()
    bad, good = asked(session), asked(session)
    sent(session)
    session.feed(received)
    found = outcome(session, bad)
    assert isinstance(found, Broken)
    assert str(found).startswith("malformed HTTP response: ")
    assert text in str(found)
    assert [(f.kind, f.stream, f.number) for f in sent(session)] == [(frames.RST_STREAM, 1, ErrorCode.PROTOCOL_ERROR)]
    session.feed(data(1, b"late") + answer(3, b"ok"))
    assert told([good])[0][3] == b"ok"  # type: ignore[misc]


P, F, S, C = (
    ErrorCode.PROTOCOL_ERROR,
    ErrorCode.FLOW_CONTROL_ERROR,
    ErrorCode.FRAME_SIZE_ERROR,
    ErrorCode.COMPRESSION_ERROR,
)


@pytest.mark.parametrize(
    ("received", "code"),
    [
        pytest.param(head(2), P, id="headers on a stream of the server's"),
        pytest.param(data(3, b"x"), P, id="data on a stream that was never opened"),
        pytest.param(data(0, b"x"), P, id="data on no stream"),
        pytest.param(reset(5, 0), P, id="reset of a stream that was never opened"),
        pytest.param(frame(5, 4, 1, bytes(4)), P, id="a push"),
        pytest.param(frame(9, 4, 1), P, id="a continuation of nothing"),
        pytest.param(frame(1, 0, 1, b"\x88") + data(1, b""), P, id="an interrupted header block"),
        pytest.param(frame(1, 0, 1, b"\x88") + frame(9, 4, 3), P, id="a header block that goes on elsewhere"),
        pytest.param(frame(1, 0, 1, b"\x88") + frame(0xFA, 0, 1), P, id="a header block interrupted by the unknown"),
        pytest.param(frame(0, 8, 1, b"\x01"), P, id="padding longer than its frame"),
        pytest.param(frame(0, 8, 1), P, id="no padding length"),
        pytest.param(frame(1, 0x24, 1, bytes(4)), S, id="half a priority"),
        pytest.param(frame(4, 0, 1), P, id="settings on a stream"),
        pytest.param(frame(4, 0, 0, bytes(5)), S, id="half a setting"),
        pytest.param(frame(4, 1, 0, bytes(6)), S, id="an acknowledgement with settings"),
        pytest.param(announce(enable_push=1), P, id="pushes allowed by the server"),
        pytest.param(announce(max_frame_size=16_383), P, id="frames too small"),
        pytest.param(announce(max_frame_size=2**24), P, id="frames too large"),
        pytest.param(announce(initial_window_size=2**31), F, id="a window too large"),
        pytest.param(frame(6, 0, 1, bytes(8)), P, id="a ping on a stream"),
        pytest.param(frame(6, 0, 0, bytes(7)), S, id="a short ping"),
        pytest.param(frame(7, 0, 1, bytes(8)), P, id="an end on a stream"),
        pytest.param(frame(7, 0, 0, bytes(7)), S, id="a short end"),
        pytest.param(frame(3, 0, 1, bytes(3)), S, id="a short reset"),
        pytest.param(frame(8, 0, 0, bytes(3)), S, id="a short window"),
        pytest.param(frame(8, 0, 0, bytes(4)), P, id="a window that grows by nothing"),
        pytest.param(frames.window_update(0, LARGEST_WINDOW), F, id="a window that grows too large"),
        pytest.param(frame(0, 0, 1, bytes(16_385)), S, id="a frame too large"),
        pytest.param(frame(1, 4, 1, b"\xbe"), C, id="a dynamic table"),
        pytest.param(frame(1, 4, 1, b"\x08\x81\xff"), C, id="a status in a broken code"),
        pytest.param(
            frame(1, 0, 1, bytes(16_000)) + frame(9, 0, 1, bytes(16_000)) * 4,
            ErrorCode.ENHANCE_YOUR_CALM,
            id="a head without end",
        ),
    ],
)
def test_what_breaks_the_protocol_ends_the_connection_with_its_code(received: bytes, code: ErrorCode) -> None:
    session = greeted()
    asked(session)
    with pytest.raises(Http2Error) as caught:
        session.feed(received)
    assert caught.value.code is code


@pytest.mark.parametrize("first", [frame(4, 1, 0), frame(6, 0, 0, bytes(8)), b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_must_begin_with_settings(first: bytes) -> None:
    with pytest.raises(Http2Error):
        Session().feed(first)


def test_a_ping_is_answered_and_an_answered_ping_is_not() -> None:
    session = greeted()
    session.feed(frame(frames.PING, 0, 0, b"12345678") + frame(frames.PING, frames.ACK, 0, b"87654321"))
    assert [(f.kind, f.flags, f.payload) for f in sent(session)] == [(frames.PING, frames.ACK, b"12345678")]


def test_more_requests_than_the_server_takes_wait_in_their_order() -> None:
    session = greeted(max_concurrent_streams=2)
    exchanges = [asked(session) for _ in range(4)]
    assert [f.stream for f in sent(session)] == [1, 3]
    session.feed(answer(3))
    assert [f.stream for f in sent(session)] == [5]
    assert [e.stream for e in exchanges] == [1, 3, 5, 0]
    session.feed(announce(max_concurrent_streams=3))
    assert [f.stream for f in sent(session)] == [0, 7]


def test_a_server_that_has_not_spoken_yet_gets_a_hundred_requests() -> None:
    session = Session()
    for _ in range(101):
        asked(session)
    assert len([f for f in sent(session) if f.kind == frames.HEADERS]) == 100


def test_a_cancelled_request_is_reset_and_what_still_comes_for_it_is_passed_over() -> None:
    session = greeted(max_concurrent_streams=2)
    first, second, third, fourth = (asked(session) for _ in range(4))
    sent(session)
    session.cancel(third)
    session.cancel(first)
    assert [(f.kind, f.stream, f.number if f.kind == frames.RST_STREAM else 0) for f in sent(session)] == [
        (frames.RST_STREAM, 1, ErrorCode.CANCEL),
        (frames.HEADERS, 5, 0),
    ]
    session.feed(answer(1, b"late") + reset(1, 8) + frames.window_update(1, 5) + answer(3, b"ok") + answer(5, b"ok"))
    assert session.finished == [second, fourth]
    session.cancel(second)
    assert sent(session) == []


def test_an_end_that_the_server_announces_lets_its_last_streams_go_on() -> None:
    session = greeted(max_concurrent_streams=2)
    first, second, queued = (asked(session) for _ in range(3))
    session.feed(goaway(1, ErrorCode.NO_ERROR, b"rebalancing"))
    assert session.finished == [second, queued]
    for exchange in session.finished:
        assert isinstance(exchange.outcome, Unprocessed)
        assert str(exchange.outcome) == "the server ended the connection (NO_ERROR: rebalancing)"
    assert not session.takes_more
    session.feed(answer(1, b"done"))
    assert told([first])[0][3] == b"done"  # type: ignore[misc]
    assert session.load == 0


@pytest.mark.parametrize(
    ("code", "kind"), [(7, Unprocessed), (0, Broken), (2, Broken), (8, Broken), (13, Broken), (99, Broken)]
)
def test_only_a_refused_stream_was_certainly_not_processed(code: int, kind: type) -> None:
    session = greeted()
    exchange = asked(session, b"body")
    session.feed(head(1) + reset(1, code))
    assert isinstance(outcome(session, exchange), kind)
    assert "the server reset the request" in str(exchange.outcome)


def test_at_the_end_of_the_connection_only_what_never_began_is_unprocessed() -> None:
    session = greeted(max_concurrent_streams=1)
    asked(session)
    asked(session)
    session.end(EOFError())
    assert [type(e.outcome) for e in session.finished] == [Broken, Unprocessed]
    assert not session.takes_more
    assert session.load == 0


def test_when_the_numbers_run_out_the_connection_takes_no_more() -> None:
    session = greeted(max_concurrent_streams=1)
    session._next = 2**31 - 1
    last, over = asked(session), asked(session)
    session.feed(answer(2**31 - 1))
    assert isinstance(last.outcome, HttpAnswer)
    assert isinstance(over.outcome, Unprocessed)
    assert not session.takes_more


def test_the_window_for_answers_is_topped_up_and_never_overrun() -> None:
    session = greeted()
    asked(session)
    session._granted = LARGEST_WINDOW // 2 + 4
    session.feed(head(1) + data(1, b"body", last=False))
    assert parse(b"".join(session.outbox.frames))[-1].kind == frames.HEADERS
    session.feed(data(1, b"body", last=False))
    window = sent(session)[-1]
    assert (window.kind, window.stream) == (frames.WINDOW_UPDATE, 0)
    assert window.number == LARGEST_WINDOW - (LARGEST_WINDOW // 2 - 4)
    session._granted = 3
    with pytest.raises(Http2Error) as caught:
        session.feed(data(1, b"body"))
    assert caught.value.code is ErrorCode.FLOW_CONTROL_ERROR


CONVERSATION = (
    GREETING
    + head(1, ("content-length", "6"))
    + head(3, status="404")
    + data(1, b"abc", last=False)
    + frame(frames.PING, 0, 0, bytes(8))
    + data(3, b"none")
    + reset(5, 7)
    + data(1, b"def")
    + goaway(7)
    + frame(1, 0, 7, b"\x88")
    + frame(9, 4, 7, write_fields([("retry-after", "1")]))
    + data(7, b"last")
    + frame(6, 0, 0, b"short")
)


@given(st.lists(st.integers(0, len(CONVERSATION)), max_size=12))
def test_how_the_bytes_arrive_makes_no_difference(cuts: list[int]) -> None:
    def converse(cuts: list[int]) -> tuple[list[Told], list[bytes], str]:
        session = Session()
        for _ in range(5):
            asked(session)
        text = ""
        try:
            for start, end in zip([0, *cuts], [*cuts, len(CONVERSATION)], strict=True):
                session.feed(CONVERSATION[start:end])
        except Http2Error as error:
            text = error.text
        return told(session.finished), session.outbox.frames, text

    whole = converse([])
    assert [one[0] for one in whole[0]] == [3, 5, 1, 9, 7]
    assert converse(sorted(cuts)) == whole


anything = st.one_of(
    st.binary(max_size=40),
    st.builds(
        frame,
        st.integers(0, 11),
        st.sampled_from([0, 1, 4, 5, 8, 13, 32, 255]),
        st.integers(0, 6),
        st.binary(max_size=14),
    ),
    st.sampled_from([answer(1, b"x"), answer(3), goaway(1), reset(3, 7), announce(initial_window_size=3)]),
)


@given(st.lists(anything, max_size=8), st.booleans())
def test_no_bytes_raise_anything_but_the_protocols_error(pieces: list[bytes], is_greeted: bool) -> None:
    session = greeted() if is_greeted else Session()
    exchanges = [asked(session), asked(session, b"some body")]
    with contextlib.suppress(Http2Error):
        for piece in pieces:
            session.feed(piece)
    session.end(EOFError())
    assert sorted(e.stream for e in session.finished) == [1, 3]
    assert all(exchange.outcome is not None for exchange in exchanges)


@given(st.binary(max_size=200))
def test_a_frame_of_a_header_block_is_read_as_the_block_itself(block: bytes) -> None:
    session = greeted()
    asked(session)
    try:
        read_block(block)
    except Http2Error:
        with pytest.raises(Http2Error):
            session.feed(frame(1, 4, 1, block))
    else:
        with contextlib.suppress(Http2Error):  # a status or length in a broken code
            session.feed(frame(1, 4, 1, block))
