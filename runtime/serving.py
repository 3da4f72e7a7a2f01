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
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

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
START_TIMEOUT = 10.0
"""Seconds within which a listener must stand."""


class BindError(Exception):
    """An address can't be listened on. The text names it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    path: str
    parts: Mapping[str, str] = field(default_factory=dict)
    """What the `{name}` parts of the route matched."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    body: str | bytes = ""
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


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


class _Connection(web.RequestHandler):
    """aiohttp's connection with the time limit for heads that it lacks."""

    __slots__ = ("_limit", "is_answering")

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        no_log: Any = None
        super().__init__(server, loop=loop, access_log=no_log, keepalive_timeout=IDLE_SECONDS)
        self._limit: asyncio.TimerHandle | None = None
        self.is_answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert self._manager is not None
        others = self._manager.connections
        super().connection_made(transport)
        self._start_limit()
        if len(others) >= MAX_CONNECTIONS:
            open_ones = (other for other in others if isinstance(other, _Connection) and other.transport is not None)
            next((other for other in open_ones if not other.is_answering), self).cut()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_limit()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.is_answering:
            self._start_limit()
        super().data_received(data)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """From a complete head to its answer no limit runs but those of the body and the handler."""
        self._stop_limit()
        self.is_answering = True
        try:
            yield
        finally:
            self.is_answering = False

    def cut(self) -> None:
        """Close at once: what a client doesn't read would keep the connection for ever."""
        transport = self.transport
        self.force_close()
        if transport is not None:
            transport.abort()

    def _start_limit(self) -> None:
        if self._limit is None:
            self._limit = self._loop.call_later(HEAD_SECONDS, self.cut)

    def _stop_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class _Server(web.Server):
    """Makes connections of our own."""

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, self._loop)


class _Site(web.SockSite):
    """A listener whose TLS handshakes count as part of the first head."""

    async def start(self) -> None:
        await web.BaseSite.start(self)
        limit = HEAD_SECONDS if self._ssl_context else None
        self._server = await asyncio.get_running_loop().create_server(
            self._runner.server,  # type: ignore[arg-type]  # set up before its sites
            sock=self._sock,
            ssl=self._ssl_context,
            ssl_handshake_timeout=limit,
            backlog=self._backlog,
        )


class ServingThread:
    """A thread that serves any number of listeners, from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="serving", daemon=True)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="serving-worker")
        self._runners: list[web.ServerRunner] = []

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
        self.run(self._serve(router, lambda runner: _Site(runner, sock, ssl_context=tls)))
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
        self.run(self._serve(router, lambda runner: _Site(runner, sock)))

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
        for runner in self._runners:
            await runner.cleanup()

    async def _serve(self, router: Router, site: Callable[[web.ServerRunner], web.BaseSite]) -> None:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            assert isinstance(connection, _Connection)
            with connection.answering():
                return await self._answer(router, request)

        runner = web.ServerRunner(_Server(answer), shutdown_timeout=1.0)
        await runner.setup()
        await site(runner).start()
        self._runners.append(runner)

    async def _answer(self, router: Router, request: web.BaseRequest) -> web.StreamResponse:
        found = router.find(request.path)
        if found is None:
            return _response(Reply("404 page not found\n", 404))
        handler, parts = found
        try:
            body = await _read_body(request)
        except TimeoutError:
            return _response(Reply("request body did not arrive\n", 408))
        if len(body) > MAX_BODY:
            return _response(Reply("request body too large\n", 413))
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = Call(request.method, request.path, parts, dict(request.query), headers, body)
        try:
            reply = await self._handle(handler, call)
        except Exception as error:
            log.exception("handler failed path=%s", request.path)
            reply = Reply(f"internal error: {error}\n", 500)
        return _response(reply)

    async def _handle(self, handler: Handler, call: Call) -> Reply:
        if inspect.iscoroutinefunction(handler):
            reply: Reply = await handler(call)
            return reply
        result = await self._loop.run_in_executor(self._workers, handler, call)
        return result if isinstance(result, Reply) else await result


async def _read_body(request: web.BaseRequest) -> bytes:
    """The body, or its beginning when it is too large. Raises TimeoutError."""
    body = b""
    async with asyncio.timeout(BODY_SECONDS):
        while len(body) <= MAX_BODY and (chunk := await request.content.readany()):
            body += chunk
    return body


def _response(reply: Reply) -> web.Response:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    headers = {"Content-Type": reply.content_type, "X-Content-Type-Options": "nosniff", **reply.headers}
    return web.Response(status=reply.status, body=body, headers=headers)


def _report(future: Any) -> None:
    """A background coroutine that failed must not vanish."""
    if not future.cancelled() and future.exception() is not None:
        log.error("background work of the serving thread failed", exc_info=future.exception())
