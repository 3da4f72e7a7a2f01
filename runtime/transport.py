"""
The asynchronous shell: sends requests and streams watch lines.

The order of one try: credentials, a place in the queue (rate limit, priority), the write guard, the wire. The
guard comes last because a lease can be lost while a request waits. One transport belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

from runtime import multiplexing
from runtime.connections import Pool, Unreachable
from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from runtime.errors import ConfigError, ConnectionFailed
from runtime.http1_answers import encode_field, encode_request
from runtime.http2_requests import HeadEncoder
from runtime.kubeconfig import ClientConfig
from runtime.multiplexing import Multiplexer
from runtime.ratelimit import Gate
from runtime.requests import Request
from runtime.responses import Response
from runtime.retry import PATIENT, Attempts, RetryPolicy
from runtime.retrylog import RetryLog
from runtime.serverwarnings import WarningLog
from runtime.streaming import Broken, LineStream, OpenStream, StreamConnection

if TYPE_CHECKING:
    from runtime.sessions import Sessions


S = TypeVar("S")
Outcome: TypeAlias = Response | ConnectionFailed
_IDLE_CONNECTION = 90.0
_REFUSES_HTTP_1_0 = frozenset({426, 505})
_Identity: TypeAlias = tuple[str, ssl.SSLContext | None]
"""Authorization header and TLS context: who we are in one try."""


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
        self._timeout = timeout
        self._headers = [("User-Agent", user_agent), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        self._headers += config.headers
        self._connect_timeout = connect_timeout
        self._sessions: Sessions | None = None
        self._may_unchunk = True
        server = urlsplit(config.server)
        self._prefix = server.path.rstrip("/")
        self._host = server.netloc.rpartition("@")[2]
        self._pool = Pool(
            server.hostname or "",
            server.port or (443 if server.scheme == "https" else 80),
            connect_timeout=connect_timeout,
            idle_timeout=_IDLE_CONNECTION,
        )
        self._multiplexer: Multiplexer | None = None
        if config.tls is not None and not config.proxy and multiplexing.is_enabled():
            self._multiplexer = Multiplexer(self._pool, config.tls.multiplexed, config.server_name)
        self._heads = HeadEncoder(self._host, self._headers)
        self._fields: dict[str, str] = {}
        """By Authorization header: the header lines that all requests share. It holds the latest one."""
        self._warnings = WarningLog()
        self._retries = RetryLog()
        self._renewal = asyncio.Lock()
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
        opened = await self._persist(request, lambda identity: self._open(request, identity))
        if isinstance(opened, Response):
            raise opened.failure(request)
        try:
            yield LineStream(opened.read, lambda problem: self._broken(request, problem))
        finally:
            opened.end()

    @property
    def is_closed(self) -> bool:
        """Whether `aclose` was called: what breaks off since then is no failure of the server."""
        return self._closed

    async def aclose(self) -> None:
        """Close all connections; streams and requests that are still open break off."""
        self._closed = True
        self._pool.close()
        if self._multiplexer is not None:
            self._multiplexer.close()
        if self._sessions is not None:
            await self._sessions.aclose()

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
            reason = outcome if isinstance(outcome, Exception) else outcome.status
            self._retries.tell(request, pause, reason, loop.time())
            await asyncio.sleep(pause)

    async def _exchange(
        self, request: Request, identity: _Identity, guard: Callable[[], None] | None
    ) -> Response | ConnectionFailed:
        await self.gate.enter(request.priority)
        try:
            self._check_open()
            outcome: Outcome | None = await self._exchange_multiplexed(request, identity, guard)
            if outcome is None:
                self._permit(guard)
                outcome = await self._exchange_alone(request, identity)
            return self._warned(outcome, request)
        except (Unreachable, Broken) as error:
            return self._failure(request, error)
        finally:
            self.gate.leave()

    def _permit(self, guard: Callable[[], None] | None) -> None:
        """To be called right before something is sent."""
        if guard is not None:
            guard()
        self._check_open()

    async def _exchange_multiplexed(
        self, request: Request, identity: _Identity, guard: Callable[[], None] | None
    ) -> Response | None:
        """By HTTP/2; None where that isn't spoken, and nothing was sent."""
        authorization, context = identity
        if self._multiplexer is None or context is None or self._multiplexer.is_declined(context):
            return None
        answer = await self._multiplexer.exchange(
            context,
            self._encode_head(request, authorization),
            request.body or b"",
            request.timeout or self._timeout,
            partial(self._permit, guard),
        )
        if answer is None:
            return None
        return Response(status=answer.status, headers=answer.headers, body=answer.body)

    async def _exchange_alone(self, request: Request, identity: _Identity) -> Outcome:
        if self.config.proxy:
            return await self._exchange_by_proxy(request, identity)
        return await self._exchange_directly(request, identity)

    async def _exchange_by_proxy(self, request: Request, identity: _Identity) -> Response | ConnectionFailed:
        return await self._get_sessions().exchange(request, *identity)

    async def _exchange_directly(self, request: Request, identity: _Identity) -> Response:
        authorization, context = identity
        answer = await self._pool.exchange(
            self._encode(request, authorization),
            request.timeout or self._timeout,
            context=context,
            server_name=self.config.server_name,
        )
        return Response(status=answer.status, headers=answer.headers, body=answer.body)

    def _encode(self, request: Request, authorization: str, version: str = "1.1") -> bytes:
        """The request on the wire. Raises ConnectionFailed when something in it can't be sent."""
        try:
            fields = self._shared_fields(authorization)
            for name, value in request.headers.items():
                fields += encode_field(name, value)
            return encode_request(request.method, self._prefix + request.target, fields, request.body, version=version)
        except ValueError as error:
            raise explain_refusal(request, self.config.server, authorization, error) from None

    def _encode_head(self, request: Request, authorization: str) -> bytes:
        """The head of the request in HTTP/2. Raises ConnectionFailed when something in it can't be sent."""
        try:
            target = self._prefix + request.target
            return self._heads.encode(request.method, target, authorization, request.headers, request.body)
        except ValueError as error:
            raise explain_refusal(request, self.config.server, authorization, error) from None

    def _shared_fields(self, authorization: str) -> str:
        fields = self._fields.get(authorization)
        if fields is None:
            given = [("Host", self._host), *self._headers]
            if authorization:
                given.append(("Authorization", authorization))
            fields = "".join(encode_field(name, value) for name, value in given)
            self._fields = {authorization: fields}
        return fields

    def _warned(self, response: Outcome, request: Request) -> Outcome:
        """The answer, its warnings logged."""
        if isinstance(response, Response) and "Warning" in response.headers:
            self._warnings.report((response.headers["Warning"],), request)
        return response

    async def _open(self, request: Request, identity: _Identity) -> OpenStream | Outcome:
        await self.gate.enter(request.priority, slot=False)
        self._check_open()
        if self.config.proxy:
            opened = await self._get_sessions().open(request, *identity)
            return opened if isinstance(opened, OpenStream) else self._warned(opened, request)
        try:
            if request.resumable and self._may_unchunk:
                opened = await self._open_directly(request, identity, "1.0")
                if not (isinstance(opened, Response) and opened.status in _REFUSES_HTTP_1_0):
                    return opened
                self._may_unchunk = False
            return await self._open_directly(request, identity, "1.1")
        except (Unreachable, Broken) as error:
            return self._failure(request, error)

    async def _open_directly(self, request: Request, identity: _Identity, version: str) -> OpenStream | Response:
        """
        In HTTP/1.0 a server must not send chunks, each of which would have to be looked at.

        A cut that looks like an end does no harm then where the reader resumes.
        """
        authorization, context = identity
        answer, connection = await self._pool.stream(
            self._encode(request, authorization, version),
            request.timeout or self._timeout,
            context=context,
            server_name=self.config.server_name,
        )
        stream = OpenStream(partial(self._read, request, connection), partial(self._pool.end, connection))
        if answer.status == HTTPStatus.OK:
            return stream
        body = []
        while part := await connection.read():
            body.append(part)
        stream.end()
        response = Response(status=answer.status, headers=answer.headers, body=b"".join(body))
        self._warned(response, request)
        return response

    async def _read(self, request: Request, connection: StreamConnection) -> bytes:
        """The next bytes of a stream, empty at its end. Raises ConnectionFailed."""
        idle = request.idle_timeout
        try:
            async with asyncio.timeout(idle or None):
                return await connection.read()
        except TimeoutError as error:
            raise self._broken(request, f"nothing came for {idle:g} s") from error
        except Broken as error:
            raise self._broken(request, explain_exchange(error.origin)) from error

    def _get_sessions(self) -> Sessions:
        if self._sessions is None:
            from runtime.sessions import Sessions  # noqa: PLC0415  # aiohttp, which only proxies need

            self._sessions = Sessions(
                self.config, fields=self._headers, timeout=self._timeout, connect_timeout=self._connect_timeout
            )
        return self._sessions

    def _failure(self, request: Request, error: Unreachable | Broken) -> ConnectionFailed:
        if isinstance(error, Broken):
            return self._broken(request, explain_exchange(error.origin))
        problem, permanent = explain_connect(error.origin, self.config.server)
        return connection_failed(request, self.config.server, problem, sent=False, permanent=permanent)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the transport is closed")

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

    def _broken(self, request: Request, problem: str) -> ConnectionFailed:
        return connection_failed(request, self.config.server, problem, sent=True)
