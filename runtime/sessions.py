"""
What aiohttp does for the transport: streams, and every exchange through a proxy.

The rest goes over `runtime.connections`, which costs half as much an exchange.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
from yarl import URL

from runtime.allocator import keep_read_buffers
from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from runtime.errors import ConnectionFailed
from runtime.http1_answers import Headers
from runtime.kubeconfig import ClientConfig
from runtime.lines import LineSplitter, LineTooLong
from runtime.requests import Request
from runtime.responses import Response
from runtime.sockets import new_socket

IDLE_CONNECTION = 90.0
"""Seconds after which an unused connection is closed."""
BROKEN = (aiohttp.ClientError, OSError, TimeoutError)
_READ_BUFFER = 64 * 1024  # larger ones leave the processor's cache before their lines are decoded
_HEADER_LIMIT = 64 * 1024
_REFUSES_HTTP_1_0 = frozenset({426, 505})


class LineStream:
    """Lines of a streamed answer, without their line ends. Raises ConnectionFailed when the stream breaks off."""

    def __init__(
        self, request: Request, response: aiohttp.ClientResponse, fail: Callable[[str], ConnectionFailed]
    ) -> None:
        self._request = request
        self._response = response
        self._fail = fail
        self._splitter = LineSplitter()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for lines in self.batches():
            for line in lines:
                yield line

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """The lines as they arrive, a chunk's worth at a time: cheaper than one by one."""
        while chunk := await self._read():
            try:
                lines = self._splitter.feed(chunk)
            except LineTooLong as error:
                raise self._fail(str(error)) from error
            if lines:
                yield lines
        if self._splitter.rest:
            raise self._fail("unexpected EOF in the middle of a line")

    async def _read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise self._fail(f"nothing came for {self._request.idle_timeout:g} s") from error
        except (*BROKEN, ValueError) as error:
            raise self._fail(explain_exchange(_origin(error))) from error
        except RuntimeError as error:  # what aiohttp raises once the session was closed under the stream
            raise self._fail("the transport was closed") from error


class Sessions:
    """aiohttp's sessions for one API server. Raises what `BROKEN` lists; `failure` turns that into our error."""

    def __init__(
        self, config: ClientConfig, *, fields: list[tuple[str, str]], timeout: float, connect_timeout: float
    ) -> None:
        self._config = config
        self._fields = fields
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=connect_timeout)
        self._server = URL(config.server, encoded=True)
        self._prefix = self._server.raw_path.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        self._unchunked: aiohttp.ClientSession | None = None
        self._may_unchunk = True
        self._arriving: set[aiohttp.ClientResponse] = set()

    async def exchange(self, request: Request, authorization: str, context: ssl.SSLContext | None) -> Response:
        """One request and its answer."""
        return await self._read(await self._start(request, authorization, context, self._get_session()))

    async def open(
        self, request: Request, authorization: str, context: ssl.SSLContext | None
    ) -> aiohttp.ClientResponse | Response:
        """The beginning of a stream, or the answer in its place."""
        response = await self._start(request, authorization, context, self._stream_session(request))
        if self._may_unchunk and response.status in _REFUSES_HTTP_1_0:
            self._may_unchunk = False
            await self._read(response)
            response = await self._start(request, authorization, context, self._get_session())
        return response if response.status == 200 else await self._read(response)

    def end(self, response: aiohttp.ClientResponse) -> None:
        """A stream was left."""
        self._arriving.discard(response)
        response.close()

    async def aclose(self) -> None:
        """Close all connections; what is open breaks off."""
        for response in self._arriving:  # aiohttp would leave those who read them waiting
            response.content.set_exception(aiohttp.ClientConnectionError("the transport was closed"))
        for session in (self._unchunked, self._session):
            if session is not None:
                await session.close()

    def failure(self, request: Request, error: Exception) -> ConnectionFailed:
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
        return connection_failed(request, server, explain_exchange(_origin(error)), sent=True)

    async def _start(
        self,
        request: Request,
        authorization: str,
        context: ssl.SSLContext | None,
        session: aiohttp.ClientSession,
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
            response = await session.request(
                request.method,
                self._url(request),
                data=request.body,
                headers=headers,
                allow_redirects=False,
                **options,
            )
        except BROKEN:  # some of which are ValueErrors too
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
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION, socket_factory=new_socket),
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

    def _stream_session(self, request: Request) -> aiohttp.ClientSession:
        """
        The session for a stream: one that speaks HTTP/1.0, where a cut that looks like an end does no harm.

        A server must not send chunks then. It sends a chunk for each event, and aiohttp takes as long over a chunk of
        4 KB as over its decryption: without them a watch runs half as fast again.
        """
        shared = self._get_session()
        if not (request.resumable and self._may_unchunk):
            return shared
        if self._unchunked is None:
            self._unchunked = aiohttp.ClientSession(
                connector=shared.connector,
                connector_owner=False,
                version=aiohttp.HttpVersion10,
                headers=self._fields,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_READ_BUFFER,
                max_line_size=_HEADER_LIMIT,
                max_field_size=_HEADER_LIMIT,
            )
        return self._unchunked


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
