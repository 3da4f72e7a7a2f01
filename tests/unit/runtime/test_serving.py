from __future__ import annotations

import http.client
import socket
import ssl
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.serving import MAX_BODY, BindError, Call, Reply, Router, ServingThread


@pytest.fixture
def serving() -> Iterator[ServingThread]:
    thread = ServingThread()
    thread.start()
    yield thread
    thread.stop()


def ask(port: int, path: str, method: str = "GET", body: bytes | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body)
    response = connection.getresponse()
    response.text = response.read().decode()  # type: ignore[attr-defined]  # read before the connection goes
    connection.close()
    return response


def text(port: int, path: str) -> str:
    return str(ask(port, path).text)  # type: ignore[attr-defined]  # set by ask


async def ok(_: Call) -> Reply:
    return Reply("ok")


def router(**handlers: object) -> Router:
    found = Router()
    found.add("/healthz", ok)
    for name, handler in handlers.items():
        found.add(f"/{name}", handler)  # type: ignore[arg-type]  # handlers of tests
    return found


@pytest.mark.parametrize("address", ["8080", ":70000"])
def test_an_unusable_address_is_refused(address: str, serving: ServingThread) -> None:
    with pytest.raises(BindError, match=f"failed to listen on {address}"):
        serving.listen(address, router())


def test_a_taken_address_is_named(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    with pytest.raises(BindError, match=f"127.0.0.1:{port}"):
        serving.listen(f"127.0.0.1:{port}", router())


def test_a_coroutine_handler_answers(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    response = ask(port, "/healthz")
    assert (response.status, text(port, "/healthz")) == (200, "ok")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_the_answer_to_head_has_no_body_that_the_next_answer_would_begin_with(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for method, body in (("HEAD", b""), ("GET", b"ok")):
        connection.request(method, "/healthz")
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Length"], response.read()) == (200, "2", body)
    connection.close()


def test_a_plain_handler_answers_and_a_slow_one_delays_nobody(serving: ServingThread) -> None:
    entered, release = threading.Event(), threading.Event()

    def slow(_: Call) -> Reply:
        entered.set()
        release.wait(10)
        return Reply("done")

    port = serving.listen("127.0.0.1:0", router(slow=slow))
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(text(port, "/slow")))
    asking.start()
    assert entered.wait(10)
    assert text(port, "/healthz") == "ok"
    release.set()
    asking.join(10)
    assert answers == ["done"]


def test_a_handler_sees_the_request(serving: ServingThread) -> None:
    def echo(call: Call) -> Reply:
        return Reply(f"{call.method} {dict(call.parts)} {dict(call.query)} {call.headers['host'][:3]} {call.body!r}")

    routes = router()
    routes.add("/explain/{namespace}/{name}", echo)
    port = serving.listen("127.0.0.1:0", routes)
    response = ask(port, "/explain/ns/job-1?verbose=1&x=a%20b", "POST", b"data")
    assert response.text == (  # type: ignore[attr-defined]  # set by ask
        "POST {'namespace': 'ns', 'name': 'job-1'} {'verbose': '1', 'x': 'a b'} 127 b'data'"
    )


def test_a_route_may_be_added_while_serving(serving: ServingThread) -> None:
    routes = router()
    port = serving.listen("127.0.0.1:0", routes)
    assert ask(port, "/late").status == 404
    routes.add("/late", ok)
    assert text(port, "/late") == "ok"


def test_an_unknown_path_is_not_found(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    for path in ("/", "/healthz/", "/explain/a/b/c", "/%00"):
        assert ask(port, path).status == 404


def test_a_path_is_registered_once() -> None:
    routes = router()
    routes.add("/a/{b}", ok)
    for path in ("/healthz", "/a/{b}"):
        with pytest.raises(ValueError, match="registered twice"):
            routes.add(path, ok)


def test_a_dot_in_a_pattern_is_a_dot() -> None:
    routes = Router()
    routes.add("/a.b/{c}", ok)
    assert routes.find("/axb/1") is None
    assert routes.find("/a.b/1") == (ok, {"c": "1"})


def test_a_failing_handler_gives_500_and_a_log_line(serving: ServingThread, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Call) -> Reply:
        raise RuntimeError("boom")

    port = serving.listen("127.0.0.1:0", router(broken=broken))
    response = ask(port, "/broken")
    assert response.status == 500
    assert "boom" in response.text  # type: ignore[attr-defined]  # set by ask
    assert "path=/broken" in caplog.text


def test_a_body_that_is_too_large_is_refused(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    assert ask(port, "/healthz", "POST", b"x" * MAX_BODY).status == 200
    assert ask(port, "/healthz", "POST", b"x" * (MAX_BODY + 1)).status == 413


def test_a_body_that_comes_in_pieces_is_read_whole(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router(size=lambda call: Reply(str(len(call.body)))))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"POST /size HTTP/1.0\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
        for _ in range(4):
            client.sendall(b"x" * 5000)
            threading.Event().wait(0.01)
        assert client.makefile("rb").read().endswith(b"\r\n\r\n20000")


def test_a_body_that_never_arrives_is_given_up(serving: ServingThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.serving.BODY_SECONDS", 0.05)
    port = serving.listen("127.0.0.1:0", router())
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def ended(client: socket.socket) -> bool:
    """Wait for the end of the stream."""
    try:
        return client.recv(100) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_never_ends_is_given_up(
    sent: bytes, serving: ServingThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.serving.HEAD_SECONDS", 0.1)
    port = serving.listen("127.0.0.1:0", router())
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(sent)
        assert ended(client)


def test_a_later_head_that_drips_is_given_up(serving: ServingThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.serving.HEAD_SECONDS", 0.3)
    port = serving.listen("127.0.0.1:0", router())
    with socket.create_connection(("127.0.0.1", port), timeout=0.02) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        asked, is_over = time.monotonic(), False
        answer = b""
        while not is_over and time.monotonic() - asked < 10:
            try:
                client.sendall(b"GET /healthz HTTP/1.1\r\nX: " if not answer else b"y")
                got = client.recv(1000)
                answer, is_over = answer + got, not got
            except TimeoutError:
                continue
            except ConnectionError:
                is_over = True
        assert is_over
        assert answer.startswith(b"HTTP/1.1 200 ")


def test_no_limit_for_heads_ends_a_slow_answer_or_an_idle_connection(
    serving: ServingThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.serving.HEAD_SECONDS", 0.1)
    release = threading.Event()

    def slow(_: Call) -> Reply:
        release.wait(0.3)
        return Reply("done")

    port = serving.listen("127.0.0.1:0", router(slow=slow))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/slow")
    first = connection.getresponse()
    assert first.read() == b"done"
    standing = connection.sock
    assert not release.wait(0.3), "the connection stands idle for longer than a head may take"
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    assert connection.sock is standing
    connection.close()


def test_a_tls_handshake_that_never_comes_is_given_up(serving: ServingThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.serving.HEAD_SECONDS", 0.1)
    port = serving.listen("127.0.0.1:0", router(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        assert ended(client)


def test_the_oldest_idle_connection_makes_room(serving: ServingThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.serving.MAX_CONNECTIONS", 3)
    entered, release = threading.Event(), threading.Event()

    def slow(_: Call) -> Reply:
        entered.set()
        release.wait(10)
        return Reply("done")

    port = serving.listen("127.0.0.1:0", router(slow=slow))
    busy = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    busy.request("GET", "/slow")
    assert entered.wait(10)
    idle = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(2)]
    assert text(port, "/healthz") == "ok"
    assert ended(idle[0])
    release.set()
    assert busy.getresponse().read() == b"done"
    busy.close()
    for connection in idle:
        connection.close()


def test_a_client_that_does_not_take_its_answer_makes_room_too(
    serving: ServingThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.serving.MAX_CONNECTIONS", 1)
    size = 50_000_000
    entered = threading.Event()

    def big(_: Call) -> Reply:
        entered.set()
        return Reply(b"x" * size)

    port = serving.listen("127.0.0.1:0", router(big=big))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        assert entered.wait(10)
        until = time.monotonic() + 10
        answer = ""
        while not answer and time.monotonic() < until:
            with suppress(OSError, http.client.HTTPException):  # refused while the answer is being made
                answer = text(port, "/healthz")
        assert answer == "ok"
        received = 0
        with suppress(ConnectionError):
            while chunk := client.recv(1_000_000):
                received += len(chunk)
        assert received < size


def test_a_connection_too_many_is_refused_when_all_are_at_work(
    serving: ServingThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.serving.MAX_CONNECTIONS", 1)
    entered, release = threading.Event(), threading.Event()

    def slow(_: Call) -> Reply:
        entered.set()
        release.wait(10)
        return Reply("done")

    port = serving.listen("127.0.0.1:0", router(slow=slow))
    busy = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    busy.request("GET", "/slow")
    assert entered.wait(10)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        assert ended(client)
    release.set()
    assert busy.getresponse().read() == b"done"
    busy.close()


def test_status_type_and_headers_are_the_handlers(serving: ServingThread) -> None:
    port = serving.listen(
        "127.0.0.1:0", router(data=lambda _: Reply(b"\x00\x01", 503, "application/octet-stream", {"Retry-After": "3"}))
    )
    response = ask(port, "/data")
    assert response.status == 503
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Retry-After"] == "3"


def test_a_unix_socket_is_for_this_user_only_and_replaces_a_stale_one(serving: ServingThread, tmp_path: Path) -> None:
    path = tmp_path / "socks" / "x.sock"
    path.parent.mkdir()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    serving.listen_unix(path, router())
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(10)
    client.connect(str(path))
    client.sendall(b"GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n")
    assert client.recv(4096).startswith(b"HTTP/1.1 200 OK")
    client.close()


def test_a_missing_socket_directory_is_made(serving: ServingThread, tmp_path: Path) -> None:
    serving.listen_unix(tmp_path / "new" / "x.sock", router())
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o750


def test_a_file_that_is_no_socket_is_left_alone(serving: ServingThread, tmp_path: Path) -> None:
    path = tmp_path / "x.sock"
    path.write_text("precious")
    with pytest.raises(BindError, match=r"x\.sock"):
        serving.listen_unix(path, router())
    assert path.read_text() == "precious"


def test_health_answers_beside_a_thread_that_spins(serving: ServingThread) -> None:
    port = serving.listen("127.0.0.1:0", router())
    is_over = threading.Event()

    def spin() -> None:
        count = 0
        while not is_over.is_set():
            count += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        delays = []
        until = time.perf_counter() + 3
        while time.perf_counter() < until:
            asked = time.perf_counter()
            assert text(port, "/healthz") == "ok"
            delays.append(time.perf_counter() - asked)
    finally:
        is_over.set()
        spinner.join()
        sys.setswitchinterval(interval)
    assert len(delays) > 30
    assert sorted(delays)[int(len(delays) * 0.99)] < 1.0


def test_background_work_that_fails_is_reported(serving: ServingThread, caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("lost file")

    serving.spawn(fail())
    serving.stop()
    assert "lost file" in caplog.text


def test_stopping_closes_listeners_and_ends_running_requests() -> None:
    thread = ServingThread()
    thread.start()
    port = thread.listen("127.0.0.1:0", router())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    asked = time.perf_counter()
    thread.stop()
    assert time.perf_counter() - asked < 3
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    connection.close()
    thread.stop()


def test_stopping_before_the_start_is_no_error() -> None:
    ServingThread().stop()


def test_tls_is_served_when_a_context_is_given(serving: ServingThread, tmp_path: Path) -> None:
    from runtime.certs import create_pair, utc_now  # noqa: PLC0415  # the only test that needs certificates

    pair = create_pair(("localhost",), utc_now())
    for name, data in (("tls.crt", pair.cert), ("tls.key", pair.key), ("ca.crt", pair.ca)):
        (tmp_path / name).write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    port = serving.listen("127.0.0.1:0", router(), context)
    client = ssl.create_default_context(cafile=tmp_path / "ca.crt")
    connection = http.client.HTTPSConnection("localhost", port, context=client, timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    connection.close()
