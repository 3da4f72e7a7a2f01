"""
The aiohttp shell: sends requests and streams watch lines.

The order of one try: credentials, a place in the queue (rate limit, priority), the write guard, the wire. The
guard comes last because a lease can be lost while a request waits. One transport belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeAlias, TypeVar

import aiohttp
from yarl import URL

from runtime.allocator import keep_read_buffers
from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from runtime.errors import ConfigError, ConnectionFailed
from runtime.kubeconfig import ClientConfig
from runtime.lines import LineSplitter, LineTooLong
from runtime.ratelimit import Gate
from runtime.requests import Request
from runtime.responses import Response
from runtime.retry import PATIENT, Attempts, RetryPolicy
from runtime.serverwarnings import WarningLog
from runtime.sockets import new_socket

logger = logging.getLogger(__name__)

S = TypeVar("S")
_Identity: TypeAlias = tuple[str, ssl.SSLContext | None]
"""Authorization header and TLS context: who we are in one try."""

_IDLE_CONNECTION = 90.0
_READ_BUFFER = 64 * 1024  # larger ones leave the processor's cache before their lines are decoded
_HEADER_LIMIT = 64 * 1024
_BROKEN = (aiohttp.ClientError, OSError, TimeoutError)
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
        except (*_BROKEN, ValueError) as error:
            raise self._fail(explain_exchange(_origin(error))) from error
        except RuntimeError as error:  # what aiohttp raises once the session was closed under the stream
            raise self._fail("the transport was closed") from error


class Transport:
    """Connections to one API server."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        qps: float = 0.0,
        burst: int = 0,
        in_flight: int = 96,
        retry: RetryPolicy = PATIENT,
        timeout: float = 65.0,
        connect_timeout: float = 10.0,
        user_agent: str = "stromboli",
    ) -> None:
        """
        `qps` <= 0 sets no rate, `in_flight` <= 0 no bound on concurrent requests; streams don't count.

        `timeout` bounds one try in seconds, a little above the API server's own minute.
        """
        self.config = config
        self.gate = Gate(qps=qps, burst=burst, in_flight=in_flight)
        self._retry = retry
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=connect_timeout)
        self._connect_timeout = connect_timeout
        self._headers = [("User-Agent", user_agent), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        self._headers += config.headers
        self._server = URL(config.server, encoded=True)
        self._prefix = self._server.raw_path.rstrip("/")
        self._warnings = WarningLog()
        self._renewal = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._unchunked: aiohttp.ClientSession | None = None
        self._may_unchunk = True
        self._arriving: set[aiohttp.ClientResponse] = set()
        self._closed = False

    async def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        """
        Send until there is a final answer, of whatever code; see `runtime.retry` for what is repeated.

        `guard` is called before each try and its exceptions pass through. Raises ConnectionFailed.
        """
        return await self._persist(request, lambda identity: self._exchange(request, identity, guard))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[LineStream]:
        """Open a stream of lines. Raises ApiError or ConnectionFailed when it can't be opened."""
        response = await self._persist(request, lambda identity: self._open(request, identity))
        if isinstance(response, Response):
            raise response.failure(request)
        try:
            yield LineStream(request, response, lambda problem: self._broken(request, problem))
        finally:
            self._arriving.discard(response)
            response.close()

    async def aclose(self) -> None:
        """Close all connections; streams and requests that are still open break off."""
        self._closed = True
        for response in self._arriving:  # aiohttp would leave those who read them waiting
            response.content.set_exception(aiohttp.ClientConnectionError("the transport was closed"))
        for session in (self._unchunked, self._session):
            if session is not None:
                await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def _persist(
        self, request: Request, attempt: Callable[[_Identity], Awaitable[Response | ConnectionFailed | S]]
    ) -> Response | S:
        loop = asyncio.get_running_loop()
        attempts = Attempts(self._retry, request, loop.time())
        while True:
            if self.config.credentials.is_due():
                await self._renew(request, None)
            identity = self._identity()
            outcome = await attempt(identity)
            if not isinstance(outcome, Response | ConnectionFailed):
                return outcome
            if attempts.wants_credentials(outcome) and await self._renew(request, identity):
                continue
            pause = attempts.pause(outcome, loop.time())
            if pause is None or self._closed:
                return attempts.conclude(outcome)
            logger.info(
                'msg="trying again" request="%s %s" after=%.2fs because="%s"',
                request.method, request.path, pause, outcome if isinstance(outcome, Exception) else outcome.status,
            )  # fmt: skip
            await asyncio.sleep(pause)

    async def _exchange(
        self, request: Request, identity: _Identity, guard: Callable[[], None] | None
    ) -> Response | ConnectionFailed:
        await self.gate.enter(request.priority)
        try:
            if guard is not None:
                guard()
            return await self._read(request, await self._start(request, identity))
        except _BROKEN as error:
            return self._failure(request, error)
        finally:
            self.gate.leave()

    async def _open(
        self, request: Request, identity: _Identity
    ) -> aiohttp.ClientResponse | Response | ConnectionFailed:
        await self.gate.enter(request.priority, slot=False)
        try:
            response = await self._start(request, identity, self._stream_session(request))
            if self._may_unchunk and response.status in _REFUSES_HTTP_1_0:
                self._may_unchunk = False
                await self._read(request, response)
                response = await self._start(request, identity)
            return response if response.status == 200 else await self._read(request, response)
        except _BROKEN as error:
            return self._failure(request, error)

    async def _start(
        self, request: Request, identity: _Identity, session: aiohttp.ClientSession | None = None
    ) -> aiohttp.ClientResponse:
        """Send, and read the head of the answer. Raises ConnectionFailed when aiohttp refuses to send it."""
        header, context = identity
        options: dict[str, Any] = {}
        if context is not None:
            options["ssl"] = context
        if self.config.server_name:
            options["server_hostname"] = self.config.server_name
        if self.config.proxy:
            options["proxy"] = self.config.proxy
        if request.timeout or request.idle_timeout:
            options["timeout"] = aiohttp.ClientTimeout(
                total=request.timeout or self._timeout.total,
                sock_connect=self._connect_timeout,
                sock_read=request.idle_timeout or None,
            )
        try:
            response = await (session or self._get_session()).request(
                request.method,
                self._url(request),
                data=request.body,
                headers={**request.headers, "Authorization": header} if header else request.headers,
                allow_redirects=False,
                **options,
            )
        except _BROKEN:  # some of which are ValueErrors too
            raise
        except ValueError as error:
            raise explain_refusal(request, self.config.server, header, error) from None
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

    async def _read(self, request: Request, response: aiohttp.ClientResponse) -> Response:
        try:
            async with response:
                body = await response.read()
        finally:
            self._arriving.discard(response)
        if "Warning" in response.headers:
            self._warnings.report(response.headers.getall("Warning"), request)
        return Response(status=response.status, headers=response.headers, body=body)

    def _get_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise RuntimeError("the transport is closed")
        if self._session is None:
            keep_read_buffers()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_CONNECTION, socket_factory=new_socket),
                headers=self._headers,
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
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_READ_BUFFER,
                max_line_size=_HEADER_LIMIT,
                max_field_size=_HEADER_LIMIT,
            )
        return self._unchunked

    def _identity(self) -> _Identity:
        tls = self.config.tls
        return self.config.credentials.header(), tls.context() if tls is not None else None

    async def _renew(self, request: Request, rejected: _Identity | None) -> bool:
        """Fetch fresh credentials, once for all that wait; True when there are other ones than the rejected."""
        async with self._renewal:
            credentials = self.config.credentials
            done = not credentials.is_due() if rejected is None else self._identity() != rejected
            if done:
                return True
            try:
                await asyncio.to_thread(credentials.refresh, rejected[0] if rejected else None)
            except ConfigError as error:
                problem = f"getting credentials: {error}"
                raise connection_failed(request, self.config.server, problem, sent=False, permanent=True) from error
            if self.config.tls is not None:
                self.config.tls.check()
            return self._identity() != rejected

    def _failure(self, request: Request, error: Exception) -> ConnectionFailed:
        """The typed error of what aiohttp raised."""
        server = self.config.server
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

    def _broken(self, request: Request, problem: str) -> ConnectionFailed:
        return connection_failed(request, self.config.server, problem, sent=True)


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
