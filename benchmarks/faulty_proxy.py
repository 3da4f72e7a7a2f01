"""
A TCP proxy that treats connections badly: drops some in mid-stream, delays others, and cuts or refuses all on demand.

It passes bytes without looking at them, so TLS goes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field

_CHUNK = 16384


@dataclass
class Counts:
    """What happened to connections."""

    accepted: int = 0
    dropped: int = 0
    delayed: int = 0
    cut: int = 0
    refused: int = 0


@dataclass
class FaultyProxy:
    """
    Passes connections on to one port of loopback.

    `drop` and `delay` are shares of connections: dropped ones break after a random number of bytes, possibly none,
    delayed ones are passed on only after up to `longest_delay` seconds.
    """

    target: int
    rand: random.Random
    drop: float = 0.01
    delay: float = 0.01
    longest_delay: float = 3.0
    longest_life: int = 30_000
    """Bytes that a dropped connection may carry at most."""
    counts: Counts = field(default_factory=Counts)
    is_held: bool = False
    """Whether new connections are refused."""
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_CHUNK)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Break everything off."""
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Break all connections that are open."""
        self.counts.cut += len(self._open) // 2
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_held:
            self.counts.refused += 1
            writer.transport.abort()
            return
        self.counts.accepted += 1
        self._open.add(writer)
        try:
            await self._pass_on(reader, writer)
        except OSError:
            return  # one of the two sides is gone
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.rand.random() < self.delay:
            self.counts.delayed += 1
            await asyncio.sleep(self.rand.uniform(0.2, self.longest_delay))
        life: float = float("inf")
        if self.rand.random() < self.drop:
            self.counts.dropped += 1
            life = self.rand.randrange(self.longest_life)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=_CHUNK)
        self._open.add(far_writer)
        ways = [
            asyncio.ensure_future(_copy(reader, far_writer)),
            asyncio.ensure_future(_copy(far_reader, writer, life)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(far_writer)
            far_writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, life: float = float("inf")) -> None:
    """Pass bytes until the end, or until `life` of them have passed."""
    with contextlib.suppress(OSError):
        while life > 0 and (data := await reader.read(_CHUNK)):
            data = data if life >= len(data) else data[: int(life)]
            life -= len(data)
            writer.write(data)
            await writer.drain()
