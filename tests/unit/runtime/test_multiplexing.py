"""How HTTP/2 connections come about, are shared, end and are replaced, as the users of a transport see it."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime import http2_frames as frames
from runtime import multiplexing, requests
from runtime.backoff import Backoff
from runtime.errors import ConfigError, ConnectionFailed
from runtime.http2_frames import ErrorCode
from runtime.kubeconfig import ClientConfig
from runtime.retry import ONCE, RetryPolicy
from runtime.tls import Pem, Tls
from runtime.transport import Transport
from tests.pki import Authority
from tests.scripted_server import ScriptedServer
from tests.scripted_server import answer as plain_answer
from tests.things import THINGS
from tests.unit.runtime.http2_peer import GREETING, announce, answer, data, goaway, head, reset
from tests.unit.runtime.http2_server import Http2Server, Line, React

GET = requests.get(THINGS, "a", "n")
CREATE = requests.create(THINGS, {"metadata": {"name": "a"}}, "n")
AT_ONCE = RetryPolicy(attempts=4, backoff=Backoff(base=0.0, jitter=0.0))
AUTHORITY = Authority()
SERVER = AUTHORITY.issue("server", "127.0.0.1")


@pytest.fixture
def listening(tmp_path: Path) -> ssl.SSLContext:
    """What a server listens with."""
    return AUTHORITY.server_context(tmp_path, SERVER)


def trusting() -> Tls:
    return Tls(ca=Pem("ca", data=AUTHORITY.pem))


class ChangingTls(Tls):
    """Says who we are anew whenever the test wants it."""

    def renew(self) -> None:
        self._context = None


def transport_to(url: str, tls: Tls | None = None, retry: RetryPolicy = ONCE, in_flight: int = 0) -> Transport:
    return Transport(ClientConfig(server=url, tls=tls or trusting()), retry=retry, in_flight=in_flight)


@asynccontextmanager
async def connected(
    listening: ssl.SSLContext,
    react: React,
    *,
    retry: RetryPolicy = ONCE,
    tls: Tls | None = None,
    greeting: bytes = GREETING,
) -> AsyncIterator[tuple[Http2Server, Transport]]:
    """A server and a transport to it."""
    async with (
        Http2Server(listening, react, greeting=greeting) as server,
        transport_to(server.url, tls, retry) as transport,
    ):
        yield server, transport


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # the condition is the server's, not an event's
            await asyncio.sleep(0.005)


def accept(line: Line, stream: int) -> None:
    line.write(answer(stream, b"{}"))


def ignore(_line: Line, _stream: int) -> None:
    """Never answer."""


def first_time(first: React, later: React = accept) -> React:
    """React in one way on the first connection, in another one on those after it."""
    return lambda line, stream: (first if line is line._server.lines[0] else later)(line, stream)


async def test_all_requests_share_one_connection_from_the_start(listening: ssl.SSLContext) -> None:
    async with connected(listening, accept) as (server, transport):
        found = await asyncio.gather(*(transport.send(GET) for _ in range(50)))
        assert (await transport.send(CREATE)).status == 200
    assert {response.status for response in found} == {200}
    assert server.asked == [51]
    (line,) = server.lines
    assert line.asked[1][":path"] == GET.target
    assert line.asked[101][":method"] == "POST"
    assert line.asked[101]["content-length"] == str(len(CREATE.body or b""))


async def test_where_connections_have_much_to_do_some_more_are_dialled_but_not_many(listening: ssl.SSLContext) -> None:
    held: list[tuple[Line, int]] = []
    async with connected(listening, lambda line, stream: held.append((line, stream))) as (server, transport):
        tasks = []
        for number in range(1, 121):
            tasks.append(asyncio.create_task(transport.send(GET)))
            await eventually(lambda number=number: len(held) == number)  # type: ignore[misc]
        assert len(server.lines) == 8
        assert max(server.asked) <= 20
        for line, stream in held:
            accept(line, stream)
        assert {response.status for response in await asyncio.gather(*tasks)} == {200}


async def test_an_answer_is_what_http_1_would_have_brought(listening: ssl.SSLContext) -> None:
    def react(line: Line, stream: int) -> None:
        fields = ("content-type", "application/json"), ("retry-after", "7")
        line.write(head(stream, *fields, status="409") + data(stream, b'{"a":', last=False) + data(stream, b"1}"))

    async with connected(listening, react) as (_, transport):
        response = await transport.send(CREATE)
    assert (response.status, response.body, response.retry_after) == (409, b'{"a":1}', 7)
    assert response.headers["Content-Type"] == "application/json"


async def test_a_server_of_http_1_is_asked_once_and_its_connection_used(listening: ssl.SSLContext) -> None:
    listening.set_alpn_protocols(["http/1.1"])
    async with ScriptedServer(plain_answer(200), tls=listening) as server, transport_to(server.url) as transport:
        for _ in range(3):
            assert (await transport.send(GET)).status == 200
        assert server.connections == 1
        found = await asyncio.gather(*(transport.send(CREATE) for _ in range(4)))
    assert [response.status for response in found] == [200] * 4


@pytest.mark.parametrize(("value", "enabled"), [(None, True), ("", True), ("1", False), ("false", False)])
def test_a_variable_switches_it_off_as_in_gos_clients(value: str | None, enabled: bool) -> None:
    assert multiplexing.is_enabled({} if value is None else {"DISABLE_HTTP2": value}) is enabled


async def test_switched_off_it_is_not_even_offered(listening: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_HTTP2", "true")
    listening.set_alpn_protocols(["h2", "http/1.1"])
    async with ScriptedServer(plain_answer(200), tls=listening) as server, transport_to(server.url) as transport:
        assert (await transport.send(GET)).status == 200


async def test_while_a_certificate_is_being_replaced_requests_go_by_http_1(
    listening: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    class HalfTls(ChangingTls):
        is_half = True

        def multiplexed(self) -> ssl.SSLContext:
            if self.is_half:
                raise ConfigError("half a certificate")
            return super().multiplexed()

    tls = HalfTls(ca=Pem("ca", data=AUTHORITY.pem))
    listening.set_alpn_protocols(["http/1.1"])
    async with ScriptedServer(plain_answer(200), tls=listening) as server, transport_to(server.url, tls) as transport:
        for _ in range(2):
            assert (await transport.send(GET)).status == 200
        assert [record.getMessage() for record in caplog.records if record.name == "runtime.multiplexing"] == [
            'msg="going on with HTTP/1.1" error="half a certificate"'
        ]
        tls.is_half = False
        tls.renew()
        assert (await transport.send(GET)).status == 200
        assert transport._multiplexer is not None
        assert transport._multiplexer.is_declined(tls.context())
    assert server.connections == 2


async def test_no_more_requests_are_under_way_than_the_server_takes(listening: ssl.SSLContext) -> None:
    held: list[int] = []
    most = 0

    def answer_when_full(line: Line, stream: int) -> None:
        nonlocal most
        held.append(stream)
        most = max(most, len(held))
        left = 500 - len(line.asked)
        if len(held) == 100 or not left:
            line.write(b"".join(answer(number) for number in held))
            held.clear()

    async with connected(listening, answer_when_full, greeting=announce(max_concurrent_streams=100)) as (
        server,
        transport,
    ):
        found = await asyncio.gather(*(transport.send(CREATE) for _ in range(500)))
    assert [response.status for response in found] == [200] * 500
    assert server.asked == [500]
    assert most == 100


async def test_a_large_answer_arrives_whole(listening: ssl.SSLContext) -> None:
    body = bytes(range(256)) * 4 * 1024 * 20

    def react(line: Line, stream: int) -> None:
        line.write(head(stream))
        for start in range(0, len(body), 16_384):
            line.write(data(stream, body[start : start + 16_384], last=False))
        line.write(data(stream, b""))

    async with connected(listening, react) as (_, transport):
        large, small = await asyncio.gather(transport.send(GET), transport.send(GET))
    assert large.body == small.body == body


async def test_what_a_server_that_leaves_has_not_looked_at_is_sent_again_at_once(listening: ssl.SSLContext) -> None:
    def leave_after_two(line: Line, stream: int) -> None:
        if stream == 5:
            line.write(goaway(3) + answer(1) + answer(3))

    react = first_time(leave_after_two)
    async with connected(listening, react) as (server, transport):
        found = await asyncio.gather(*(transport.send(CREATE) for _ in range(3)))
        await asyncio.wait_for(server.lines[0].ended.wait(), 10)
    assert [(response.status, response.repeated) for response in found] == [(200, False)] * 3
    assert server.asked == [3, 1]


async def test_new_requests_go_over_a_new_connection_while_the_old_one_ends(listening: ssl.SSLContext) -> None:
    def announce_the_end(line: Line, _stream: int) -> None:
        line.write(goaway(2**31 - 1))

    async with connected(listening, first_time(announce_the_end)) as (server, transport):
        old = asyncio.create_task(transport.send(CREATE))
        await eventually(lambda: server.asked == [1])
        await transport.send(CREATE)
        await eventually(lambda: server.asked == [1, 1])
        assert not old.done()
        server.lines[0].write(answer(1))
        assert (await old).status == 200


@pytest.mark.parametrize(
    "refuse",
    [
        pytest.param(lambda line, stream: line.write(reset(stream, ErrorCode.REFUSED_STREAM)), id="refused streams"),
        pytest.param(lambda line, _: line.write(goaway(0)), id="connections that end"),
    ],
)
async def test_a_server_that_refuses_for_ever_is_left_alone_before_long(
    listening: ssl.SSLContext, refuse: React
) -> None:
    async with connected(listening, refuse) as (server, transport):
        with pytest.raises(ConnectionFailed) as caught:
            await transport.send(CREATE)
    assert not caught.value.sent
    assert sum(server.asked) == 4


async def test_a_request_waits_for_a_place_no_longer_than_for_an_answer(listening: ssl.SSLContext) -> None:
    greeting = announce(max_concurrent_streams=0)
    async with (
        Http2Server(listening, ignore, greeting=greeting) as server,
        Transport(ClientConfig(server=server.url, tls=trusting()), retry=ONCE, timeout=0.3) as transport,
    ):
        with pytest.raises(ConnectionFailed, match="i/o timeout") as caught:
            await transport.send(CREATE)
    assert not caught.value.sent
    assert server.asked == [0]


def close(line: Line, _stream: int) -> None:
    line.close()


def babble(line: Line, _stream: int) -> None:
    line.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 1000)


@pytest.mark.parametrize("end", [pytest.param(close, id="closed"), pytest.param(babble, id="malformed")])
async def test_requests_under_way_break_with_their_connection_and_the_next_opens_another(
    listening: ssl.SSLContext, end: React
) -> None:
    def end_when_two_wait(line: Line, stream: int) -> None:
        if stream == 3:
            end(line, stream)

    async with connected(listening, first_time(end_when_two_wait)) as (server, transport):
        found = await asyncio.gather(*(transport.send(CREATE) for _ in range(2)), return_exceptions=True)
        assert [isinstance(error, ConnectionFailed) and error.sent for error in found] == [True, True]
        assert (await transport.send(CREATE)).status == 200
    assert server.asked == [2, 1]


async def test_reads_are_repeated_after_a_broken_connection_and_creates_are_not(listening: ssl.SSLContext) -> None:
    def close_at_the_second(line: Line, stream: int) -> None:
        if stream == 3:
            line.close()

    async with connected(listening, first_time(close_at_the_second), retry=AT_ONCE) as (server, transport):
        read, created = await asyncio.gather(transport.send(GET), transport.send(CREATE), return_exceptions=True)
    assert not isinstance(read, BaseException)
    assert (read.status, read.repeated) == (200, True)
    assert isinstance(created, ConnectionFailed)
    assert server.asked == [2, 1]


async def test_a_new_identity_gets_a_new_connection_and_the_old_one_ends_after_its_last_answer(
    listening: ssl.SSLContext,
) -> None:
    tls = ChangingTls(ca=Pem("ca", data=AUTHORITY.pem))
    async with connected(listening, first_time(ignore), tls=tls) as (server, transport):
        old = asyncio.create_task(transport.send(CREATE))
        await eventually(lambda: server.asked == [1])
        tls.renew()
        assert (await transport.send(CREATE)).status == 200
        assert not server.lines[0].ended.is_set()
        server.lines[0].write(answer(1))
        assert (await old).status == 200
        await asyncio.wait_for(server.lines[0].ended.wait(), 10)
    assert server.asked == [1, 1]


async def test_a_cancelled_request_leaves_its_neighbours_alone(listening: ssl.SSLContext) -> None:
    async with connected(listening, ignore) as (server, transport):
        cancelled, other = (asyncio.create_task(transport.send(CREATE)) for _ in range(2))
        await eventually(lambda: server.asked == [2])
        cancelled.cancel()
        await eventually(lambda: bool(server.lines[0].sent(frames.RST_STREAM)))
        server.lines[0].write(answer(3))
        assert (await other).status == 200
    (frame,) = server.lines[0].sent(frames.RST_STREAM)
    assert (frame.stream, frame.number) == (1, ErrorCode.CANCEL)


async def test_whoever_waits_for_the_handshake_when_one_of_them_is_cancelled_goes_on(listening: ssl.SSLContext) -> None:
    async with connected(listening, accept) as (server, transport):
        first, second = (asyncio.create_task(transport.send(CREATE)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).status == 200
    assert server.asked == [1]


async def test_an_untrusted_server_is_told_to_each_that_waited(listening: ssl.SSLContext) -> None:
    tls = Tls(ca=Pem("ca", data=Authority("other").pem))
    async with connected(listening, accept, tls=tls) as (_, transport):
        found = await asyncio.gather(*(transport.send(GET) for _ in range(3)), return_exceptions=True)
    assert {type(error) for error in found} == {ConnectionFailed}
    assert {re.sub(".*: ", "", str(error)) for error in found} == {"certificate signed by unknown authority"}
    assert len({id(error) for error in found}) == 3


async def test_closing_breaks_requests_that_still_wait_for_a_handshake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection, nobody answers
        transport = transport_to(f"https://127.0.0.1:{silent.getsockname()[1]}")
        waiting = asyncio.create_task(transport.send(CREATE))
        await asyncio.sleep(0.05)
        await transport.aclose()
        with pytest.raises(ConnectionFailed, match="the transport was closed"):
            await asyncio.wait_for(waiting, 5)


async def test_a_closed_transport_dials_no_more(listening: ssl.SSLContext) -> None:
    async with connected(listening, accept) as (server, transport):
        await transport.aclose()
        with pytest.raises(RuntimeError, match="the transport is closed"):
            await transport.send(GET)
    assert server.lines == []


class LeaseLost(Exception):  # noqa: N818
    pass


async def test_the_guard_is_asked_again_before_a_request_is_sent_again(listening: ssl.SSLContext) -> None:
    async with connected(listening, lambda line, _: line.write(goaway(0))) as (server, transport):
        calls: list[int] = []

        def guard() -> None:
            calls.append(len(server.lines))
            if len(calls) == 2:
                raise LeaseLost

        with pytest.raises(LeaseLost):
            await transport.send(CREATE, guard=guard)
    assert calls == [1, 2]  # each after its handshake
    assert server.asked == [1, 0]


async def test_the_guard_is_asked_again_after_a_wait_for_a_place(listening: ssl.SSLContext) -> None:
    async with connected(listening, ignore, greeting=announce(max_concurrent_streams=1)) as (server, transport):
        is_leader = True

        def guard() -> None:
            if not is_leader:
                raise LeaseLost

        first = asyncio.create_task(transport.send(CREATE))
        await eventually(lambda: server.asked == [1])
        second, third = (asyncio.create_task(transport.send(CREATE, guard=guard)) for _ in range(2))
        await asyncio.sleep(0.05)
        is_leader = False
        server.lines[0].write(answer(1))
        assert (await first).status == 200
        for task in (second, third):
            with pytest.raises(LeaseLost):
                await task
        server.react = accept
        assert (await transport.send(CREATE)).status == 200
