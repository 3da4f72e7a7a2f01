"""What only the asynchronous shell does; what both do is in test_shells."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime import requests
from runtime.backoff import Backoff
from runtime.credentials import RenewedCredentials
from runtime.errors import ConnectionFailed
from runtime.kubeconfig import ClientConfig
from runtime.requests import Priority
from runtime.retry import ONCE, RetryPolicy
from runtime.tls import Tls
from runtime.transport import Transport
from tests.pki import Authority
from tests.scripted_server import Answer, Exchange, ScriptedServer, answer, failure, hang, stream
from tests.things import THINGS

GET = requests.get(THINGS, "a", "n")
WATCH = requests.watch(THINGS, "n")
POLICY = RetryPolicy(attempts=4, backoff=Backoff(base=1.0, jitter=0.0))


def create(name: str, priority: Priority = Priority.DEFAULT) -> requests.Request:
    return requests.create(THINGS, {"metadata": {"name": name}}, "n", priority=priority)


def connect(server: ScriptedServer | str, **options: object) -> Transport:
    url = server if isinstance(server, str) else server.url
    return Transport(ClientConfig(server=url), **{"retry": POLICY, **options})  # type: ignore[arg-type]  # options by name


def held_until(release: asyncio.Event) -> Answer:
    async def run(exchange: Exchange) -> None:
        await release.wait()
        await exchange.send(answer(201))

    return run


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # the condition is the server's, not an event's
            await asyncio.sleep(0.005)


async def test_an_unknown_host_is_told() -> None:
    async with connect("http://no-such-host.invalid", retry=ONCE) as transport:
        with pytest.raises(ConnectionFailed, match=r"dial tcp: lookup no-such-host\.invalid: no such host"):
            await transport.send(GET)


@pytest.mark.virtual_time
async def test_any_request_outlasts_a_server_that_is_not_up_yet() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    async with connect(f"http://127.0.0.1:{port}") as transport:
        write = asyncio.create_task(transport.send(create("a")))
        await asyncio.sleep(2.5)
        async with ScriptedServer(answer(201), port=port) as server:
            response = await write
    assert (response.status, response.repeated) == (201, False)
    assert len(server.received) == 1


@pytest.mark.virtual_time
async def test_pauses_between_tries_follow_the_server_and_the_policy() -> None:
    loop = asyncio.get_running_loop()
    script = answer(429, b"", Retry_After="3"), answer(503), answer(200)
    async with ScriptedServer(*script) as server, connect(server) as transport:
        begin = loop.time()
        assert (await transport.send(GET)).status == 200
    assert loop.time() - begin == pytest.approx(6.0, abs=0.1)


async def test_a_bind_passes_the_events_that_wait_for_a_place() -> None:
    release = asyncio.Event()
    async with ScriptedServer(held_until(release), answer(201)) as server, connect(server, in_flight=1) as transport:
        first = asyncio.create_task(transport.send(create("first")))
        await eventually(lambda: len(server.received) == 1)
        events = [asyncio.create_task(transport.send(create(f"event-{n}", Priority.EVENT))) for n in range(3)]
        await asyncio.sleep(0)
        bind = asyncio.create_task(transport.send(create("bind", Priority.BIND)))
        await eventually(lambda: transport.gate.waiting == 4)
        release.set()
        await asyncio.gather(first, bind, *events)
    names = [received.json()["metadata"]["name"] for received in server.received]
    assert names == ["first", "bind", "event-0", "event-1", "event-2"]


async def test_the_guard_is_asked_when_the_turn_has_come_and_its_refusal_frees_the_place() -> None:
    class LeaseLost(Exception):  # noqa: N818
        pass

    def guard() -> None:
        raise LeaseLost

    release = asyncio.Event()
    async with ScriptedServer(held_until(release), answer(201)) as server, connect(server, in_flight=1) as transport:
        first = asyncio.create_task(transport.send(create("first")))
        await eventually(lambda: len(server.received) == 1)
        refused = asyncio.create_task(transport.send(create("refused"), guard=guard))
        await eventually(lambda: transport.gate.waiting == 1)
        assert not refused.done()
        release.set()
        await first
        with pytest.raises(LeaseLost):
            await refused
        assert (await transport.send(create("next"))).status == 201


async def cancelled_while(transport: Transport, reached: Callable[[], bool]) -> None:
    task = asyncio.create_task(transport.send(create("x")))
    await eventually(reached)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancelled_exchange_gives_its_place_and_connection_up() -> None:
    async with ScriptedServer(hang, answer(201)) as server, connect(server, in_flight=1) as transport:
        await cancelled_while(transport, lambda: len(server.received) == 1)
        assert (await transport.send(create("next"))).status == 201
    assert [received.connection for received in server.received] == [1, 2]


async def test_a_pause_can_be_cancelled_and_holds_no_place() -> None:
    long = RetryPolicy(backoff=Backoff(base=1000.0, cap=1000.0), deadline=1e6)
    async with (
        ScriptedServer(failure(429), answer(201)) as server,
        connect(server, in_flight=1, retry=long) as transport,
    ):
        await cancelled_while(transport, lambda: len(server.received) == 1 and transport.gate.waiting == 0)
        assert (await transport.send(create("next"))).status == 201


class Tokens(RenewedCredentials):
    """token-1, token-2 ..., as often as asked."""

    fetches = 0

    def __init__(self) -> None:
        super().__init__(ticks=lambda: 100.0 * self.fetches)

    def _fetch(self) -> None:
        self.fetches += 1
        self._header = f"Bearer token-{self.fetches}"
        self._due = float("inf")


async def accept_second_token(exchange: Exchange) -> None:
    good = exchange.request.headers["authorization"] == "Bearer token-2"
    await exchange.send(answer(201) if good else failure(401))


async def test_requests_that_are_rejected_together_renew_the_credentials_once() -> None:
    tokens = Tokens()
    async with ScriptedServer(accept_second_token) as server:
        config = ClientConfig(server=server.url, credentials=tokens)
        async with Transport(config) as transport:
            responses = await asyncio.gather(*(transport.send(create(str(n))) for n in range(96)))
    assert {response.status for response in responses} == {201}
    assert tokens.fetches == 2


class RisingTls(Tls):
    """A client certificate that is renewed at the first look after a rejection."""

    def __init__(self) -> None:
        super().__init__(insecure=True)
        self.checks = 0

    def check(self) -> bool:
        self.checks += 1
        self._context = None
        return True


async def test_requests_that_are_rejected_together_share_a_renewed_certificate(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server_context(tmp_path, authority.issue("server", "127.0.0.1"))
    old: set[int] = set()

    async def accept_new_connections(exchange: Exchange) -> None:
        old.update({exchange.request.connection} if tls.checks == 0 else ())
        await exchange.send(failure(401) if exchange.request.connection in old else answer(201))

    tls = RisingTls()
    async with (
        ScriptedServer(accept_new_connections, tls=context) as server,
        Transport(ClientConfig(server=server.url, tls=tls)) as transport,
    ):
        responses = await asyncio.gather(*(transport.send(create(str(n))) for n in range(20)))
    assert {response.status for response in responses} == {201}
    assert tls.checks < 20


async def test_open_streams_take_no_place_from_requests() -> None:
    async with (
        ScriptedServer(stream(end=False), stream(end=False), answer(201)) as server,
        connect(server, in_flight=1) as transport,
        transport.stream(WATCH),
        transport.stream(WATCH),
    ):
        assert (await transport.send(create("a"))).status == 201


async def test_leaving_a_stream_early_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def endless(exchange: Exchange) -> None:
        try:
            await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
            while True:
                await exchange.send(b"4\r\nmore\r\n")
                await asyncio.sleep(0.01)
        except ConnectionError:
            closed.set()
            raise

    async with ScriptedServer(endless) as server, connect(server) as transport:
        async with transport.stream(WATCH) as lines:
            assert await anext(aiter(lines)) == b"one"
        await asyncio.wait_for(closed.wait(), 5)


async def test_lines_may_be_taken_a_chunk_at_a_time() -> None:
    script = stream(b"one\ntwo\nth", b"ree\n")
    async with ScriptedServer(script) as server, connect(server) as transport, transport.stream(WATCH) as lines:
        batches = [batch async for batch in lines.batches()]
    assert [line for batch in batches for line in batch] == [b"one", b"two", b"three"]
    assert len(batches) < 3


@pytest.mark.virtual_time
async def test_a_watch_that_the_server_fails_to_end_is_ended() -> None:
    loop = asyncio.get_running_loop()
    watch = requests.watch(THINGS, "n", timeout=60, bookmarks=False)
    async with ScriptedServer(stream(b"one\n", end=False)) as server, connect(server) as transport:
        with pytest.raises(ConnectionFailed, match="context deadline exceeded"):
            async with transport.stream(watch) as lines:
                _ = [line async for line in lines]
    assert loop.time() == pytest.approx(90, abs=2)


@pytest.mark.virtual_time
async def test_opening_a_stream_is_repeated_like_a_read() -> None:
    script = failure(429), failure(503), stream(b"one\n")
    async with ScriptedServer(*script) as server, connect(server) as transport, transport.stream(WATCH) as lines:
        assert [line async for line in lines] == [b"one"]


@pytest.mark.parametrize("while_reading", [False, True])
async def test_closing_the_transport_ends_its_streams(while_reading: bool) -> None:
    reading = asyncio.Event()

    async def read(transport: Transport) -> None:
        async with transport.stream(WATCH) as lines:
            async for _ in lines:
                reading.set()
                if not while_reading:
                    await transport.aclose()

    async with ScriptedServer(stream(b"one\n", end=False)) as server:
        transport = connect(server)
        reader = asyncio.create_task(read(transport))
        await reading.wait()
        await transport.aclose()
        with pytest.raises(ConnectionFailed):
            await asyncio.wait_for(reader, 5)


@pytest.mark.parametrize(("script", "head_came"), [(hang, False), (stream(b"{", end=False), True)])
async def test_closing_the_transport_ends_its_requests(script: Answer, head_came: bool) -> None:
    async with ScriptedServer(script) as server:
        transport = connect(server)
        request = asyncio.create_task(transport.send(GET))
        await eventually(lambda: len(server.received) == 1)
        if head_came:
            await eventually(lambda: any(not busy._reader.is_in_head for busy in transport._pool._busy))
        await transport.aclose()
        with pytest.raises(ConnectionFailed):
            await asyncio.wait_for(request, 5)


async def test_a_closed_transport_says_so() -> None:
    transport = connect("http://127.0.0.1:1")
    was_closed = transport.is_closed
    await transport.aclose()
    assert (was_closed, transport.is_closed) == (False, True)
    with pytest.raises(RuntimeError, match="the transport is closed"):
        await transport.send(GET)


async def test_the_rate_is_kept() -> None:
    loop = asyncio.get_running_loop()
    async with ScriptedServer(answer(201)) as server, connect(server, qps=100, burst=5) as transport:
        begin = loop.time()
        await asyncio.gather(*(transport.send(create(str(n))) for n in range(25)))
    assert loop.time() - begin >= 0.19
