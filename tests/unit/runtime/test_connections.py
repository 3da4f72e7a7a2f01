"""The pool of connections by itself; how the transport uses it is in test_shells and test_transport."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from runtime.connections import Pool, Unreachable
from runtime.streaming import Broken
from tests.scripted_server import Exchange, ScriptedServer, answer, hang

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


def pool(server: ScriptedServer, *, idle_timeout: float = 90.0) -> Pool:
    return Pool("127.0.0.1", server.port, connect_timeout=5.0, idle_timeout=idle_timeout)


async def ask(connections: Pool, seconds: float = 5.0) -> int:
    return (await connections.exchange(GET, seconds, context=None)).status


async def test_exchanges_at_the_same_time_take_a_connection_each() -> None:
    async with ScriptedServer(answer(200)) as server:
        connections = pool(server)
        assert await asyncio.gather(*(ask(connections) for _ in range(3))) == [200] * 3
        assert await ask(connections) == 200
        assert server.connections == 3
        connections.close()


@pytest.mark.virtual_time
async def test_an_unused_connection_is_closed_after_a_while() -> None:
    async with ScriptedServer(answer(200)) as server:
        connections = pool(server, idle_timeout=30.0)
        await ask(connections)
        await asyncio.sleep(20.0)
        await ask(connections)
        assert server.connections == 1
        await asyncio.sleep(31.0)
        assert not [idle for idle in connections._idle if idle.is_open]
        await ask(connections)
        assert server.connections == 2
        connections.close()


@pytest.mark.virtual_time
@pytest.mark.parametrize("earlier", [False, True], ids=["the first", "after one with more time"])
async def test_an_exchange_ends_when_its_time_is_up(earlier: bool) -> None:
    loop = asyncio.get_running_loop()
    async with ScriptedServer(answer(200), hang) as server:
        connections = pool(server)
        if earlier:
            await ask(connections, 60.0)
        else:
            server.script(hang)
        begin = loop.time()
        with pytest.raises(Broken) as caught:
            await ask(connections, 7.0)
        assert isinstance(caught.value.origin, TimeoutError)
        assert loop.time() - begin == pytest.approx(7.0, abs=0.1)
        connections.close()


async def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    async def talkative(exchange: Exchange) -> None:
        await exchange.send(answer(200) + b"HTTP/1.1 200 OK\r\n")

    async with ScriptedServer(talkative, answer(200)) as server:
        connections = pool(server)
        await ask(connections)
        await asyncio.sleep(0.01)
        # Were the connection used again, the leftover would be read as the beginning of the next answer.
        assert await ask(connections) == 200
        connections.close()


async def test_a_connection_of_another_identity_is_not_used_again() -> None:
    async with ScriptedServer(answer(200)) as server:
        connections = pool(server)
        await ask(connections)
        (idle,) = connections._idle
        idle.context = ssl.create_default_context()
        await ask(connections)
        assert server.connections == 2
        assert not idle.is_open
        connections.close()


async def test_a_peer_that_never_finishes_its_handshake_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the kernel takes the connection, nobody answers
        connections = Pool("127.0.0.1", listener.getsockname()[1], connect_timeout=0.2, idle_timeout=1.0)
        with pytest.raises(Unreachable) as caught:
            await connections.exchange(GET, 5.0, context=ssl.create_default_context())
    assert isinstance(caught.value.origin, TimeoutError)


async def test_closing_the_pool_breaks_what_is_under_way() -> None:
    async with ScriptedServer(hang) as server:
        connections = pool(server)
        waiting = asyncio.create_task(ask(connections))
        while not server.received:
            await asyncio.sleep(0.005)
        connections.close()
        with pytest.raises(Broken, match="the transport was closed"):
            await waiting
