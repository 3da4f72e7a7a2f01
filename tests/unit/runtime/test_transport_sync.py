"""What only the synchronous shell does; what both do is in test_shells."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from runtime import requests
from runtime.backoff import Backoff
from runtime.errors import ConnectionFailed
from runtime.kubeconfig import ClientConfig
from runtime.responses import Response
from runtime.retry import ONCE, RetryPolicy
from runtime.transport_sync import SyncTransport
from tests.scripted_server import Exchange, ScriptedServer, answer, hang, stream
from tests.things import THINGS

GET = requests.get(THINGS, "a", "n")
WATCH = requests.watch(THINGS, "n")


def connect(server: ScriptedServer | str, **options: float) -> SyncTransport:
    url = server if isinstance(server, str) else server.url
    return SyncTransport(ClientConfig(server=url), retry=ONCE, **options)  # type: ignore[arg-type]  # options by name


async def test_an_unknown_host_is_told() -> None:
    with (
        connect("http://no-such-host.invalid") as transport,
        pytest.raises(ConnectionFailed, match=r"dial tcp: lookup no-such-host\.invalid: no such host"),
    ):
        transport.send(GET)


async def test_pauses_between_tries_are_slept() -> None:
    slept: list[float] = []
    policy = RetryPolicy(backoff=Backoff(base=1.0, jitter=0.0))
    async with ScriptedServer(answer(429, b"", Retry_After="3"), answer(503), answer(200)) as server:
        config = ClientConfig(server=server.url)
        with SyncTransport(config, retry=policy, clock=lambda: sum(slept), sleep=slept.append) as transport:
            assert (await asyncio.to_thread(transport.send, GET)).status == 200
    assert slept == [4.0, 2.0]


async def dribble(exchange: Exchange) -> None:
    """An answer that never stops coming and never ends."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not exchange.ended.is_set():
        await exchange.send(b"x")
        await asyncio.sleep(0.02)


async def test_the_time_bound_is_for_the_whole_exchange() -> None:
    async with ScriptedServer(dribble) as server:
        with connect(server, timeout=0.3) as transport:
            begin = time.monotonic()
            with pytest.raises(ConnectionFailed, match="context deadline exceeded"):
                await asyncio.to_thread(transport.send, GET)
    assert 0.25 <= time.monotonic() - begin < 5


async def test_a_request_may_have_a_shorter_time_than_the_transport() -> None:
    brief = requests.Request(method="GET", path="/x", timeout=0.1)
    async with ScriptedServer(hang) as server:
        with connect(server) as transport, pytest.raises(ConnectionFailed, match="context deadline exceeded"):
            await asyncio.to_thread(transport.send, brief)


async def test_a_connection_is_not_used_again_after_the_caller_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupt(BaseException):
        pass

    def interrupted(*_args: object) -> Response:
        raise Interrupt

    async with ScriptedServer(answer(200, b"first"), answer(200, b"second")) as server:
        with connect(server) as transport:
            with monkeypatch.context() as patch:
                patch.setattr(transport, "_read", interrupted)
                with pytest.raises(Interrupt):
                    await asyncio.to_thread(transport.send, GET)
            assert (await asyncio.to_thread(transport.send, GET)).body == b"second"
    assert server.connections == 2


async def test_leaving_a_stream_early_closes_its_connection() -> None:
    def first_line(transport: SyncTransport) -> bytes:
        with transport.stream(WATCH) as lines:
            return next(lines)

    async with ScriptedServer(stream(b"one\ntwo\n", end=False)) as server:
        with connect(server) as transport:
            assert await asyncio.to_thread(first_line, transport) == b"one"
            assert transport._idle is None


async def test_an_open_stream_does_not_hinder_requests() -> None:
    async with ScriptedServer(stream(b"one\n", end=False), answer(201)) as server:
        with connect(server) as transport:

            def run() -> int:
                with transport.stream(WATCH) as lines:
                    next(lines)
                    return transport.send(GET).status

            assert await asyncio.to_thread(run) == 201


async def test_several_threads_may_each_have_their_own() -> None:
    results: list[int] = []

    def work(send: Callable[[], Response]) -> None:
        results.extend(send().status for _ in range(20))

    async with ScriptedServer(answer(201)) as server:
        transports = [connect(server) for _ in range(4)]
        threads = [threading.Thread(target=work, args=(lambda t=t: t.send(GET),)) for t in transports]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        for transport in transports:
            transport.close()
    assert results == [201] * 80
    assert server.connections == 4


def test_the_command_lines_client_imports_little() -> None:
    code = (
        "import sys, runtime.client_sync, runtime.kubeconfig\n"
        "heavy = ('aiohttp', 'asyncio', 'kubernetes', 'yaml', 'cryptography', 'urllib.request', 'concurrent.futures')\n"
        "print(sorted(set(heavy) & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
