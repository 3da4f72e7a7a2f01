"""What a reader of a stream gets at once, and when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.streaming import Broken, StreamConnection

pytestmark = pytest.mark.virtual_time
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Wire:
    """The other end: what it sends arrives at once."""

    def __init__(self) -> None:
        self.is_paused = False
        self.stream = StreamConnection(None, memoryview(bytearray(1 << 20)))
        self.stream.connection_made(self)  # type: ignore[arg-type]  # as much of a transport as is asked for

    def send(self, data: bytes) -> None:
        self.stream.get_buffer(-1)[: len(data)] = data
        self.stream.buffer_updated(len(data))

    def chunk(self, text: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(text), text))

    def write(self, data: bytes) -> None:
        """The request."""

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def abort(self) -> None:
        """The end."""


async def opened() -> Wire:
    wire = Wire()
    asyncio.get_running_loop().call_soon(wire.send, HEAD)
    await wire.stream.open(b"GET / HTTP/1.1\r\n\r\n", 60.0)
    return wire


def later(seconds: float, function: Any, *arguments: Any) -> None:
    asyncio.get_running_loop().call_later(seconds, function, *arguments)


async def reads(wire: Wire, count: int) -> list[tuple[float, bytes]]:
    """What comes, and milliseconds after the beginning."""
    loop, found = asyncio.get_running_loop(), []
    begun = loop.time()
    for _ in range(count):
        data = await wire.stream.read()
        found.append((round((loop.time() - begun) * 1000.0, 1), data))
    return found


async def test_what_comes_alone_is_handed_over_at_once() -> None:
    wire = await opened()
    for at in (0.1, 0.2, 0.3):
        later(at, wire.chunk, b"x")
    assert await reads(wire, 3) == [(100.0, b"x"), (200.0, b"x"), (300.0, b"x")]


async def test_what_follows_soon_is_handed_over_together() -> None:
    wire = await opened()
    for number in range(6):
        later(0.1 + 0.004 * number, wire.chunk, b"%d" % number)
    assert await reads(wire, 3) == [(100.0, b"0"), (110.0, b"12"), (120.0, b"345")]


async def test_much_is_handed_over_without_delay() -> None:
    wire = await opened()
    later(0.1, wire.chunk, b"a")
    for at in (0.101, 0.102):
        later(at, wire.chunk, b"b" * 10_000)
    assert [at for at, _ in await reads(wire, 2)] == [100.0, 102.0]


async def test_the_end_is_told_without_delay() -> None:
    wire = await opened()
    later(0.1, wire.chunk, b"a")
    later(0.101, wire.chunk, b"b")
    later(0.102, wire.send, b"0\r\n\r\n")
    assert await reads(wire, 3) == [(100.0, b"a"), (102.0, b"b"), (102.0, b"")]


async def test_a_break_is_told_without_delay() -> None:
    wire = await opened()
    later(0.1, wire.chunk, b"a")
    later(0.101, wire.stream.connection_lost, ConnectionResetError("gone"))
    assert await reads(wire, 1) == [(100.0, b"a")]
    with pytest.raises(Broken, match="gone"):
        await wire.stream.read()


async def test_the_socket_waits_for_a_slow_reader() -> None:
    wire = await opened()
    wire.chunk(b"a" * 600_000)
    assert wire.is_paused
    await reads(wire, 1)
    assert not wire.is_paused
