"""One connection on the event loop: turns, time and ends. How it comes about is in test_multiplexing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, cast

import pytest

from runtime import http2_frames as frames
from runtime.http1_answers import HttpAnswer
from runtime.http2_connection import PING_AFTER, PING_TIMEOUT, MultiplexedConnection
from runtime.http2_exchange import Unprocessed
from runtime.http2_frames import ErrorCode
from runtime.streaming import Broken
from tests.unit.runtime.http2_peer import GREETING, HEAD, Frame, announce, answer, goaway, parse, reset

pytestmark = pytest.mark.virtual_time
IDLE = 90.0
PONG = frames.frame(frames.PING, frames.ACK, 0, bytes(8))


class Wire:
    """An asyncio transport and the server at its other end."""

    def __init__(self, **settings: int) -> None:
        self.writes: list[list[Frame]] = []
        self.ended = ""
        self.gone: list[MultiplexedConnection] = []
        self._buffer = memoryview(bytearray(65_536))
        identity = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.connection = MultiplexedConnection(identity, self._buffer, IDLE, self.gone.append)
        self.connection.connection_made(cast("Any", self))
        self.receive(announce(**settings) if settings else GREETING)

    def receive(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def ask(
        self, seconds: float = 60.0, body: bytes = b"", permit: Callable[[], None] = lambda: None
    ) -> asyncio.Task[HttpAnswer]:
        return asyncio.create_task(
            self.connection.exchange(HEAD, body, asyncio.get_running_loop().time() + seconds, permit)
        )

    def sent(self, kind: int) -> list[Frame]:
        return [f for write in self.writes for f in write if f.kind == kind]

    def write(self, data: bytes) -> None:
        assert not self.ended
        self.writes.append(parse(data))

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = self.ended or "aborted"


async def turn() -> None:
    """Let everything that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_requests_of_one_turn_are_one_write_and_so_are_the_next_of_those_that_wake_up() -> None:
    wire = Wire()
    await turn()
    wire.writes.clear()

    async def ask_twice() -> list[int]:
        return [(await wire.ask(body=b"body")).status for _ in range(2)]

    tasks = [asyncio.create_task(ask_twice()) for _ in range(10)]
    await turn()
    assert [len(write) for write in wire.writes] == [20]
    wire.receive(b"".join(answer(2 * number + 1) for number in range(10)))
    await turn()
    assert [len(write) for write in wire.writes] == [20, 20]
    wire.receive(b"".join(answer(2 * number + 21) for number in range(10)))
    assert await asyncio.gather(*tasks) == [[200, 200]] * 10


async def test_a_request_that_is_cancelled_is_reset_and_the_others_go_on() -> None:
    wire = Wire()
    first, second = wire.ask(), wire.ask()
    await turn()
    first.cancel()
    await turn()
    assert [(f.stream, f.number) for f in wire.sent(frames.RST_STREAM)] == [(1, ErrorCode.CANCEL)]
    wire.receive(answer(1) + answer(3, b"ok"))
    assert (await second).body == b"ok"
    assert wire.connection.is_open


async def test_a_request_ends_when_its_time_is_up_and_the_server_is_asked_whether_it_is_there() -> None:
    loop = asyncio.get_running_loop()
    wire = Wire()
    slow, quick = wire.ask(60.0), wire.ask(7.0)
    with pytest.raises(Broken) as caught:
        await quick
    assert isinstance(caught.value.origin, TimeoutError)
    assert loop.time() == pytest.approx(7.0, abs=0.1)
    await turn()
    assert [(f.stream, f.number) for f in wire.sent(frames.RST_STREAM)] == [(3, ErrorCode.CANCEL)]
    assert len(wire.sent(frames.PING)) == 1
    wire.receive(PONG)
    await asyncio.sleep(PING_TIMEOUT)
    wire.receive(answer(1))
    assert (await slow).status == 200


async def test_what_waited_for_a_stream_until_its_time_was_up_was_not_processed() -> None:
    wire = Wire(max_concurrent_streams=0)
    with pytest.raises(Unprocessed) as caught:
        await wire.ask(7.0)
    assert isinstance(caught.value.origin, TimeoutError)
    assert wire.sent(frames.HEADERS) == wire.sent(frames.RST_STREAM) == []


async def test_a_silent_server_is_asked_and_given_up_when_it_says_nothing() -> None:
    loop = asyncio.get_running_loop()
    wire = Wire()
    waiting = wire.ask(60.0)
    await asyncio.sleep(PING_AFTER + 1)
    assert len(wire.sent(frames.PING)) == 1
    with pytest.raises(Broken) as caught:
        await waiting
    assert isinstance(caught.value.origin, TimeoutError)
    assert loop.time() == pytest.approx(PING_AFTER + PING_TIMEOUT, abs=0.1)
    assert wire.ended == "aborted"
    assert not wire.connection.is_open
    assert wire.gone == [wire.connection]


async def test_a_slow_server_that_answers_pings_keeps_its_request() -> None:
    wire = Wire()
    waiting = wire.ask(60.0)
    for expected in (1, 2, 3):
        await asyncio.sleep(PING_AFTER + 1)
        assert len(wire.sent(frames.PING)) == expected
        wire.receive(PONG)
    wire.receive(answer(1))
    assert (await waiting).status == 200


async def test_a_dead_server_is_noticed_though_nobody_waits_any_more() -> None:
    wire = Wire()
    with pytest.raises(Broken):
        await wire.ask(2.0)
    await asyncio.sleep(PING_TIMEOUT + 0.1)
    assert wire.ended == "aborted"


async def test_an_unused_connection_is_closed_after_a_while() -> None:
    wire = Wire()
    for _ in range(3):
        waiting = wire.ask()
        await turn()
        wire.receive(answer(len(wire.sent(frames.HEADERS)) * 2 - 1))
        await waiting
        await asyncio.sleep(IDLE - 5)
        assert wire.connection.is_open
    await asyncio.sleep(5.1)
    assert wire.ended == "aborted"
    assert [f.number for f in wire.sent(frames.GOAWAY)] == [ErrorCode.NO_ERROR]
    assert wire.sent(frames.PING) == []


async def test_a_retired_connection_finishes_what_it_has_and_closes() -> None:
    wire = Wire()
    waiting = wire.ask()
    await turn()
    wire.connection.retire()
    assert not wire.connection.is_open
    assert not wire.is_closing()
    wire.receive(answer(1))
    assert (await waiting).status == 200
    assert wire.ended == "aborted"


async def test_the_time_of_requests_on_a_retired_connection_runs_on() -> None:
    wire = Wire()
    waiting = wire.ask(50.0)
    await turn()
    wire.connection.retire()
    for _ in range(3):
        await asyncio.sleep(PING_AFTER + 1)
        wire.receive(PONG)
    with pytest.raises(Broken):
        await waiting
    assert wire.ended == "aborted"


async def test_after_the_servers_goodbye_the_last_answers_come_and_the_rest_is_unprocessed() -> None:
    wire = Wire()
    first, second = wire.ask(), wire.ask()
    await turn()
    wire.receive(goaway(1))
    assert not wire.connection.is_open
    with pytest.raises(Unprocessed):
        await second
    wire.receive(answer(1))
    assert (await first).status == 200
    assert wire.ended == "aborted"


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (lambda wire: wire.connection.connection_lost(None), "^$"),
        (lambda wire: wire.connection.connection_lost(ConnectionResetError("reset")), "reset"),
        (lambda wire: wire.receive(goaway(9, 2)) or wire.connection.connection_lost(None), "INTERNAL_ERROR"),
        (lambda wire: wire.receive(reset(1, 2)), "INTERNAL_ERROR"),
        (lambda wire: wire.connection.close(), "the transport was closed"),
    ],
)
async def test_whoever_waits_at_the_end_hears_why(end: Any, text: str) -> None:
    wire = Wire()
    waiting = wire.ask()
    await turn()
    end(wire)
    with pytest.raises(Broken, match=text):
        await waiting


async def test_malformed_bytes_end_the_connection_with_their_code_after_the_good_answers() -> None:
    wire = Wire()
    good, bad = wire.ask(), wire.ask()
    await turn()
    wire.receive(answer(1, b"ok") + frames.frame(frames.PING, 0, 0, b"short"))
    assert (await good).body == b"ok"
    with pytest.raises(Broken, match="malformed HTTP/2: a frame of the wrong size"):
        await bad
    (last,) = wire.sent(frames.GOAWAY)
    assert int.from_bytes(last.payload[4:8]) == ErrorCode.FRAME_SIZE_ERROR
    assert wire.ended == "closed"


async def test_a_ping_of_the_server_is_answered() -> None:
    wire = Wire()
    wire.receive(frames.frame(frames.PING, 0, 0, b"12345678"))
    await turn()
    assert [(f.flags, f.payload) for f in wire.sent(frames.PING)] == [(frames.ACK, b"12345678")]
