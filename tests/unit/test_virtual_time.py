from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tests import virtual_time
from tests.virtual_time import VirtualTimeLoop, WaitsForever, run_virtually


@pytest.mark.virtual_time
async def test_an_hour_passes_at_once() -> None:
    real = time.monotonic()
    loop = asyncio.get_running_loop()
    before = loop.time()
    await asyncio.sleep(3600)
    assert loop.time() - before == pytest.approx(3600)
    assert time.monotonic() - real < 5


@pytest.mark.virtual_time
async def test_timers_fire_in_order_of_their_time() -> None:
    fired: list[str] = []

    async def later(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        fired.append(name)

    await asyncio.gather(later(30, "c"), later(0.001, "a"), later(2, "b"))
    assert fired == ["a", "b", "c"]


@pytest.mark.virtual_time
async def test_a_thread_that_answers_is_waited_for() -> None:
    assert await asyncio.to_thread(lambda: 7) == 7


@pytest.mark.virtual_time
async def test_no_deadline_passes_while_a_thread_works() -> None:
    async with asyncio.timeout(5):
        await asyncio.to_thread(time.sleep, 0.05)
    assert asyncio.get_running_loop().time() == 0


@pytest.mark.virtual_time
async def test_a_thread_that_never_answers_stops_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "PATIENCE", 0.01)
    answer = threading.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await asyncio.to_thread(answer.wait)
    answer.set()


@pytest.mark.virtual_time
async def test_a_socket_is_served_before_time_jumps() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    async with asyncio.timeout(3600):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"
        writer.close()
        await writer.wait_closed()
    server.close()
    await server.wait_closed()


async def test_an_unmarked_test_runs_in_real_time() -> None:
    assert not isinstance(asyncio.get_running_loop(), VirtualTimeLoop)


def test_waiting_for_nothing_fails_instead_of_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "PATIENCE", 0.01)

    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    loop = VirtualTimeLoop()
    task = loop.create_task(forever())
    with pytest.raises(WaitsForever, match="no timer"):
        loop.run_until_complete(task)
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


def test_run_virtually_starts_each_world_at_zero() -> None:
    async def elapse() -> float:
        await asyncio.sleep(10)
        return asyncio.get_running_loop().time()

    assert [run_virtually(elapse()) for _ in range(2)] == [pytest.approx(10)] * 2
