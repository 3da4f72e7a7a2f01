"""The two shells of the API client behind one face, so that a test can ask the same of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from runtime.kubeconfig import ClientConfig
from runtime.requests import Request
from runtime.responses import Response
from runtime.retry import RetryPolicy
from runtime.transport import Transport
from runtime.transport_sync import SyncTransport


class Shell(Protocol):
    async def send(self, request: Request, guard: Callable[[], None] | None = None) -> Response: ...
    async def lines(self, request: Request) -> list[bytes]: ...


class AsyncShell:
    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def send(self, request: Request, guard: Callable[[], None] | None = None) -> Response:
        return await self.transport.send(request, guard=guard)

    async def lines(self, request: Request) -> list[bytes]:
        async with self.transport.stream(request) as stream:
            return [line async for line in stream]


class SyncShell:
    """Runs in a thread."""

    def __init__(self, transport: SyncTransport) -> None:
        self.transport = transport

    async def send(self, request: Request, guard: Callable[[], None] | None = None) -> Response:
        return await asyncio.to_thread(lambda: self.transport.send(request, guard=guard))

    async def lines(self, request: Request) -> list[bytes]:
        def run() -> list[bytes]:
            with self.transport.stream(request) as stream:
                return list(stream)

        return await asyncio.to_thread(run)


@asynccontextmanager
async def open_shell(kind: str, config: ClientConfig, retry: RetryPolicy, **options: Any) -> AsyncIterator[Shell]:
    """A shell of the kind `async` or `sync`."""
    if kind == "async":
        async with Transport(config, retry=retry, **options) as transport:
            yield AsyncShell(transport)
    else:
        with SyncTransport(config, retry=retry, **options) as sync_transport:
            yield SyncShell(sync_transport)
