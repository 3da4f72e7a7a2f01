from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress

import pytest

from runtime import https
from runtime.http1 import HttpRequest, HttpResponse
from runtime.https import DrainTimeout, HttpsServer
from runtime.https_connection import Connection, HttpHandler, Timeouts
from runtime.servingtls import ServingTls
from tests.unit.runtime.tls_clients import Client, eventually, pair_number, serving, trusting

MAX_BODY = 200_000


@pytest.fixture(autouse=True)
def _quick_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https, "_SWEEP_INTERVAL", 0.01)


def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(200, request.path.encode() + b" " + request.body, "text/plain")


class Gate:
    """An asynchronous handler that answers when it is told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        self.entered.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return echo(request)


class Recorder(asyncio.Transport):
    """A transport that knows whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self._reads = True

    def is_reading(self) -> bool:
        return self._reads

    def pause_reading(self) -> None:
        self._reads = False

    def resume_reading(self) -> None:
        self._reads = True


def silent_host() -> HttpsServer:
    """A server that doesn't listen."""
    return HttpsServer(echo, serving().context, max_body=MAX_BODY)


@asynccontextmanager
async def running(handler: HttpHandler = echo, timeouts: Timeouts | None = None) -> AsyncIterator[HttpsServer]:
    server = HttpsServer(handler, serving().context, host="127.0.0.1", port=0, max_body=MAX_BODY, timeouts=timeouts)
    await server.start()
    try:
        yield server
    finally:
        server.abort()
        # Aborted transports report their end in the next turns of the loop.
        await eventually(lambda: not server.connection_count)


async def test_requests_are_answered_over_one_connection() -> None:
    async with running() as server, await Client.connect(server.port) as client:
        for number in range(3):
            answer = await client.ask(b"body", path=f"/{number}")
            assert (answer.status, answer.body) == (200, b"/%d body" % number)
            assert "connection" not in answer.headers
            assert answer.headers["date"].endswith("GMT")


@pytest.mark.parametrize("is_slow", [False, True])
async def test_the_answer_to_head_has_no_body_that_the_next_one_could_begin_with(*, is_slow: bool) -> None:
    async def slowly(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0)
        return echo(request)

    async with running(slowly if is_slow else echo) as server, await Client.connect(server.port) as client:
        client.send(b"body", method="HEAD")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"\r\nContent-Length: 6\r\n" in head
        assert (await client.ask(b"more")).body == b"/ more"


async def test_requests_sent_ahead_are_answered_in_order() -> None:
    async def slow_first(request: HttpRequest) -> HttpResponse:
        for _ in range(20 if request.path == "/0" else 0):
            await asyncio.sleep(0)
        return echo(request)

    def handler(request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        return echo(request) if request.path == "/1" else slow_first(request)

    async with running(handler) as server, await Client.connect(server.port) as client:
        for number in range(4):
            client.send(path=f"/{number}")
        assert [(await client.receive()).body for _ in range(4)] == [b"/0 ", b"/1 ", b"/2 ", b"/3 "]


@pytest.mark.parametrize("size", [0, 1, 16_384, 70_000, MAX_BODY])
async def test_bodies_of_many_records_go_both_ways(size: int) -> None:
    async with running() as server, await Client.connect(server.port) as client:
        body = bytes(range(256)) * (size // 256 + 1)
        assert (await client.ask(body[:size])).body == b"/ " + body[:size]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_modern_versions_of_tls_are_spoken(version: ssl.TLSVersion) -> None:
    context = trusting()
    context.minimum_version = context.maximum_version = version
    async with running() as server, await Client.connect(server.port, context) as client:
        assert (await client.ask()).status == 200
        assert client.writer.get_extra_info("ssl_object").version() == version.name.replace("v1_", "v1.")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
async def test_what_is_older_or_weaker_is_refused() -> None:
    old = trusting()
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    weak = trusting()
    weak.maximum_version = ssl.TLSVersion.TLSv1_2
    weak.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384:AES128-SHA")
    async with running() as server:
        for context in (old, weak):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await Client.connect(server.port, context)
        async with await Client.connect(server.port) as client:
            assert (await client.ask()).status == 200


async def test_plain_http_and_rubbish_end_their_own_connection_only() -> None:
    async with running() as server:
        for text in (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"\0" * 100):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(text)
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
        async with await Client.connect(server.port) as client:
            assert (await client.ask()).status == 200


async def test_the_next_connection_gets_the_certificate_of_the_moment() -> None:
    tls = serving(pair_number(0))
    server = HttpsServer(echo, tls.context, host="127.0.0.1", port=0, max_body=MAX_BODY)
    await server.start()
    try:
        async with await Client.connect(server.port) as old:
            assert (await old.ask()).status == 200
            tls.install(pair_number(1).cert, pair_number(1).key)
            async with await Client.connect(server.port, trusting(pair_number(1))) as new:
                assert (await new.ask()).status == 200
                assert (await old.ask()).status == 200
                assert new.serial != old.serial
    finally:
        server.abort()


async def test_connections_are_refused_until_there_is_a_certificate() -> None:
    tls = ServingTls()
    server = HttpsServer(echo, tls.context, host="127.0.0.1", port=0, max_body=MAX_BODY)
    await server.start()
    try:
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await Client.connect(server.port)
        await eventually(lambda: not server.connection_count)
        tls.install(pair_number(0).cert, pair_number(0).key)
        async with await Client.connect(server.port) as client:
            assert (await client.ask()).status == 200
    finally:
        server.abort()


@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_body_that_is_too_large_is_refused_and_the_refusal_arrives(framing: str) -> None:
    async with running() as server, await Client.connect(server.port) as client:
        head = "Transfer-Encoding: chunked" if framing == "chunks" else f"Content-Length: {3 * MAX_BODY}"
        client.writer.write(f"POST / HTTP/1.1\r\nHost: h\r\n{head}\r\n\r\n".encode())
        chunk = b"x" * 10_000
        for _ in range(3 * MAX_BODY // len(chunk)):
            client.writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk) if framing == "chunks" else chunk)
        answer = await client.receive()

        assert (answer.status, answer.body) == (413, b"request body too large\n")
        assert answer.headers["connection"] == "close"
        assert await client.ended()


async def test_a_refusal_reaches_a_client_that_reads_only_when_it_has_sent_everything() -> None:
    context, body = trusting(), b"x" * 3_000_000

    def send_all_then_read(port: int) -> bytes:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as client,
        ):
            client.settimeout(20)
            client.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
            return answer

    async with running() as server:
        answer = await asyncio.to_thread(send_all_then_read, server.port)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"request body too large\n")


async def test_a_client_that_asks_before_sending_is_told_to_go_on() -> None:
    async with running() as server, await Client.connect(server.port) as client:
        client.writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.writer.write(b"ab")
        assert (await client.receive()).body == b"/ ab"


async def test_a_client_may_ask_for_the_end() -> None:
    async with running() as server, await Client.connect(server.port) as client:
        answer = await client.ask(b"", "Connection: close")
        assert answer.headers["connection"] == "close"
        assert await client.ended()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_that_throws_is_answered_for(*, is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise ValueError("defect")

    async def fail_later(request: HttpRequest) -> HttpResponse:
        return fail(request)

    async with running(fail_later if is_async else fail) as server, await Client.connect(server.port) as client:
        for _ in range(2):
            assert (await client.ask()).status == 500
    assert "defect" in caplog.text


async def test_a_handler_is_cancelled_when_its_client_goes() -> None:
    gate = Gate()
    async with running(gate) as server:
        async with await Client.connect(server.port) as client:
            client.send()
            await gate.entered.wait()
        await gate.cancelled.wait()


async def test_reading_stops_while_a_client_runs_ahead() -> None:
    gate = Gate()
    async with running(gate) as server, await Client.connect(server.port) as client:
        client.send()
        await gate.entered.wait()
        flood = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + b"y" * 100_000
        client.writer.transport.set_write_buffer_limits(high=1)
        for _ in range(200):
            client.writer.write(flood)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.writer.drain(), 0.2)
        assert sum(connection._reader.buffered for connection in server._connections) < 1_000_000

        gate.opened.set()
        for number in range(201):
            assert len((await client.receive()).body) == (100_003 if number else 2)


async def test_reading_stops_while_a_client_does_not_take_its_answers() -> None:
    def big(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, request.path.encode().ljust(100_000, b"z"), "text/plain")

    async with running(big) as server, await Client.connect(server.port) as client:
        transport = client.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        transport.set_write_buffer_limits(high=1)
        flood = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + b"y" * 1000
        for _ in range(10_000):
            client.writer.write(flood)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.writer.drain(), 0.5)
        [connection] = server._connections
        assert connection._reader.buffered < 200_000

        transport.resume_reading()
        for _ in range(50):
            assert len((await client.receive()).body) == 100_000


@pytest.mark.virtual_time
async def test_the_time_to_take_answers_is_one_until_the_client_has_caught_up() -> None:
    connection, loop = Connection(silent_host()), asyncio.get_running_loop()
    connection._is_secure, connection._transport = True, Recorder()
    connection._reader.feed(b"POST / HTTP/1.1\r\n")  # there is always a bit more to come

    for spent in (0.0, 20.0, 40.0):
        connection.pause_writing()
        connection._pace()
        assert connection.deadline == pytest.approx(loop.time() + 60.0 - spent)
        assert not connection._transport.is_reading()
        await asyncio.sleep(20.0)
        connection.resume_writing()
        assert connection._transport.is_reading()
        await asyncio.sleep(1000.0)  # not blocked: this isn't counted

    connection._reader.feed(b"Host: h\r\nContent-Length: 1\r\n\r\nx")
    assert connection._reader.next() is not None
    connection._pace()
    connection.pause_writing()
    assert connection.deadline == pytest.approx(loop.time() + 60.0)


@pytest.mark.virtual_time
async def test_a_handshake_gains_no_time_from_blocked_writes() -> None:
    connection = Connection(silent_host())
    limit = connection.deadline
    connection.pause_writing()
    await asyncio.sleep(1.0)
    connection.resume_writing()
    assert connection.deadline == limit


@pytest.mark.parametrize(
    ("sent", "timeouts"),
    [
        pytest.param(b"POST / HTTP/1.1\r\n", Timeouts(head=0.1), id="the head"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab", Timeouts(read=0.1), id="the body"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", Timeouts(read=0.1), id="a chunk"
        ),
    ],
)
async def test_a_request_that_takes_too_long_to_arrive_is_refused(sent: bytes, timeouts: Timeouts) -> None:
    async with running(timeouts=timeouts) as server, await Client.connect(server.port) as client:
        assert (await client.ask()).status == 200
        client.writer.write(sent)
        answer = await client.receive()
        assert (answer.status, answer.body) == (408, b"request took too long to arrive\n")
        assert await client.ended()


async def test_a_drip_of_bytes_does_not_extend_the_time_for_a_head() -> None:
    async with running(timeouts=Timeouts(head=0.3)) as server, await Client.connect(server.port) as client:
        client.writer.write(b"POST / HTTP/1.1\r\n")
        answer = asyncio.ensure_future(client.receive())
        while not answer.done():
            client.writer.write(b"X: y\r\n")
            await asyncio.wait([answer], timeout=0.02)
        assert answer.result().status == 408


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    async with running(timeouts=Timeouts(head=0.1)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with running(timeouts=Timeouts(idle=0.1)) as server, await Client.connect(server.port) as client:
        assert (await client.ask()).status == 200
        assert await client.ended()


async def test_a_client_that_does_not_read_is_given_up() -> None:
    def big(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, b"x" * 20_000_000, "text/plain")

    context = trusting()
    async with running(big, Timeouts(write=0.2)) as server:
        loop = asyncio.get_running_loop()

        def connect() -> ssl.SSLSocket:
            client = context.wrap_socket(
                socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost"
            )
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            return client

        with await loop.run_in_executor(None, connect):
            await eventually(lambda: server.connection_count)
            await eventually(lambda: not server.connection_count)


async def test_a_drain_lets_requests_finish_and_refuses_new_connections() -> None:
    gate = Gate()
    async with running(gate) as server, await Client.connect(server.port) as client:
        client.send(b"last")
        await gate.entered.wait()
        drain = asyncio.ensure_future(server.drain(20))
        await eventually(lambda: not server.is_listening)
        with pytest.raises(ConnectionError):
            await Client.connect(server.port)
        gate.opened.set()

        answer = await client.receive()
        assert (answer.body, answer.headers["connection"]) == (b"/ last", "close")
        assert await client.ended()
        await drain


async def test_a_drain_takes_in_who_is_connected_already() -> None:
    async with running() as server:
        waiting = socket.create_connection(("127.0.0.1", server.port))  # the loop has no turn in which to accept it
        drain = asyncio.ensure_future(server.drain(20))
        streams = await asyncio.open_connection(sock=waiting, ssl=trusting(), server_hostname="localhost")
        async with Client(*streams) as client:
            answer = await client.ask(b"late")
            assert (answer.body, answer.headers["connection"]) == (b"/ late", "close")
        await drain


async def test_a_drain_closes_idle_connections_but_not_before_a_request_on_its_way_is_answered() -> None:
    async with (
        running() as server,
        await Client.connect(server.port) as idle,
        await Client.connect(server.port) as busy,
    ):
        assert (await idle.ask()).status == 200
        assert (await busy.ask()).status == 200
        drain = asyncio.ensure_future(server.drain(20))
        await eventually(lambda: not server.is_listening)

        answer = await busy.ask(b"late")
        assert (answer.body, answer.headers["connection"]) == (b"/ late", "close")
        assert await idle.ended()
        await drain
        assert server.connection_count == 0


async def test_a_drain_that_takes_too_long_ends_by_force() -> None:
    gate = Gate()
    async with running(gate) as server, await Client.connect(server.port) as client:
        client.send()
        await gate.entered.wait()
        with pytest.raises(DrainTimeout, match=r"1 connections were still open after 0\.1 s"):
            await server.drain(0.1)
        await gate.cancelled.wait()
        assert await client.ended()


async def test_a_drain_can_be_cut_short() -> None:
    gate = Gate()
    async with running(gate) as server, await Client.connect(server.port) as client:
        client.send()
        await gate.entered.wait()
        drain = asyncio.ensure_future(server.drain(3600))
        await eventually(lambda: not server.is_listening)
        server.abort()
        await drain
        await gate.cancelled.wait()


async def test_an_empty_server_drains_at_once() -> None:
    async with running() as server:
        waiting = asyncio.ensure_future(server.wait_ended())
        await asyncio.wait_for(server.drain(math.inf), 20)
        await waiting


async def test_an_address_in_use_is_an_error() -> None:
    async with running() as server:
        second = HttpsServer(echo, serving().context, host="127.0.0.1", port=server.port, max_body=MAX_BODY)
        with pytest.raises(OSError, match="in use"):
            await second.start()
