"""
A server that answers what the test says, byte by byte, and keeps what it was asked.

It is for faults of the protocol that a real API server doesn't produce on demand: resets, half answers, silence.
What an API server means is tested against a real one.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self, TypeAlias

import msgspec


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    connection: int
    """Which connection it came on, from 1."""

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass(eq=False)
class Exchange:
    """What an answer function works with."""

    request: Received
    writer: asyncio.StreamWriter
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        self.ended.set()
        self.writer.close()

    def reset(self) -> None:
        """End the connection with RST, as a killed process or a firewall does."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.ended.set()
        self.writer.transport.abort()


Answer: TypeAlias = bytes | Callable[[Exchange], Awaitable[None]]


def answer(status: int = 200, body: Any = b"", **headers: str) -> bytes:
    """A whole answer; header names take `_` for `-`; a body that isn't bytes becomes JSON."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def failure(status: int, reason: str = "", message: str = "", **details: Any) -> bytes:
    """A failure Status."""
    return answer(
        status,
        {
            "kind": "Status",
            "status": "Failure",
            "reason": reason,
            "message": message,
            "code": status,
            "details": details,
        },
        Content_Type="application/json",
    )


def chunked_head(status: int = 200) -> bytes:
    return f"HTTP/1.1 {status} OK\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def drop(exchange: Exchange) -> None:
    """Close without a word."""
    exchange.close()


async def reset(exchange: Exchange) -> None:
    exchange.reset()


async def hang(exchange: Exchange) -> None:
    """Never answer."""
    await exchange.ended.wait()


def then_close(data: bytes) -> Answer:
    """Send these bytes and close."""

    async def run(exchange: Exchange) -> None:
        await exchange.send(data)
        exchange.close()

    return run


def stream(*pieces: bytes, end: bool = True) -> Answer:
    """A chunked stream of these pieces; without `end` it stays open."""

    async def run(exchange: Exchange) -> None:
        await exchange.send(chunked_head())
        for piece in pieces:
            await exchange.send(chunk(piece))
        await (exchange.send(b"0\r\n\r\n") if end else exchange.ended.wait())

    return run


class ScriptedServer:
    """Listens on a loopback port, a free one if none is given; the last answer of the script is repeated for ever."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self.script(*answers or (answer(),))
        self._tls = tls
        self.port = port
        self._open: set[Exchange] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[None]] = set()

    def script(self, *answers: Answer) -> None:
        """Replace what is answered from now on."""
        self._answers: Iterator[Answer] = iter(answers)
        self._last = answers[-1]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._server.close()
        await self.end_connections()
        await self._server.wait_closed()

    async def end_connections(self) -> None:
        """End every connection, idle ones too."""
        for exchange in self._open:
            exchange.ended.set()
        for writer in self._writers:
            writer.close()
        if self._handlers:
            await asyncio.wait(self._handlers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        handler: asyncio.Task[None] | None = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)
        try:
            while request := await _read_request(reader, self.connections):
                self.received.append(request)
                await self._reply(Exchange(request, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, which tests do on purpose
        finally:
            self._writers.discard(writer)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _reply(self, exchange: Exchange) -> None:
        reply = next(self._answers, self._last)
        self._open.add(exchange)
        try:
            await (exchange.send(reply) if isinstance(reply, bytes) else reply(exchange))
        finally:
            self._open.discard(exchange)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Received | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode().split(" ")
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = ", ".join(filter(None, [headers.get(name.lower()), value.strip()]))
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, target, headers, body, connection)
