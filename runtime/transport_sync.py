"""
The http.client shell, for the command line and for threads with a connection of their own.

Starts in a third of the time that aiohttp needs to import. One transport belongs to one thread at a time and
keeps one idle connection.
"""

from __future__ import annotations

import base64
import http.client
import io
import logging
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from runtime.dialing import connection_failed, explain_connect, explain_exchange, explain_refusal
from runtime.errors import ConfigError, ConnectionFailed, Unauthorized
from runtime.kubeconfig import ClientConfig
from runtime.lines import LineSplitter, LineTooLong
from runtime.requests import Request
from runtime.responses import Response
from runtime.retry import IMPATIENT, Attempts, RetryPolicy
from runtime.serverwarnings import WarningLog
from runtime.sockets import watch_peer

logger = logging.getLogger(__name__)

_CHUNK = 64 * 1024
_BROKEN = (http.client.HTTPException, OSError, EOFError)


class SyncTransport:
    """A connection to one API server."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        retry: RetryPolicy = IMPATIENT,
        timeout: float = 65.0,
        connect_timeout: float = 10.0,
        user_agent: str = "stromboli",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`timeout` bounds one try, in seconds."""
        self.config = config
        self._retry = retry
        self._timeout = timeout
        self._connect_timeout = min(connect_timeout, timeout)
        self._clock = clock
        self._sleep = sleep
        self._headers = (
            ("User-Agent", user_agent),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            *config.headers,
        )
        self._warnings = WarningLog()
        self._idle: http.client.HTTPConnection | None = None

    def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        """
        Send until there is a final answer, of whatever code; see `runtime.retry` for what is repeated.

        `guard` is called before each try and its exceptions pass through. Raises ConnectionFailed.
        """
        attempts = Attempts(self._retry, request, self._clock())
        while True:
            header = self._authorization(request)
            if guard is not None:
                guard()
            outcome = self._exchange(request, header)
            if attempts.wants_credentials(outcome) and self._renew(request, header):
                continue
            pause = attempts.pause(outcome, self._clock())
            if pause is None:
                return attempts.conclude(outcome)
            logger.info('msg="trying again" request="%s %s" after=%.2fs', request.method, request.path, pause)
            self._sleep(pause)

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        """
        Open a stream of lines on a connection of its own. Raises ApiError or ConnectionFailed.

        Repeated only after a 401, with fresh credentials.
        """
        header = self._authorization(request)
        try:
            connection, answer = self._open(request, header)
        except Unauthorized:
            if not self._renew(request, header):
                raise
            connection, answer = self._open(request, self._authorization(request))
        try:
            yield self._lines(answer, request)
        finally:
            connection.close()

    def close(self) -> None:
        """Close the idle connection."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _open(self, request: Request, header: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connect(request)
        try:
            answer = self._start(connection, request, header)
            if answer.status == 200:
                return connection, answer
            response = self._read(answer, request, self._clock() + self._timeout, connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, _BROKEN):
                raise self._broken(request, error) from error
            if isinstance(error, ValueError):
                raise explain_refusal(request, self.config.server, header, error) from None
            raise
        connection.close()
        raise response.failure(request)

    def _exchange(self, request: Request, header: str) -> Response | ConnectionFailed:
        deadline = self._clock() + (request.timeout or self._timeout)
        try:
            connection = self._take_idle() or self._connect(request)
        except ConnectionFailed as error:
            return error
        try:
            answer = self._start(connection, request, header)
            response = self._read(answer, request, deadline, connection)
        except _BROKEN as error:
            connection.close()
            return self._broken(request, error)
        except ValueError as error:
            connection.close()
            return explain_refusal(request, self.config.server, header, error)
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._idle = connection
        return response

    def _take_idle(self) -> http.client.HTTPConnection | None:
        """The idle connection, unless the server has closed it: then bytes, or their end, wait to be read."""
        connection, self._idle = self._idle, None
        if connection is None or connection.sock is None:
            return None
        poll = select.poll()
        poll.register(connection.sock, select.POLLIN)
        if poll.poll(0):
            connection.close()
            return None
        return connection

    def _connect(self, request: Request) -> http.client.HTTPConnection:
        server = self.config.server
        connection = self._new_connection()
        try:
            connection.connect()
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a name that IDNA refuses
            connection.close()
            problem, permanent = explain_connect(error, self.config.proxy or server, may_look_up=True)
            if self.config.proxy:
                problem = f"proxyconnect {problem}"
            raise connection_failed(request, server, problem, sent=False, permanent=permanent) from error
        watch_peer(connection.sock)
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        target = urlsplit(self.config.server)
        via = urlsplit(self.config.proxy) if self.config.proxy else target
        host, port = via.hostname or "", via.port or (443 if via.scheme == "https" else 80)
        if self.config.tls is None:
            return _Connection(host, port, timeout=self._connect_timeout)
        connection = _TlsConnection(host, port, self._connect_timeout, self.config)
        if self.config.proxy:
            connection.set_tunnel(target.hostname or "", target.port or 443, headers=_proxy_headers(self.config.proxy))
        return connection

    def _start(self, connection: http.client.HTTPConnection, request: Request, header: str) -> http.client.HTTPResponse:
        """Send, and read the head of the answer."""
        connection.sock.settimeout(request.idle_timeout or request.timeout or self._timeout)
        plain_proxy = self.config.proxy and self.config.tls is None
        prefix = self.config.server if plain_proxy else urlsplit(self.config.server).path
        connection.putrequest(request.method, prefix + request.target, skip_accept_encoding=True)
        for name, value in (*self._headers, *request.headers.items()):
            connection.putheader(name, value)
        if header:
            connection.putheader("Authorization", header)
        if plain_proxy:
            for name, value in _proxy_headers(self.config.proxy).items():
                connection.putheader(name, value)
        if request.body is not None:
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)
        return connection.getresponse()

    def _read(
        self,
        answer: http.client.HTTPResponse,
        request: Request,
        deadline: float,
        connection: http.client.HTTPConnection,
    ) -> Response:
        parts = []
        while chunk := self._read_chunk(answer, deadline, connection):
            parts.append(chunk)
        answer.close()
        self._warnings.report(answer.headers.get_all("Warning", []), request)
        headers = {name.title(): value for name, value in answer.headers.items()}
        return Response(status=answer.status, headers=headers, body=b"".join(parts))

    def _read_chunk(
        self, answer: http.client.HTTPResponse, deadline: float, connection: http.client.HTTPConnection
    ) -> bytes:
        remaining = deadline - self._clock()
        if remaining <= 0:
            raise TimeoutError
        if connection.sock is not None:  # None once an answer that ends the connection was read
            connection.sock.settimeout(remaining)
        chunk = answer.read1(_CHUNK)
        if not chunk and answer.length:
            raise http.client.IncompleteRead(b"", answer.length)
        return chunk

    def _lines(self, answer: http.client.HTTPResponse, request: Request) -> Iterator[bytes]:
        splitter = LineSplitter()
        try:
            while chunk := answer.read1(_CHUNK):
                yield from splitter.feed(chunk)
        except TimeoutError as error:
            silence = f"nothing came for {request.idle_timeout or request.timeout:g} s"
            raise self._broken(request, ValueError(silence)) from error
        except (*_BROKEN, ValueError, LineTooLong) as error:
            raise self._broken(request, error) from error
        if splitter.rest:
            raise self._broken(request, ValueError("unexpected EOF in the middle of a line"))

    def _authorization(self, request: Request) -> str:
        if self.config.credentials.is_due():
            self._renew(request, None)
        return self.config.credentials.header()

    def _renew(self, request: Request, rejected: str | None) -> bool:
        try:
            fresh = self.config.credentials.refresh(rejected)
        except ConfigError as error:
            raise connection_failed(
                request, self.config.server, f"getting credentials: {error}", sent=False, permanent=True
            ) from error
        if (fresh or rejected is not None) and self.config.tls is not None and self.config.tls.check():
            self.close()
            return True
        return fresh

    def _broken(self, request: Request, error: Exception) -> ConnectionFailed:
        return connection_failed(request, self.config.server, explain_exchange(_origin(error)), sent=True)


class _Lines(io.BufferedReader):
    """A reader that knows the last line that it gave."""

    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(size)
        return self.last


class _Answer(http.client.HTTPResponse):
    """
    An answer whose body has a known end: a length, the last chunk, or the end of the connection where neither is told.

    http.client takes a head that breaks off, or a framing that it doesn't know, for the third of these.
    """

    def __init__(self, sock: socket.socket, *options: Any, **more: Any) -> None:
        super().__init__(sock, *options, **more)
        self._head = _Lines(self.fp.detach())
        self.fp = self._head

    def begin(self) -> None:
        super().begin()
        if self._head.last not in (b"\r\n", b"\n"):
            raise EOFError("unexpected EOF")
        for name in ("Transfer-Encoding", "Content-Length"):
            if self.length is None and not self.chunked and name in self.headers:
                raise http.client.HTTPException(f"{name} {self.headers[name]!r}")


class _Connection(http.client.HTTPConnection):
    """TCP, and answers with whole heads."""

    response_class = _Answer


class _TlsConnection(_Connection):
    """TLS over TCP or over a proxy's tunnel, checked for the name that the configuration says."""

    default_port = 443

    def __init__(self, host: str, port: int, timeout: float, config: ClientConfig) -> None:
        super().__init__(host, port, timeout=timeout)
        assert config.tls is not None
        self._context = config.tls.context()
        self._name = config.server_name or urlsplit(config.server).hostname

    def connect(self) -> None:
        super().connect()
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if not parts.username:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _origin(error: Exception) -> Exception:
    """The plain error inside http.client's: its own texts are of no use to a person."""
    if isinstance(error, http.client.RemoteDisconnected | http.client.IncompleteRead):
        return EOFError("" if isinstance(error, http.client.RemoteDisconnected) else "unexpected EOF")
    if isinstance(error, http.client.HTTPException):
        return ValueError(f"malformed HTTP response: {error!r}")
    return error
