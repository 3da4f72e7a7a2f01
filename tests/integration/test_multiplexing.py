"""HTTP/2 with a real API server: few connections for everything that isn't streamed, and what happens when it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cluster import ControlPlane
from generated.core.v1 import CONFIG_MAPS
from runtime.client import Client
from runtime.errors import AlreadyExists, ConnectionFailed
from runtime.http2_connection import MultiplexedConnection
from runtime.kubeconfig import load
from runtime.retry import ONCE
from runtime.transport import Transport


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> list[MultiplexedConnection]:
    """All HTTP/2 connections of this test, in the order in which they came about."""
    found: list[MultiplexedConnection] = []

    class Noted(MultiplexedConnection):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr("runtime.multiplexing.MultiplexedConnection", Noted)
    return found


@pytest.fixture
async def client(kubeconfig: Path, made: list[MultiplexedConnection]) -> AsyncIterator[Client]:
    async with Transport(load(str(kubeconfig)), in_flight=0) as transport:
        yield Client(transport)
    assert not any(connection.is_open for connection in made)


def config_map(name: str, data: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"text": data}}


async def test_hundreds_of_requests_at_once_and_a_watch_beside_them_need_two_connections(
    client: Client, namespace: str, made: list[MultiplexedConnection]
) -> None:
    names = {f"c-{number}" for number in range(500)}
    seen: set[str] = set()
    version = (await client.list_page(CONFIG_MAPS, namespace)).resource_version
    async with asyncio.timeout(120), client.watch(CONFIG_MAPS, namespace, resource_version=version) as lines:
        writes = asyncio.gather(*(client.create(CONFIG_MAPS, config_map(name), namespace) for name in names))
        async for line in lines:
            seen.update(name for name in names if f'"name":"{name}"'.encode() in line)
            if seen == names:
                break
        await writes
    assert len(made) == 2  # the first one, and another since that one had much to do


async def test_a_list_of_many_megabytes_comes_whole_while_others_are_answered(
    client: Client, namespace: str, made: list[MultiplexedConnection]
) -> None:
    text = "0123456789abcdef" * 40_000
    for number in range(18):
        await client.create(CONFIG_MAPS, config_map(f"c-{number}", text), namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    async with asyncio.timeout(60):
        large, *small = await asyncio.gather(client.raw(path), *(client.raw("/version") for _ in range(20)))
    assert large.count(text.encode()) == 18
    assert len(large) > 11_000_000
    assert len(set(small)) == 1
    assert len(made) == 2  # as above


async def test_a_server_that_dies_breaks_what_is_under_way_and_is_found_again(
    kubeconfig: Path, client: Client, namespace: str, control_plane: ControlPlane, made: list[MultiplexedConnection]
) -> None:
    async with Transport(load(str(kubeconfig)), retry=ONCE, in_flight=0) as impatient:

        async def write_until_it_fails(number: int) -> Exception:
            count = 0
            while True:
                try:
                    await Client(impatient).create(CONFIG_MAPS, config_map(f"c-{number}-{count}"), namespace)
                except ConnectionFailed as error:
                    return error
                count += 1

        writers = [asyncio.create_task(write_until_it_fails(number)) for number in range(20)]
        reader = asyncio.create_task(client.get(CONFIG_MAPS, "kube-root-ca.crt", namespace))
        await asyncio.to_thread(control_plane.kill_apiserver)
        async with asyncio.timeout(20):
            errors = await asyncio.gather(*writers)
        assert len({id(error) for error in errors}) == 20
        await asyncio.to_thread(control_plane.start_apiserver)
        async with asyncio.timeout(60):
            assert (await reader).metadata.name == "kube-root-ca.crt"
            try:
                await Client(impatient).create(CONFIG_MAPS, config_map("after"), namespace)
            except AlreadyExists as error:
                raise AssertionError from error
    assert len(made) >= 2
