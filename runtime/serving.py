"""
HTTP for operators: health, metrics, profiles, what a component adds (`/explain/...`).

It runs on a thread and an event loop of its own, so that `/healthz` answers while the main loop or a scheduling
thread is busy for seconds. Plain handlers run on worker threads and may take their time; coroutine functions
run on this loop and must not.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec

from runtime.http1 import CONTINUE, HttpRequest, HttpResponse, RequestReader, encode_response, http_date
from runtime.http1_framing import HttpError
from runtime.listening import BACKLOG, open_socket, remove_stale

log = logging.getLogger(__name__)

T = TypeVar("T")

WORKERS = 4
"""Threads for plain handlers; more requests than that wait."""
MAX_BODY = 64 * 1024
"""Bytes of a request's body that are read; more is refused."""
BODY_SECONDS = 30.0
"""How long a request's body may take to arrive."""
HEAD_SECONDS = 5.0
"""How long the head of a request may take to arrive, from its first byte or from the start of the connection."""
IDLE_SECONDS = 75.0
"""How long a connection may stay between requests."""
MAX_CONNECTIONS = 256
"""Connections of one listener. One more takes the place of the oldest that waits for no answer, if there is one."""
_CHUNK = 64 * 1024
_LINGER_SECONDS = 1.0
START_TIMEOUT = 10.0
"""Seconds within which a listener must stand."""


class BindError(Exception):
    """An address can't be listened on. The text names it."""


class Call(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    parts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the `{name}` parts of the route matched."""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""


class Reply(msgspec.Struct, frozen=True):
    """One answer."""

    body: str | bytes = ""
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


Handler = Callable[[Call], Reply | Awaitable[Reply]]


class Router:
    """Paths and their handlers. Routes may be added while it serves, from any thread."""

    def __init__(self) -> None:
        self._exact: dict[str, Handler] = {}
        self._patterns: dict[str, tuple[re.Pattern[str], Handler]] = {}

    def add(self, pattern: str, handler: Handler) -> None:
        """Serve a path such as `/explain/{namespace}/{name}`. Raises ValueError when it is taken."""
        if pattern in self._exact or pattern in self._patterns:
            raise ValueError(f"route {pattern} is registered twice")
        if "{" not in pattern:
            self._exact[pattern] = handler
            return
        expression = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(pattern))
        self._patterns = {**self._patterns, pattern: (re.compile(expression), handler)}

    def find(self, path: str) -> tuple[Handler, Mapping[str, str]] | None:
        """The handler of a path, and what its `{name}` parts matched; None when nobody registered it."""
        handler = self._exact.get(path)
        if handler is not None:
            return handler, {}
        for expression, candidate in self._patterns.values():
            match = expression.fullmatch(path)
            if match is not None:
                return candidate, match.groupdict()
        return None

    @property
    def paths(self) -> list[str]:
        """All registered patterns, sorted."""
        return sorted((*self._exact, *self._patterns))


class _Connection:
    """One client: its requests, one after the other, and the limits on how long each part of them may take."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._requests = RequestReader(MAX_BODY)
        self._loop = asyncio.get_running_loop()
        self._head_until = self._loop.time() + HEAD_SECONDS
        self._is_first = True
        self.is_answering = False

    async def run(self, answer: Callable[[HttpRequest], Awaitable[HttpResponse]]) -> None:
        """Answer until the client goes or is too slow. Raises ConnectionError when it is gone in the middle."""
        while True:
            try:
                request = await self._next()
            except HttpError as error:
                await self._write(_encoded(Reply(f"{error.text}\n", error.status)), close=True)
                await self._linger()
                return
            if request is None:
                return
            self.is_answering = True
            try:
                response = await answer(request)
            finally:
                self.is_answering = False
            await self._write(response, close=not request.keep_alive, has_body=request.wants_body)
            if not request.keep_alive:
                return

    def cut(self) -> None:
        """Close at once: what a client doesn't read would keep the connection for ever."""
        self._writer.transport.abort()

    async def _next(self) -> HttpRequest | None:
        """The next request, None when there is none in time. Raises HttpError."""
        if not self._is_first and self._requests.is_idle:
            data = await self._read(self._loop.time() + IDLE_SECONDS)
            if not data:
                return None
            self._head_until = self._loop.time() + HEAD_SECONDS
            self._requests.feed(data)
        self._is_first = False
        body_until = 0.0
        while (request := self._requests.next()) is None:
            if self._requests.take_continue():
                self._writer.write(CONTINUE)
            if not self._requests.is_in_head:
                body_until = body_until or self._loop.time() + BODY_SECONDS
            data = await self._read(body_until or self._head_until)
            if data is None and body_until:
                raise HttpError(HTTPStatus.REQUEST_TIMEOUT, "request body did not arrive")
            if not data:
                return None
            self._requests.feed(data)
        return request

    async def _read(self, until: float) -> bytes | None:
        """What arrives next, empty at the end of the stream, None when nothing does in time."""
        try:
            async with asyncio.timeout_at(until):
                return await self._reader.read(_CHUNK)
        except TimeoutError:
            return None

    async def _write(self, response: HttpResponse, *, close: bool, has_body: bool = True) -> None:
        date = http_date(time.time())
        self._writer.write(encode_response(response, date=date, close=close, has_body=has_body))
        await self._writer.drain()

    async def _linger(self) -> None:
        """Take what a refused client still sends for a moment, since a reset would cost it the answer."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
        until = self._loop.time() + _LINGER_SECONDS
        while await self._read(until):
            continue


class _Listener:
    """One listening socket with its connections, oldest first."""

    def __init__(self, router: Router, answer: Callable[[Router, HttpRequest], Awaitable[HttpResponse]]) -> None:
        self._router = router
        self._answer = answer
        self._connections: dict[_Connection, None] = {}
        self._ended = asyncio.Event()
        """Set whenever a connection is gone."""
        self._server: asyncio.Server | None = None

    async def start(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        # a TLS handshake counts as part of the first head
        limit = HEAD_SECONDS if tls is not None else None
        self._server = await asyncio.start_server(
            self._serve, sock=sock, ssl=tls, ssl_handshake_timeout=limit, backlog=BACKLOG
        )

    async def close(self, seconds: float) -> None:
        """Stop listening, and end what is at work after some seconds."""
        if self._server is not None:
            self._server.close()
        for connection in [each for each in self._connections if not each.is_answering]:
            connection.cut()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._connections:
                    self._ended.clear()
                    await self._ended.wait()
        for connection in tuple(self._connections):
            connection.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer)
        if len(self._connections) >= MAX_CONNECTIONS:
            oldest = next((other for other in self._connections if not other.is_answering), connection)
            oldest.cut()
            self._connections.pop(oldest, None)
            if oldest is connection:
                return
        self._connections[connection] = None
        try:
            await connection.run(lambda request: self._answer(self._router, request))
        except OSError as error:
            log.debug("connection ended error=%s", error)
        finally:
            self._connections.pop(connection, None)
            self._ended.set()
            writer.close()


class ServingThread:
    """A thread that serves any number of listeners, from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="serving", daemon=True)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="serving-worker")
        self._listeners: list[_Listener] = []

    def start(self) -> None:
        """Begin to serve. Everything else is called after it."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()

    def listen(self, address: str, router: Router, tls: ssl.SSLContext | None = None) -> int:
        """Serve on `host:port`, an empty host meaning all interfaces; returns the port. Raises BindError."""
        try:
            sock = open_socket(address)
        except (OSError, ValueError) as error:
            raise BindError(f"failed to listen on {address}: {error}") from error
        self.run(self._serve(router, sock, tls))
        port: int = sock.getsockname()[1]
        log.info("listening address=%s port=%d tls=%s", address, port, tls is not None)
        return port

    def listen_unix(self, path: Path, router: Router) -> None:
        """Serve on a unix socket for this user only; what an earlier process left is replaced. Raises BindError."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            remove_stale(path)
            sock.bind(str(path))
            path.chmod(0o700)
            sock.listen(BACKLOG)
        except OSError as error:
            sock.close()
            raise BindError(f"failed to listen on {path}: {error}") from error
        self.run(self._serve(router, sock, None))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a short coroutine on this thread's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_TIMEOUT)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on this thread's loop until it ends or the thread stops."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(_report)

    def stop(self, seconds: float = 1.0) -> None:
        """Close the listeners, let running requests end for some seconds, end the thread. Idempotent."""
        if not self._thread.is_alive():
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(seconds + 1)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(seconds)
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            rest = asyncio.all_tasks(self._loop)
            for task in rest:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
            self._loop.close()

    async def _close(self) -> None:
        await asyncio.gather(*(listener.close(1.0) for listener in self._listeners))

    async def _serve(self, router: Router, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        listener = _Listener(router, self._answer)
        await listener.start(sock, tls)
        self._listeners.append(listener)

    async def _answer(self, router: Router, request: HttpRequest) -> HttpResponse:
        path = unquote(request.path)
        found = router.find(path)
        if found is None:
            return _encoded(Reply("404 page not found\n", 404))
        handler, parts = found
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        call = Call(request.method, path, parts, query, request.headers, request.body)
        try:
            reply = await self._handle(handler, call)
        except Exception as error:
            log.exception("handler failed path=%s", path)
            reply = Reply(f"internal error: {error}\n", 500)
        return _encoded(reply)

    async def _handle(self, handler: Handler, call: Call) -> Reply:
        if inspect.iscoroutinefunction(handler):
            reply: Reply = await handler(call)
            return reply
        result = await self._loop.run_in_executor(self._workers, handler, call)
        return result if isinstance(result, Reply) else await result


def _encoded(reply: Reply) -> HttpResponse:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    fields = {"X-Content-Type-Options": "nosniff", **reply.headers}
    lines = tuple(f"{name}: {value}" for name, value in fields.items())
    return HttpResponse(reply.status, body, reply.content_type, lines)


def _report(future: Any) -> None:
    """A background coroutine that failed must not vanish."""
    if not future.cancelled() and future.exception() is not None:
        log.error("background work of the serving thread failed", exc_info=future.exception())
