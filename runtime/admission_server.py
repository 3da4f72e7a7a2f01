"""
The admission server: paths to handlers, and an answer within the time that the API server gives.

Whatever can't be judged is answered by an HTTP error, not by a denial: then the failurePolicy of the webhook
configuration decides, as its author meant it to. So a handler that fails or takes too long is answered by 500, whose
text the API server shows to the user, and an unknown path by 404: never by "allowed".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from runtime import admission_metrics as metrics
from runtime.admission import Handler
from runtime.admission_review import Endpoint, MalformedReview, describe, read_review, write_review
from runtime.duration import DurationError, parse_seconds
from runtime.http1 import HttpRequest, HttpResponse
from runtime.https import HttpsServer
from runtime.https_connection import Timeouts
from runtime.servingtls import ServingTls
from runtime.wire import AdmissionRequest, AdmissionResponse, AdmissionReview

logger = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
_DEFAULT_TIMEOUT = 10.0
_MAX_TIMEOUT = 30.0
_TEXT = "text/plain; charset=utf-8"


class AdmissionServer:
    """
    Serves handlers over HTTPS.

    Raises ValueError when two different handlers claim one path; the same handler twice is served once.
    `host` empty listens on all interfaces, `port` 0 takes a free one. `heard` is told the bytes of each body before it is
    judged.
    """

    def __init__(
        self,
        handlers: Iterable[Handler],
        tls: ServingTls,
        *,
        host: str = "",
        port: int = 8443,
        timeouts: Timeouts | None = None,
        heard: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._routes = _route(handlers)
        self._heard = heard
        self._tls = tls
        self._server = HttpsServer(self.handle, tls.context, host=host, port=port, max_body=MAX_BODY, timeouts=timeouts)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths served, in the order of the handlers."""
        return tuple(self._routes)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.port

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered."""
        return not self.problem()

    def problem(self) -> str:
        """What keeps requests from being answered, for `/readyz`; empty when nothing does."""
        if not self._server.is_listening:
            return "the admission server doesn't listen"
        return "" if self._tls.is_ready else "there is no serving certificate yet"

    async def run(self) -> None:
        """Listen and answer until drained or cancelled. Raises OSError when the address can't be bound."""
        try:
            await self.start()
            await self._server.wait_ended()
        finally:
            self.abort()

    async def start(self) -> None:
        """Listen. Raises OSError when the address can't be bound."""
        await self._server.start()
        logger.info('msg="admission server listens" port=%d paths=%s', self.port, ",".join(self._routes))

    async def drain(self, seconds: float) -> None:
        """Stop accepting and finish what runs. Raises DrainTimeout when that takes longer than `seconds`."""
        await self._server.drain(seconds)

    def abort(self) -> None:
        """End at once, also in the middle of a drain."""
        self._server.abort()

    def handle(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        """Answer one HTTP request."""
        route = self._routes.get(request.path)
        if route is None:
            metrics.REQUESTS.labels("", "not_found").inc()
            return _text(404, f"no admission handler is registered for {request.path[:200]}")
        if request.method != "POST":
            return _text(405, "admission reviews are posted", "Allow: POST")
        if not _is_json(request):
            return _text(415, "an AdmissionReview must be sent as application/json")
        self._heard(len(request.body))
        return route.answer(request)


class _Route:
    """One path: its endpoint with time limit, metrics and log."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self._path = handler.path
        self._endpoint: Endpoint[Any] = Endpoint(handler)
        verdicts = ("allowed", "patched", "denied", "malformed", "failed", "timeout")
        self._counts = {verdict: metrics.REQUESTS.labels(self._path, verdict) for verdict in verdicts}
        self._duration = metrics.DURATION.labels(self._path)

    def answer(self, http: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        started = time.perf_counter()
        try:
            review, request = read_review(http.body)
        except MalformedReview as error:
            return self._malformed(error)
        try:
            response = self._endpoint.answer(request)
        except MalformedReview as error:
            return self._malformed(error)
        except Exception as error:  # noqa: BLE001  # one handler's failure must not end the server
            return self._failed(request, error, started)
        if isawaitable(response):
            return self._answer_later(review, request, response, time_limit(http.query), started)
        return self._answered(review, request, response, started)

    async def _answer_later(
        self,
        review: AdmissionReview,
        request: AdmissionRequest,
        response: Awaitable[AdmissionResponse],
        seconds: float,
        started: float,
    ) -> HttpResponse:
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                done = await response
        except Exception as error:  # noqa: BLE001  # as above
            if scope.expired():
                return self._late(request, seconds, started)
            return self._failed(request, error, started)
        return self._answered(review, request, done, started)

    def _answered(
        self, review: AdmissionReview, request: AdmissionRequest, response: AdmissionResponse, started: float
    ) -> HttpResponse:
        body = write_review(review, response)
        verdict = "denied" if not response.allowed else "allowed" if response.patch is msgspec.UNSET else "patched"
        self._count(verdict, started)
        level = logging.DEBUG if response.allowed else logging.INFO
        if logger.isEnabledFor(level):
            self._log(level, verdict, request, response.status.message if response.status else "")
        return HttpResponse(200, body)

    def _malformed(self, error: MalformedReview) -> HttpResponse:
        self._counts["malformed"].inc()
        logger.warning('msg="malformed admission review" path=%s error=%r', self._path, str(error))
        return _text(400, str(error))

    def _failed(self, request: AdmissionRequest, error: Exception, started: float) -> HttpResponse:
        self._count("failed", started)
        logger.error(
            'msg="admission handler failed" path=%s object=%r user=%r',
            self._path,
            describe(request),
            request.user_info.username,
            exc_info=error,
        )
        return _text(500, f"{self._path} failed on {describe(request)}: {type(error).__name__}: {error}")

    def _late(self, request: AdmissionRequest, seconds: float, started: float) -> HttpResponse:
        self._count("timeout", started)
        self._log(logging.ERROR, "timeout", request, f"no verdict within {seconds:g} s")
        # Of a 504 the API server shows its own text instead of ours.
        return _text(500, f"{self._path} had no verdict on {describe(request)} within {seconds:g} s")

    def _count(self, verdict: str, started: float) -> None:
        self._counts[verdict].inc()
        self._duration.observe(time.perf_counter() - started)

    def _log(self, level: int, verdict: str, request: AdmissionRequest, reason: str) -> None:
        logger.log(
            level,
            'msg="admission" verdict=%s path=%s operation=%s object=%r user=%r dry_run=%s reason=%r',
            verdict,
            self._path,
            request.operation,
            describe(request),
            request.user_info.username,
            request.is_dry_run,
            reason,
        )


def _route(handlers: Iterable[Handler]) -> dict[str, _Route]:
    routes: dict[str, _Route] = {}
    for handler in handlers:
        known = routes.get(handler.path)
        if known is None:
            routes[handler.path] = _Route(handler)
        elif known.handler is not handler:
            raise ValueError(f"two admission handlers claim the path {handler.path}")
    return routes


@lru_cache(maxsize=64)
def time_limit(query: str) -> float:
    """
    Seconds that a handler may take: a tenth less than the API server waits, which it tells as `timeout=10s`.

    What it doesn't tell, or tells wrongly, counts as its default of 10 s; it never waits more than 30.
    """
    texts = parse_qs(query).get("timeout", [])
    try:
        seconds = parse_seconds(texts[0]) if texts else _DEFAULT_TIMEOUT
    except DurationError:
        seconds = _DEFAULT_TIMEOUT
    return 0.9 * min(seconds if seconds > 0 else _DEFAULT_TIMEOUT, _MAX_TIMEOUT)


def _is_json(request: HttpRequest) -> bool:
    """Parameters such as a charset are let pass; a compressed body isn't."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json" and "content-encoding" not in request.headers


def _text(status: int, text: str, *headers: str) -> HttpResponse:
    return HttpResponse(status, f"{text}\n".encode(), _TEXT, headers)
