"""Bodies and the windows of the server."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import http2_frames as frames
from runtime.http1_answers import HttpAnswer
from runtime.http2_frames import LARGEST_WINDOW, ErrorCode, Http2Error
from runtime.streaming import Broken
from tests.unit.runtime.http2_peer import Frame, announce, answer, asked, greeted, sent


def bodies(found: list[Frame]) -> dict[int, bytes]:
    """What was sent of each stream's body."""
    parts: dict[int, bytes] = {}
    for each in found:
        if each.kind == frames.DATA:
            parts[each.stream] = parts.get(each.stream, b"") + each.payload
    return parts


def test_a_large_body_goes_in_frames_as_large_as_the_server_takes() -> None:
    session = greeted(max_frame_size=20_000)
    asked(session, bytes(50_000))
    parts = [f for f in sent(session) if f.kind == frames.DATA]
    assert [(len(f.payload), f.flags) for f in parts] == [(20_000, 0), (20_000, 0), (10_000, frames.END_STREAM)]


def test_a_body_waits_for_its_own_window_and_holds_up_no_other() -> None:
    session = greeted(initial_window_size=3)
    asked(session, b"12345")
    asked(session, b"abc")
    assert bodies(sent(session)) == {1: b"123", 3: b"abc"}
    session.feed(frames.window_update(1, 1))
    (part,) = sent(session)
    assert (part.payload, part.flags) == (b"4", 0)
    session.feed(frames.window_update(1, 9))
    (part,) = sent(session)
    assert (part.payload, part.flags) == (b"5", frames.END_STREAM)


def test_bodies_wait_for_the_window_of_the_connection_in_their_order() -> None:
    session = greeted(initial_window_size=200_000)
    asked(session, bytes(60_000))
    asked(session, b"b" * 10_000)
    asked(session, b"c")
    assert {stream: len(body) for stream, body in bodies(sent(session)).items()} == {1: 60_000, 3: 5_535}
    session.feed(frames.window_update(0, 4_466))
    assert {stream: len(body) for stream, body in bodies(sent(session)).items()} == {3: 4_465, 5: 1}


def test_a_server_may_take_back_what_it_allowed() -> None:
    session = greeted(initial_window_size=4)
    asked(session, b"123456789")
    sent(session)
    session.feed(announce(initial_window_size=1))  # now at -3
    session.feed(frames.window_update(1, 3))
    assert bodies(sent(session)) == {}
    session.feed(announce(initial_window_size=3))
    assert bodies(sent(session)) == {1: b"56"}


def test_an_answer_that_does_not_wait_for_the_body_ends_the_sending() -> None:
    session = greeted(initial_window_size=1)
    exchange = asked(session, b"123")
    sent(session)
    session.feed(answer(1, b"too large", status="413"))
    assert isinstance(exchange.outcome, HttpAnswer)
    assert [(f.kind, f.stream, f.number) for f in sent(session)] == [(frames.RST_STREAM, 1, ErrorCode.NO_ERROR)]
    session.feed(frames.window_update(1, 10))
    assert sent(session) == []


def test_a_cancelled_body_is_sent_no_further() -> None:
    session = greeted(initial_window_size=1)
    session.cancel(asked(session, b"123"))
    sent(session)
    session.feed(announce(initial_window_size=100))
    assert bodies(sent(session)) == {}


@pytest.mark.parametrize(
    ("increment", "code"), [(0, ErrorCode.PROTOCOL_ERROR), (LARGEST_WINDOW, ErrorCode.FLOW_CONTROL_ERROR)]
)
def test_an_impossible_window_of_a_stream_ends_that_stream(increment: int, code: ErrorCode) -> None:
    session = greeted(initial_window_size=70_000)
    bad, good = asked(session, bytes(100_000)), asked(session)  # the connection's window is used up
    sent(session)
    session.feed(frames.frame(frames.WINDOW_UPDATE, 0, 1, struct.pack(">I", increment)))
    assert isinstance(bad.outcome, Broken)
    assert [(f.kind, f.stream, f.number) for f in sent(session)] == [(frames.RST_STREAM, 1, code)]
    assert session.under_way == [good]


def test_a_window_that_a_setting_makes_too_large_ends_the_connection() -> None:
    session = greeted(initial_window_size=1)
    asked(session, b"123")
    session.feed(frames.window_update(1, LARGEST_WINDOW - 1))
    asked(session, b"x" * 100_000)
    session.feed(frames.window_update(3, LARGEST_WINDOW - 1))
    with pytest.raises(Http2Error) as caught:
        session.feed(announce(initial_window_size=LARGEST_WINDOW))
    assert caught.value.code is ErrorCode.FLOW_CONTROL_ERROR


grants = st.lists(st.tuples(st.sampled_from([0, 1, 3, 5]), st.integers(1, 40_000)), max_size=30)


@given(st.lists(st.integers(1, 70_000), min_size=1, max_size=3), st.integers(0, 70_000), grants)
def test_no_window_is_ever_overrun_and_none_is_left_unused(
    sizes: list[int], first_window: int, given: list[tuple[int, int]]
) -> None:
    session = greeted(initial_window_size=first_window)
    wanted = {2 * number + 1: size for number, size in enumerate(sizes)}
    connection, streams, done = 65_535, dict.fromkeys(wanted, first_window), dict.fromkeys(wanted, 0)
    for size in sizes:
        asked(session, bytes(size))
    for stream, increment in [(0, 1), *given]:
        if stream == 0:
            connection += increment
        elif stream in wanted:
            streams[stream] += increment
        else:
            continue
        session.feed(frames.window_update(stream, increment))
        for number, body in bodies(sent(session)).items():
            done[number] += len(body)
        assert sum(done.values()) <= connection
        assert all(done[number] <= min(wanted[number], streams[number]) for number in wanted)
        if sum(done.values()) < connection:
            assert done == {number: min(wanted[number], streams[number]) for number in wanted}
