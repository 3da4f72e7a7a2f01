"""Streams without chunks: HTTP/1.0 where the reader can resume, and HTTP/1.1 where it can't or a gateway insists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from runtime import requests
from runtime.errors import ConnectionFailed, Gone
from runtime.kubeconfig import ClientConfig
from runtime.retry import ONCE
from runtime.transport import Transport
from tests.scripted_server import chunk, failure
from tests.things import THINGS

WATCH = requests.watch(THINGS, "n")
ONE_SHOT = requests.watch(THINGS, "n", bookmarks=False)
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


class Gateway:
    """Answers by the version that it is asked in; keeps the versions."""

    def __init__(self, reply: Callable[[str], bytes]) -> None:
        self.versions: list[str] = []
        self._reply = reply

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        version = head.split(b"\r\n")[0].decode().rpartition(" ")[2]
        self.versions.append(version)
        writer.write(self._reply(version))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def connected(gateway: Gateway) -> AsyncIterator[Transport]:
    server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with Transport(ClientConfig(server=f"http://127.0.0.1:{port}"), retry=ONCE) as transport:
        yield transport
    server.close()
    await server.wait_closed()


async def lines_of(transport: Transport, request: requests.Request) -> list[bytes]:
    async with transport.stream(request) as lines:
        return [line async for line in lines]


async def test_a_stream_that_can_be_resumed_comes_without_chunks() -> None:
    gateway = Gateway(lambda version: PLAIN + b"one\ntwo\n" if version == "HTTP/1.0" else b"")
    async with connected(gateway) as transport:
        assert await lines_of(transport, WATCH) == [b"one", b"two"]
    assert gateway.versions == ["HTTP/1.0"]


async def test_other_streams_and_requests_come_as_ever() -> None:
    gateway = Gateway(lambda _: CHUNKED + chunk(b"one\n") + b"0\r\n\r\n")
    async with connected(gateway) as transport:
        assert await lines_of(transport, ONE_SHOT) == [b"one"]
        assert (await transport.send(requests.get(THINGS, "a", "n"))).body == b"one\n"
    assert gateway.versions == ["HTTP/1.1", "HTTP/1.1"]


async def test_a_stream_cut_in_the_middle_of_a_line_is_broken() -> None:
    async with connected(Gateway(lambda _: PLAIN + b"one\ntw")) as transport:
        with pytest.raises(ConnectionFailed, match="middle of a line"):
            await lines_of(transport, WATCH)


async def test_the_servers_refusal_is_an_error() -> None:
    gateway = Gateway(lambda _: failure(410, "Expired", "too old"))
    async with connected(gateway) as transport:
        with pytest.raises(Gone, match="too old"):
            await lines_of(transport, WATCH)
    assert gateway.versions == ["HTTP/1.0"]


@pytest.mark.parametrize("code", [426, 505])
async def test_a_gateway_that_refuses_the_old_version_gets_the_new_one_from_then_on(code: int) -> None:
    refusal = f"HTTP/1.1 {code} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    gateway = Gateway(lambda version: refusal if version == "HTTP/1.0" else CHUNKED + chunk(b"one\n") + b"0\r\n\r\n")
    async with connected(gateway) as transport:
        for _ in range(2):
            assert await lines_of(transport, WATCH) == [b"one"]
    assert gateway.versions == ["HTTP/1.0", "HTTP/1.1", "HTTP/1.1"]
