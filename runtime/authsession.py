"""
aiohttp sessions that authenticate as our kubeconfig says, for libraries that bring their own API client.

Such a library knows sessions only; credentials that expire, exec plugins and rotated certificates are followed
here. It must ask for a new session when the server answered 401 or when it finds its session closed.
"""

from __future__ import annotations

import asyncio
import logging
import ssl

import aiohttp

from runtime.errors import ConfigError
from runtime.kubeconfig import ClientConfig
from runtime.sockets import new_socket
from runtime.urls import shown

logger = logging.getLogger(__name__)

_IDLE_CONNECTION = 90.0


class CredentialsRefused(Exception):  # noqa: N818  # named for what happened, as those of runtime.errors
    """The server answered 401 and there are no other credentials to try. Try again later."""


class SessionFactory:
    """Opens one session after the other for one API server. Belongs to one event loop."""

    def __init__(self, config: ClientConfig, *, user_agent: str = "stromboli") -> None:
        self._config = config
        self._headers = [("User-Agent", user_agent), *config.headers]
        self._refused: str | None = None
        """Header that the server answered with 401, since the last `open`."""

    async def open(self) -> aiohttp.ClientSession:
        """
        Open a session; after a 401 one with fresh credentials. The caller closes it.

        Raises ConfigError when there are no credentials at all, and CredentialsRefused once for each 401 that no
        fresh ones follow: the next call tries the same again, since a starting server refuses good ones too.
        """
        await self._renew()
        tls = self._config.tls
        context = tls.context() if tls is not None else None
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                ssl=context if context is not None else True,
                keepalive_timeout=_IDLE_CONNECTION,
                socket_factory=new_socket,
            ),
            headers=self._headers,
            proxy=self._config.proxy or None,
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=[self._authorize],
        )
        self._session, self._context = session, context
        return session

    async def _renew(self) -> None:
        refused, self._refused = self._refused, None
        credentials, tls = self._config.credentials, self._config.tls
        if refused is None:
            if credentials.is_due():
                await asyncio.to_thread(credentials.refresh)
            return
        fresh = await asyncio.to_thread(credentials.refresh, refused)
        fresh = (tls is not None and tls.check()) or fresh
        if not fresh:
            raise CredentialsRefused(
                f"{shown(self._config.server)} answered 401 to the credentials from {self._config.source or 'the caller'}"
            )

    async def _authorize(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """What aiohttp calls around each request."""
        credentials = self._config.credentials
        if credentials.is_due():
            await asyncio.to_thread(credentials.refresh)
        if self._tls_changed():
            logger.info('msg="TLS files changed, closing the session" server="%s"', shown(self._config.server))
            await self._session.close()
            raise RuntimeError("Session is closed")  # aiohttp's own way to say so
        header = credentials.header()
        if header:
            request.headers["Authorization"] = header
        if self._config.server_name:
            request.server_hostname = self._config.server_name
        response = await send(request)
        if response.status == 401:
            self._refused = header
        return response

    def _tls_changed(self) -> bool:
        tls = self._config.tls
        if tls is None:
            return False
        try:
            current: ssl.SSLContext | None = tls.context()
        except ConfigError as error:
            logger.warning('msg="keeping the old TLS configuration" error="%s"', error)
            return False
        return current is not self._context
