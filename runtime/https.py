"""
A small HTTPS server: TLS in memory, `runtime.http1` on top, a plain function as handler.

asyncio's own TLS fixes one context at bind time and copies each byte through two layers. Here each connection
asks for the context of the moment, so a rotated certificate serves the next connection while those that stand
go on, and a synchronous handler is answered within the same read. Handlers that need to wait return an awaitable.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress

from runtime.http1 import http_date
from runtime.https_connection import Connection, HttpHandler, Timeouts

_SWEEP_INTERVAL = 0.5
"""Seconds by which a deadline may be overrun."""


class DrainTimeout(Exception):  # noqa: N818  # named for what happened, as runtime.errors are
    """Requests were still running when the time for the drain was over."""


class HttpsServer:
    """
    Listens on one address. `context` gives the TLS context for a new connection.

    `start` raises OSError when the address can't be bound. `max_body` in bytes.
    """

    def __init__(
        self,
        handler: HttpHandler,
        context: Callable[[], ssl.SSLContext],
        *,
        host: str = "",
        port: int = 8443,
        max_body: int,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.handler = handler
        self.context = context
        self.max_body = max_body
        self.timeouts = timeouts or Timeouts()
        self.is_draining = False
        self.date = ""
        self._host = host or None
        self.port = port
        """The port bound, once started."""
        self._listener: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied = asyncio.Event()
        self._ended = asyncio.Event()

    async def start(self) -> None:
        """Bind and accept."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), self._host, self.port, backlog=1024)
        self.port = int(self._listener.sockets[0].getsockname()[1])
        self._sweep()

    @property
    def connection_count(self) -> int:
        """The connections that are open."""
        return len(self._connections)

    @property
    def is_listening(self) -> bool:
        """Whether new connections are accepted."""
        return self._listener is not None and self._listener.is_serving()

    async def drain(self, seconds: float) -> None:
        """
        Stop accepting and let what runs come to its end; each further answer tells its client to reconnect.

        Idle connections stay for a second, since a request may be on its way to them. Raises DrainTimeout when
        connections are left after `seconds`, having closed them.
        """
        self.is_draining = True
        await self._accept_last()
        self._emptied.clear()
        if self._connections:
            for connection in self._connections:
                connection.start_draining()
            try:
                await asyncio.wait_for(self._emptied.wait(), seconds)
            except TimeoutError:
                count = len(self._connections)
                self.abort()
                raise DrainTimeout(f"{count} connections were still open after {seconds:g} s") from None
        self.abort()

    def abort(self) -> None:
        """Close the listener and all connections at once; running handlers are cancelled."""
        self.is_draining = True
        self._stop_accepting()
        self._ended.set()
        for connection in tuple(self._connections):
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    async def wait_ended(self) -> None:
        """Wait until a drain is over or the server was aborted."""
        await self._ended.wait()

    async def _accept_last(self) -> None:
        """Stop listening, but take in who is connected already: the kernel resets those when their listener closes."""
        listening = () if self._listener is None else self._listener.sockets
        spares = [socket.socket(fileno=os.dup(each.fileno())) for each in listening]
        self._stop_accepting()
        found: list[socket.socket] = []
        for spare in spares:
            spare.setblocking(False)
            with spare, suppress(OSError):  # at the latest, that nobody waits any more
                while True:
                    found.append(spare.accept()[0])
        for client in found:
            client.setblocking(False)
            with suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(lambda: Connection(self), client)

    def _stop_accepting(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _sweep(self) -> None:
        """End what is over its time. One timer for all connections: a timer a request would cost more than it guards."""
        loop = asyncio.get_running_loop()
        self.date = http_date(time.time())
        now = loop.time()
        for connection in [c for c in self._connections if c.deadline < now]:
            connection.expire()
        self._sweeper = loop.call_later(_SWEEP_INTERVAL, self._sweep)

    def opened(self, connection: Connection) -> None:
        """A connection reports itself."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)
        if not self._connections:
            self._emptied.set()
