"""Drives commands in this process on a recorded server: canned answers, and every request kept."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from cli.program import run as run_program
from cli.tree import root_of
from runtime.client_sync import SyncClient
from runtime.errors import ConnectionFailed
from runtime.kubeconfig import ClientConfig
from runtime.requests import Request
from runtime.responses import Response
from runtime.timestamps import parse
from runtime.transport_sync import SyncTransport

NOW = "2024-01-02T03:11:10Z"
BATCH = "/apis/batch.volcano.sh/v1alpha1"
SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"
FLOW = "/apis/flow.volcano.sh/v1alpha1"
BUS = "/apis/bus.volcano.sh/v1alpha1"


@dataclass
class Server:
    """Answers by `METHOD path`; several answers to one request come in turn, the last one again and again."""

    answers: dict[str, list[Any]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    namespace: str = "default"
    streams: dict[str, list[list[bytes]]] = field(default_factory=dict)

    def on(self, request: str, *bodies: Any) -> Server:
        self.answers[request] = list(bodies)
        return self

    def items(self, path: str, *objects: Any) -> Server:
        return self.on(f"GET {path}", {"metadata": {"resourceVersion": "5"}, "items": list(objects)})

    def fail(self, request: str, code: int, message: str, reason: str = "") -> Server:
        return self.on(request, (code, {"status": "Failure", "code": code, "message": message, "reason": reason}))

    def lines(self, path: str, *batches: list[Any]) -> Server:
        """Streams of this path, one for each time that it is opened."""
        encoded = [[line if isinstance(line, bytes) else msgspec.json.encode(line) for line in one] for one in batches]
        self.streams[path] = encoded
        return self

    @property
    def client(self) -> SyncClient:
        return SyncClient(cast("SyncTransport", _Transport(self)))

    @property
    def targets(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.requests]

    def bodies(self, method: str) -> list[Any]:
        return [msgspec.json.decode(one.body or b"") for one in self.requests if one.method == method]


class _Transport:
    def __init__(self, server: Server) -> None:
        self._server = server
        self.config = ClientConfig("https://server", namespace=server.namespace)

    def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        del guard
        self._server.requests.append(request)
        answers = self._server.answers.get(f"{request.method} {request.path}")
        if not answers:
            message = f"the server has no {request.method} {request.path}"
            return _response(404, {"status": "Failure", "reason": "NotFound", "code": 404, "message": message})
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        return _response(*answer) if isinstance(answer, tuple) else _response(200, answer)

    @contextlib.contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        self._server.requests.append(request)
        batches = self._server.streams.get(request.path)
        if not batches:
            raise KeyboardInterrupt
        yield iter(batches.pop(0))


def _response(code: int, body: Any) -> Response:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Response(status=code, body=data)


@dataclass(frozen=True)
class Result:
    """The end of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def run(
    *words: str, server: Server | None = None, program: str = "vcctl", environ: Mapping[str, str] | None = None
) -> Result:
    """One command line. Pauses cost no time: each moves the clock on."""
    out, err = io.StringIO(), io.StringIO()
    used = server or Server()
    pauses = itertools.count()
    start = parse(NOW).timestamp()
    spent = [0.0]

    def pause(seconds: float) -> None:
        spent[0] += seconds
        assert next(pauses) < 1000, "waits for ever"

    code = run_program(
        root_of(program),
        words,
        out=out,
        err=err,
        environ=environ or {},
        connect=lambda *_: used.client,
        clock=lambda: start + spent[0],
        pause=pause,
    )
    return Result(code, out.getvalue(), err.getvalue())


def refused(request: str = 'Get "https://server/x"') -> ConnectionFailed:
    return ConnectionFailed(f"{request}: dial tcp 127.0.0.1:1: connect: connection refused", sent=False)


def job(name: str = "j1", namespace: str = "default", phase: str = "Running", **parts: Any) -> dict[str, Any]:
    """A job of three replicas with a running and a pending pod."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"u-{name}",
            "creationTimestamp": "2024-01-02T03:04:05Z",
            **parts.pop("metadata", {}),
        },
        "spec": {
            "minAvailable": 2,
            "schedulerName": "volcano",
            "queue": "default",
            "tasks": [{"name": "t", "replicas": 3, "template": {}}],
            **parts.pop("spec", {}),
        },
        "status": {
            "state": {"phase": phase},
            "minAvailable": 2,
            "pending": 1,
            "running": 2,
            **parts.pop("status", {}),
        },
    }


def queue(name: str = "q1", weight: int = 3, state: str = "Open", parent: str = "root", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"u-{name}"},
        "spec": {"weight": weight, "parent": parent, **spec},
        "status": {"state": state},
    }


def group(name: str, queue_name: str, phase: str, namespace: str = "default") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"queue": queue_name, "minMember": 2},
        "status": {"phase": phase},
    }
