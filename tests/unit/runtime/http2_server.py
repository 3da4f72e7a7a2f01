"""A server that speaks HTTP/2 over TLS as the test says, frame by frame."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Self, TypeAlias, cast

from runtime import http2_frames as frames
from runtime.http2_frames import HEAD_SIZE, PREFACE
from runtime.http2_hpack import read_block, text_of
from tests.unit.runtime.http2_peer import GREETING, Frame, parse


class Line(asyncio.Protocol):
    """One connection. What is asked on it goes to the server's `react`."""

    def __init__(self, server: Http2Server) -> None:
        self._server = server
        self._rest = b""
        self._bodies: dict[int, bytes] = {}
        self.frames: list[Frame] = []
        self.asked: dict[int, dict[str, str]] = {}
        """The headers of each request, by stream."""
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._server.lines.append(self)
        self.write(self._server.greeting)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def data_received(self, data: bytes) -> None:
        data = (self._rest + data).removeprefix(PREFACE)
        found = parse(data)
        self._rest = data[sum(HEAD_SIZE + len(frame.payload) for frame in found) :]
        self.frames += found
        for frame in found:
            self._take(frame)

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self) -> None:
        self.transport.close()

    def sent(self, kind: int) -> list[Frame]:
        """Frames of the client of one kind."""
        return [frame for frame in self.frames if frame.kind == kind]

    def _take(self, frame: Frame) -> None:
        if frame.kind == frames.HEADERS:
            self.asked[frame.stream] = {name: text_of(value) for name, value in read_block(frame.payload)}
        if frame.kind in (frames.HEADERS, frames.DATA) and frame.flags & frames.END_STREAM:
            self._server.react(self, frame.stream)


React: TypeAlias = Callable[[Line, int], None]


class Http2Server:
    """Listens on a loopback port; `react` is called with the connection and stream of each request that is complete."""

    def __init__(self, tls: ssl.SSLContext, react: React, *, greeting: bytes = GREETING, port: int = 0) -> None:
        self._tls = tls
        self.react = react
        self.greeting = greeting
        self.port = port
        self.lines: list[Line] = []
        """The connections in the order in which they came."""

    async def __aenter__(self) -> Self:
        self._tls.set_alpn_protocols(["h2"])
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Line(self), "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._server.close()
        for line in self.lines:
            line.transport.abort()
        await asyncio.gather(*(line.ended.wait() for line in self.lines))
        await self._server.wait_closed()

    @property
    def asked(self) -> list[int]:
        """How many requests came on each connection."""
        return [len(line.asked) for line in self.lines]
