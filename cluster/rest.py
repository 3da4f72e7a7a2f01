"""
Requests to the local API server, synchronous and with nothing but the standard library.

The control plane is what other packages test their clients against, so it does not lean on those clients. Failures are
`runtime.errors`, as everywhere.
"""

from __future__ import annotations

import contextlib
import http.client
import queue
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from cluster.components import HOST
from runtime.errors import ConnectionFailed, TooManyRequests, from_status
from runtime.wire import Status

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
FIELD_MANAGER: Final = "stromboli-cluster"

_TIMEOUT_SECONDS = 10.0
_PARALLEL = 8
_TRIES = 10
_MOST_PAUSE = 1
"""Seconds: a server that asks for a longer pause has another reason than that it is about to serve."""
_T = TypeVar("_T")


class Api:
    """The API server at 127.0.0.1:`port` as its administrator. Threads may share it; connections are kept alive."""

    def __init__(self, port: int, ca: Path, client: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca))
        self._context.load_cert_chain(str(client))
        self._idle: queue.SimpleQueue[http.client.HTTPSConnection] = queue.SimpleQueue()

    def get(self, path: str, **query: str) -> Any:
        """Decoded JSON, or the text where the answer is none, as from `/readyz`."""
        return self.request("GET", path, query=query)

    def create(self, path: str, manifest: Any) -> Any:
        return self.request("POST", path, manifest)

    def apply(self, path: str, manifest: Any) -> Any:
        """Server-side apply that takes fields over from other managers."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self.request("PATCH", path, manifest, content_type=APPLY, query=query)

    def merge(self, path: str, patch: Any) -> Any:
        return self.request("PATCH", path, patch, content_type=MERGE)

    def delete(self, path: str, **query: str) -> Any:
        return self.request("DELETE", path, query=query)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """All items of a list."""
        return list(self.get(path, **query).get("items") or [])

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Any:
        """
        One request; `runtime.errors` on a failure. Where a kept-alive connection has died, on a new one; again where
        the server says when, as it does while it prepares to serve a new kind.
        """
        target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": "application/json"} | ({"Content-Type": content_type} if data is not None else {})
        for _ in range(_TRIES - 1):
            try:
                return self._exchange(method, target, data, headers)
            except TooManyRequests as refused:
                pause = refused.status.retry_after
                if not 0 < pause <= _MOST_PAUSE:
                    raise
                time.sleep(pause)
        return self._exchange(method, target, data, headers)

    def _exchange(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> Any:
        while True:
            connection, is_reused = self._connection()
            try:
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                code, answer = response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not is_reused:
                    path = target.partition("?")[0]
                    raise ConnectionFailed(f"{method} https://{HOST}:{self._port}{path}: {error}") from error
            else:
                self._idle.put(connection)
                return _decoded(code, answer)

    def each(self, work: Callable[[_T], object], items: Iterable[_T]) -> None:
        """Run `work` for every item over a few connections at once; the first failure is raised at the end."""
        with ThreadPoolExecutor(_PARALLEL) as pool:
            for _ in pool.map(work, items):
                pass

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _connection(self) -> tuple[http.client.HTTPSConnection, bool]:
        """A connection, and whether it was in use before."""
        try:
            return self._idle.get_nowait(), True
        except queue.Empty:
            return http.client.HTTPSConnection(HOST, self._port, context=self._context, timeout=_TIMEOUT_SECONDS), False


def _decoded(code: int, body: bytes) -> Any:
    if code < 400:
        try:
            return msgspec.json.decode(body) if body else None
        except msgspec.DecodeError:
            return body.decode(errors="replace")
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status(message=body.decode(errors="replace"))
    raise from_status(msgspec.structs.replace(status, code=status.code or code))
