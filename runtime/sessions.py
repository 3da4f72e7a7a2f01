"""
Requests and streams through an HTTP proxy, by aiohttp.

Everything else goes over `runtime.connections`, which costs half as much; this module is imported where a kubeconfig
names a proxy, so that nobody else waits for aiohttp's import.
"""

from __future__ import annotations

import ssl
from functools import partial
from http import HTTPStatus
from typing import Any

import aiohttp
from yarl import URL

from runtime.allocator import keep_read_buffers
from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from runtime.errors import ConnectionFailed
from runtime.http1_answers import Headers
from runtime.kubeconfig import ClientConfig
from runtime.requests import Request
from runtime.responses import Response
from runtime.sockets import new_socket
from runtime.streaming import OpenStream

_IDLE_CONNECTION = 90.0
_BROKEN = (aiohttp.ClientError, OSError, TimeoutError)
_READ_BUFFER = 64 * 1024  # larger ones leave the processor's cache before their lines are decoded
_HEADER_LIMIT = 64 * 1024


class Sessions:
    """aiohttp's sessions for one API server, behind a proxy."""

    def __init__(
        self, config: ClientConfig, *, fields: list[tuple[str, str]], timeout: float, connect_timeout: float
    ) -> None:
        self._config = config
        self._fields = fields
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=connect_timeout)
        self._server = URL(config.server, encoded=True)
        self._prefix = self._server.raw_path.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        self._arriving: set[aiohttp.ClientResponse] = set()

    async def exchange(
        self, request: Request, authorization: str, context: ssl.SSLContext | None
    ) -> Response | ConnectionFailed:
        """One request and its answer, or why there is none."""
        try:
            return await self._read(await self._start(request, authorization, context))
        except _BROKEN as error:
            return self._failure(request, error)

    async def open(
        self, request: Request, authorization: str, context: ssl.SSLContext | None
    ) -> OpenStream | Response | ConnectionFailed:
        """A stream, the answer in its place, or why there is none."""
        try:
            response = await self._start(request, authorization, context)
            if response.status != HTTPStatus.OK:
                return await self._read(response)
        except _BROKEN as error:
            return self._failure(request, error)
        return OpenStream(partial(self._read_part, request, response), partial(self._end, response))

    async def _read_part(self, request: Request, response: aiohttp.ClientResponse) -> bytes:
        """The next bytes of a stream, empty at its end. Raises ConnectionFailed."""
        try:
            return await response.content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise self._broken(request, f"nothing came for {request.idle_timeout:g} s") from error
        except (*_BROKEN, ValueError) as error:
            raise self._broken(request, explain_exchange(_origin(error))) from error
        except RuntimeError as error:  # what aiohttp raises once the session was closed under the stream
            raise self._broken(request, "the transport was closed") from error

    def _end(self, response: aiohttp.ClientResponse) -> None:
        """A stream was left."""
        self._arriving.discard(response)
        response.close()

    async def aclose(self) -> None:
        """Close all connections; what is open breaks off."""
        for response in self._arriving:  # aiohttp would leave those who read them waiting
            response.content.set_exception(aiohttp.ClientConnectionError("the transport was closed"))
        if self._session is not None:
            await self._session.close()

    def _failure(self, request: Request, error: Exception) -> ConnectionFailed:
        """The typed error of what aiohttp raised."""
        server = self._config.server
        if isinstance(
            error,
            aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError | aiohttp.ConnectionTimeoutError,
        ):
            problem, permanent = explain_connect(_origin(error), server)
            if isinstance(error, aiohttp.ClientProxyConnectionError):
                problem = f"proxyconnect {problem}"
            return connection_failed(request, server, problem, sent=False, permanent=permanent)
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return connection_failed(request, server, f"proxyconnect: {error.status} {error.message}", sent=False)
        return self._broken(request, explain_exchange(_origin(error)))

    async def _start(
        self,
        request: Request,
        authorization: str,
        context: ssl.SSLContext | None,
    ) -> aiohttp.ClientResponse:
        """Send, and read the head of the answer. Raises ConnectionFailed when aiohttp refuses to send it."""
        options: dict[str, Any] = {}
        if context is not None:
            options["ssl"] = context
        if self._config.server_name:
            options["server_hostname"] = self._config.server_name
        if self._config.proxy:
            options["proxy"] = self._config.proxy
        if request.timeout or request.idle_timeout:
            options["timeout"] = aiohttp.ClientTimeout(
                total=request.timeout or self._timeout.total,
                sock_connect=self._timeout.sock_connect,
                sock_read=request.idle_timeout or None,
            )
        headers = {**request.headers, "Authorization": authorization} if authorization else request.headers
        try:
            response = await self._get_session().request(
                request.method,
                self._url(request),
                data=request.body,
                headers=headers,
                allow_redirects=False,
                **options,
            )
        except _BROKEN:  # some of which are ValueErrors too
            raise
        except ValueError as error:
            raise explain_refusal(request, self._config.server, authorization, error) from None
        self._arriving.add(response)
        return response

    def _url(self, request: Request) -> URL:
        """Put together from parts, which costs a third of parsing the whole."""
        return URL.build(
            scheme=self._server.scheme,
            authority=self._server.raw_authority,
            path=self._prefix + request.path,
            query_string=request.query_string,
            encoded=True,
        )

    async def _read(self, response: aiohttp.ClientResponse) -> Response:
        try:
            async with response:
                body = await response.read()
        finally:
            self._arriving.discard(response)
        return Response(status=response.status, headers=Headers.joined(response.headers.items()), body=body)

    def _get_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            keep_read_buffers()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_CONNECTION, socket_factory=new_socket),
                headers=self._fields,
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Content-Type",),
                auto_decompress=False,
                read_bufsize=_READ_BUFFER,
                max_line_size=_HEADER_LIMIT,
                max_field_size=_HEADER_LIMIT,
            )
            # aiohttp would send PUT and DELETE again by itself; what may be repeated is decided in runtime.retry
            self._session._retry_connection = False  # noqa: SLF001  # there is no public switch
        return self._session

    def _broken(self, request: Request, problem: str) -> ConnectionFailed:
        return connection_failed(request, self._config.server, problem, sent=True)


def _origin(error: Exception) -> Exception:
    """The system's error inside aiohttp's."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error.os_error
    if isinstance(error.__cause__, ssl.SSLError):
        return error.__cause__
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return EOFError()
    if isinstance(error, aiohttp.ClientPayloadError):
        return EOFError("unexpected EOF")
    if isinstance(error, aiohttp.ClientResponseError):
        return ValueError(f"malformed HTTP response: {error.message}")
    return error
