"""
The HTTP/2 connections of an API client: one, dialled once for all requests that come meanwhile, and a few more under load.

A server that prefers HTTP/1.1 is believed until our identity changes; its requests go over the pool then, and so do
watches always: each has its own flow control there, and its bytes don't pass through a frame parser.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable, Mapping
from typing import cast

from runtime.connections import Connection, Pool, Unreachable
from runtime.errors import ConfigError
from runtime.http1_answers import HttpAnswer
from runtime.http2_connection import MultiplexedConnection
from runtime.http2_exchange import Unprocessed
from runtime.streaming import CLOSED

logger = logging.getLogger(__name__)
_MOST_TRIES = 4
"""How often a request may meet a connection that the server is about to end, before that counts as a failure."""
_CROWDED = 12
"""Requests under way on a connection, from which on another one is worth a handshake."""
_MOST_CONNECTIONS = 8
"""
A server's work for one connection goes through one queue there: where its cores are busy, that queue is what all wait for.
"""


def is_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to offer HTTP/2 at all; the variable is the one of Go's clients, where any text switches it off."""
    return not environ.get("DISABLE_HTTP2")


class _Negotiated(asyncio.Protocol):
    """Stands in until the handshake has shown what the server speaks."""

    chosen: MultiplexedConnection | Connection

    def __init__(self, multiplexed: Callable[[], MultiplexedConnection], plain: Callable[[], Connection]) -> None:
        self._multiplexed = multiplexed
        self._plain = plain

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        secured = transport.get_extra_info("ssl_object")
        self.chosen = self._multiplexed() if secured.selected_alpn_protocol() == "h2" else self._plain()
        cast("asyncio.Transport", transport).set_protocol(self.chosen)
        self.chosen.connection_made(transport)


class Multiplexer:
    """
    `offer` gives the TLS context that offers HTTP/2; `pool` makes connections and takes those of HTTP/1.1.

    An identity is the TLS context that the pool would use. It says who we are, so a new one gets a new connection.
    """

    def __init__(self, pool: Pool, offer: Callable[[], ssl.SSLContext], server_name: str = "") -> None:
        self._pool = pool
        self._offer = offer
        self._server_name = server_name
        self._connections: list[MultiplexedConnection] = []
        """Those that take requests, and former ones whose last exchanges go on."""
        self._dial: tuple[ssl.SSLContext, asyncio.Task[MultiplexedConnection | None]] | None = None
        self._declined: ssl.SSLContext | None = None

    def is_declined(self, identity: ssl.SSLContext) -> bool:
        """Whether the server is known to prefer HTTP/1.1."""
        return self._declined is identity

    async def exchange(
        self, identity: ssl.SSLContext, block: bytes, body: bytes, seconds: float, permit: Callable[[], None]
    ) -> HttpAnswer | None:
        """
        Send a request and wait for its answer, `seconds` at most; None where the server prefers HTTP/1.1.

        A server that goes away politely costs no failure: what it hasn't looked at is sent again at once, over a
        new connection. `permit` is called right before each sending, and what it raises passes through.
        Raises Unreachable when the server certainly hasn't processed the request, Broken when it may have.
        """
        deadline = 0.0
        for _ in range(_MOST_TRIES):
            connection = self._ready(identity) or await self._connect(identity)
            if connection is None:
                return None
            deadline = deadline or asyncio.get_running_loop().time() + seconds
            try:
                return await connection.exchange(block, body, deadline, permit)
            except Unprocessed as error:
                refused = error.origin
                if isinstance(refused, TimeoutError):
                    break
        raise Unreachable(refused)

    def close(self) -> None:
        """Close all connections. Exchanges under way break off."""
        if self._dial is not None:
            self._dial[1].cancel()
        for connection in tuple(self._connections):
            connection.close()

    def _ready(self, identity: ssl.SSLContext) -> MultiplexedConnection | None:
        """The least busy connection of that identity, if one stands; where even that has much to do, another is dialled."""
        chosen, least, number = None, 0, 0
        for one in self._connections:
            if one.identity is identity and one.is_open:
                number += 1
                load = one.load
                if chosen is None or load < least:
                    chosen, least = one, load
        if least >= _CROWDED and number < _MOST_CONNECTIONS and self._dial is None:
            self._dial_new(identity)
        return chosen

    async def _connect(self, identity: ssl.SSLContext) -> MultiplexedConnection | None:
        """The connection of that identity, or None where the server prefers HTTP/1.1. Raises Unreachable."""
        if self._declined is identity:
            return None
        dial = self._dial
        task = dial[1] if dial is not None and dial[0] is identity else self._dial_new(identity)
        try:
            connection = await asyncio.shield(task)
        except Unreachable as error:
            raise Unreachable(error.origin) from None  # one error each
        except asyncio.CancelledError:
            if task.cancelled():  # by `close`, not whoever waits
                raise Unreachable(ConnectionError(CLOSED)) from None
            raise
        if connection is not None and not connection.is_open:
            raise Unreachable(connection.problem or EOFError())
        return connection

    def _dial_new(self, identity: ssl.SSLContext) -> asyncio.Task[MultiplexedConnection | None]:
        task = asyncio.create_task(self._open_new(identity))
        task.add_done_callback(self._dialled)
        self._dial = identity, task
        return task

    async def _open_new(self, identity: ssl.SSLContext) -> MultiplexedConnection | None:
        try:
            context = self._offer()
        except ConfigError as error:
            logger.warning('msg="going on with HTTP/1.1" error="%s"', error)
            self._declined = identity
            return None
        pool = self._pool
        negotiated = await pool.open(
            lambda: _Negotiated(
                lambda: MultiplexedConnection(identity, pool.buffer, pool.idle_timeout, self._ended),
                lambda: Connection(identity, pool.buffer, pool.idle_timeout),
            ),
            context,
            self._server_name,
        )
        chosen = negotiated.chosen
        if isinstance(chosen, Connection):
            self._declined = identity
            pool.adopt(chosen)
            return None
        for former in tuple(self._connections):
            if former.identity is not identity:
                former.retire()
        if chosen.is_open:
            self._connections.append(chosen)
        return chosen

    def _dialled(self, task: asyncio.Task[MultiplexedConnection | None]) -> None:
        if self._dial is not None and self._dial[1] is task:
            self._dial = None
        if not task.cancelled():
            task.exception()  # looked at, should all who waited have gone

    def _ended(self, connection: MultiplexedConnection) -> None:
        if connection in self._connections:  # else its end came before it was taken in
            self._connections.remove(connection)
