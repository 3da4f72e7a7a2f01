"""Requests over TLS, against a small server on loopback that shows what it got."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from cluster import pki, rest
from cluster.rest import Api
from runtime.errors import AlreadyExists, ConnectionFailed, Forbidden, NotFound, ServerError, TooManyRequests

PAUSES = {"Soon": 1, "Late": 60, "Never": 1}
"""Reasons of refusals that come with a pause, in seconds."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by path; remembers requests and how many connections there were."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[dict[str, Any]]] = []
    connections: ClassVar[set[int]] = set()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.connections.add(self.client_address[1])
        self.requests.append(
            {
                "method": self.command,
                "path": self.path,
                "type": self.headers.get("Content-Type"),
                "body": json.loads(body) if body else None,
            }
        )
        code, text = self.reply()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        if self.path.startswith("/hang-up"):
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815  # names of the standard library

    def reply(self) -> tuple[int, bytes]:
        _, code, *rest = (*self.path.partition("?")[0].split("/"), "")
        if not code.isdecimal():
            return 200, b"ok" if code == "readyz" else b'{"items": [{"a": 1}]}'
        reason = rest[0]
        status = {"kind": "Status", "status": "Failure", "reason": reason, "code": int(code), "message": f"no {reason}"}
        if reason == "Soon" and len(self.requests) > 2:
            return 200, b'{"items": []}'
        if pause := PAUSES.get(reason):
            status["details"] = {"retryAfterSeconds": pause}
        return int(code), json.dumps(status).encode() if reason else b"<html>gateway</html>"

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pki.Files:
    root: Path = tmp_path_factory.mktemp("pki")
    pki.create(pki.Files(root), root / "kubeconfig", "https://127.0.0.1:1", "x", dt.datetime.now(dt.UTC))
    return pki.Files(root)


@pytest.fixture
def server(files: pki.Files) -> Iterator[http.server.ThreadingHTTPServer]:
    Handler.requests.clear()
    Handler.connections.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files.ca))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(str(files.serving), str(files.serving_key))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def api(server: http.server.ThreadingHTTPServer, files: pki.Files) -> Iterator[Api]:
    api = Api(server.server_address[1], files.ca, files.client)
    yield api
    api.close()


def test_answers_are_decoded_json_or_text(api: Api) -> None:
    assert api.get("/readyz") == "ok"
    assert api.get("/list") == {"items": [{"a": 1}]}
    assert api.items("/list", labelSelector="a=b c") == [{"a": 1}]
    assert Handler.requests[-1]["path"] == "/list?labelSelector=a%3Db+c"


@pytest.mark.parametrize(
    ("verb", "method", "kind", "query"),
    [
        ("create", "POST", "application/json", ""),
        ("apply", "PATCH", "application/apply-patch+yaml", "?fieldManager=stromboli-cluster&force=true"),
        ("merge", "PATCH", "application/merge-patch+json", ""),
    ],
)
def test_each_verb_is_the_request_that_kubernetes_expects(
    api: Api, verb: str, method: str, kind: str, query: str
) -> None:
    getattr(api, verb)("/things/a", {"x": [1]})
    assert Handler.requests == [{"method": method, "path": f"/things/a{query}", "type": kind, "body": {"x": [1]}}]


def test_deletion_carries_its_options(api: Api) -> None:
    api.delete("/things/a", gracePeriodSeconds="0")
    assert Handler.requests[-1]["method"] == "DELETE"
    assert Handler.requests[-1]["path"] == "/things/a?gracePeriodSeconds=0"


@pytest.mark.parametrize(
    ("path", "error"),
    [("/404/NotFound", NotFound), ("/409/AlreadyExists", AlreadyExists), ("/403/Forbidden", Forbidden)],
)
def test_failures_are_the_runtimes_errors(api: Api, path: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"no {path.rpartition('/')[2]}"):
        api.get(path)


def test_a_failure_that_is_no_status_keeps_its_code_and_text(api: Api) -> None:
    with pytest.raises(ServerError, match="gateway") as failure:
        api.get("/502")
    assert failure.value.code == 502


def test_a_connection_is_used_again(api: Api) -> None:
    for _ in range(5):
        api.get("/list")
    assert len(Handler.connections) == 1


def test_a_connection_that_died_meanwhile_is_replaced(api: Api) -> None:
    api.get("/hang-up")
    assert api.get("/list") == {"items": [{"a": 1}]}
    assert len(Handler.connections) == 2


def test_nobody_listening_is_a_failed_connection(files: pki.Files, server: http.server.ThreadingHTTPServer) -> None:
    port = server.server_address[1]
    server.shutdown()
    server.server_close()
    with pytest.raises(ConnectionFailed, match=rf"GET https://127.0.0.1:{port}/readyz: .*refused"):
        Api(port, files.ca, files.client).get("/readyz")


def test_a_server_of_another_authority_is_not_trusted(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    other = pki.Files(tmp_path)
    pki.create(other, tmp_path / "kubeconfig", "https://127.0.0.1:1", "x", dt.datetime.now(dt.UTC))
    with pytest.raises(ConnectionFailed, match="certificate verify failed"):
        Api(server.server_address[1], other.ca, other.client).get("/readyz")


def test_work_on_many_items_goes_on_over_a_few_connections(api: Api) -> None:
    api.each(lambda number: api.create("/things", {"n": number}), range(100))
    assert sorted(request["body"]["n"] for request in Handler.requests) == list(range(100))
    assert 1 <= len(Handler.connections) <= 8


def test_the_first_failure_of_many_is_raised(api: Api) -> None:
    with pytest.raises(NotFound):
        api.each(lambda number: api.get("/404/NotFound" if number == 3 else "/list"), range(5))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it was waited; no test waits for it."""
    found: list[float] = []
    monkeypatch.setattr(rest, "time", SimpleNamespace(sleep=found.append))
    return found


def test_what_the_server_is_about_to_serve_is_asked_for_again(api: Api, pauses: list[float]) -> None:
    assert api.get("/429/Soon") == {"items": []}
    assert pauses == [1, 1]


@pytest.mark.parametrize(("reason", "count"), [("Late", 0), ("Busy", 0), ("Never", 9)])
def test_other_refusals_and_endless_ones_are_told(api: Api, pauses: list[float], reason: str, count: int) -> None:
    with pytest.raises(TooManyRequests):
        api.get(f"/429/{reason}")
    assert pauses == [1] * count
