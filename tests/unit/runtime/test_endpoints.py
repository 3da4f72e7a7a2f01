from __future__ import annotations

import gzip
import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime import loglevel
from runtime.certs import ServingPair, create_pair, utc_now
from runtime.endpoints import Endpoints
from runtime.errors import ConfigError
from runtime.exposition import TEXT
from runtime.health import Health
from runtime.options import ServingOptions, TlsFiles
from runtime.serving import BindError, Call, Reply

Start = Callable[..., Endpoints]


@pytest.fixture
def start() -> Iterator[Start]:
    made: list[Endpoints] = []

    def build(*, health: Health | None = None, is_started: bool = True, **settings: Any) -> Endpoints:
        extra = {name: settings.pop(name) for name in ("needs_metrics", "has_level_socket") if name in settings}
        settings.setdefault("healthz_address", "127.0.0.1:0")
        settings.setdefault("listen_address", "localhost:0")
        found = Endpoints(ServingOptions(**settings), health if health is not None else Health(), **extra)
        made.append(found)
        if is_started:
            found.start()
        return found

    yield build
    for endpoints in made:
        endpoints.stop()


def ask(port: int, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def taken() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_nothing_is_served_unless_asked_for(start: Start) -> None:
    assert start().ports == {}


def test_health_has_its_own_address(start: Start) -> None:
    health = Health()
    health.readyz.add("caches", lambda: "waiting for pods")
    endpoints = start(health=health, enable_healthz=True, enable_metrics=True)
    port = endpoints.ports["healthz"]
    assert ask(port, "/healthz")[1] == b"ok"
    assert ask(port, "/livez")[1] == b"ok"
    assert ask(port, "/readyz")[0].status == 503
    assert ask(port, "/metrics")[0].status == 404
    assert ask(endpoints.ports["metrics"], "/healthz")[0].status == 404


def test_metrics_are_served_as_text_and_gzipped_on_demand(start: Start) -> None:
    port = start(enable_metrics=True).ports["metrics"]
    response, plain = ask(port, "/metrics")
    assert response.headers["Content-Type"] == TEXT
    assert b"volcano_build_info{" in plain
    response, packed = ask(port, "/metrics", **{"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert b"volcano_build_info{" in gzip.decompress(packed)
    response, _ = ask(port, "/metrics", Accept="application/openmetrics-text")
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")


def test_profiles_are_served_with_their_flag_alone(start: Start) -> None:
    port = start(enable_pprof=True).ports["metrics"]
    assert b"/debug/pprof/profile" in ask(port, "/debug/pprof/")[1]
    assert ask(port, "/metrics")[0].status == 404
    assert ask(start(enable_metrics=True).ports["metrics"], "/debug/pprof/")[0].status == 404


def test_one_address_for_both_is_one_listener(start: Start) -> None:
    with taken() as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    endpoints = start(enable_healthz=True, enable_metrics=True, healthz_address=address, listen_address=address)
    port = endpoints.ports["healthz"]
    assert ask(port, "/healthz")[1] == b"ok"
    assert b"volcano_build_info{" in ask(port, "/metrics")[1]


def test_a_component_can_add_routes(start: Start) -> None:
    async def explain(call: Call) -> Reply:
        return Reply(f"job {call.parts['name']} waits")

    endpoints = start(enable_metrics=True)
    endpoints.routes.add("/explain/{name}", explain)
    assert ask(endpoints.ports["metrics"], "/explain/a")[1] == b"job a waits"


def test_a_taken_health_address_is_fatal(start: Start) -> None:
    with taken() as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        endpoints = start(enable_healthz=True, healthz_address=address, is_started=False)
        with pytest.raises(BindError, match=address):
            endpoints.start()


def test_a_taken_metrics_address_is_fatal_only_where_metrics_are_needed(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with taken() as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        endpoints = start(enable_metrics=True, enable_healthz=True, listen_address=address)
        assert set(endpoints.ports) == {"healthz"}
        assert address in caplog.text
        with pytest.raises(BindError, match=address):
            start(enable_metrics=True, listen_address=address, needs_metrics=True)


def test_the_level_socket_is_opened_on_demand(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEBUG_SOCKET_DIR", str(tmp_path))
    start()
    assert not loglevel.socket_path().exists()
    start(has_level_socket=True)
    assert loglevel.socket_path().is_socket()


# TLS


@pytest.fixture
def pair() -> ServingPair:
    return create_pair(("localhost",), utc_now())


def write(pair: ServingPair, directory: Path) -> TlsFiles:
    for name, data in (("tls.crt", pair.cert), ("tls.key", pair.key), ("ca.crt", pair.ca)):
        partial = directory / f"{name}.new"
        partial.write_bytes(data)
        partial.rename(directory / name)
    return TlsFiles(str(directory / "ca.crt"), str(directory / "tls.crt"), str(directory / "tls.key"))


def shake_hands(port: int, client: ssl.SSLContext) -> tuple[bytes, str]:
    """The answer of /healthz and the TLS version."""
    connection = http.client.HTTPSConnection("localhost", port, context=client, timeout=10)
    connection.connect()
    version = connection.sock.version() or ""
    connection.request("GET", "/healthz")
    body = connection.getresponse().read()
    connection.close()
    return body, version


def trusting(pair: ServingPair) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pair.ca.decode())


def test_with_all_three_files_health_is_served_over_tls(start: Start, pair: ServingPair, tmp_path: Path) -> None:
    port = start(enable_healthz=True, healthz_address="localhost:0", tls=write(pair, tmp_path)).ports["healthz"]
    assert shake_hands(port, trusting(pair))[0] == b"ok"
    old = trusting(pair)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert shake_hands(port, old) == (b"ok", "TLSv1.2")


def test_tls_below_1_2_is_refused(start: Start, pair: ServingPair, tmp_path: Path) -> None:
    port = start(enable_healthz=True, healthz_address="localhost:0", tls=write(pair, tmp_path)).ports["healthz"]
    ancient = trusting(pair)
    ancient.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        ancient.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        ancient.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        shake_hands(port, ancient)


def test_a_client_certificate_is_verified_when_one_is_given(start: Start, pair: ServingPair, tmp_path: Path) -> None:
    port = start(enable_healthz=True, healthz_address="localhost:0", tls=write(pair, tmp_path)).ports["healthz"]
    stranger = create_pair(("localhost",), utc_now())
    (tmp_path / "stranger.crt").write_bytes(stranger.cert)
    (tmp_path / "stranger.key").write_bytes(stranger.key)
    client = trusting(pair)
    client.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(port, client)


def test_a_rotated_certificate_serves_the_next_connection(start: Start, pair: ServingPair, tmp_path: Path) -> None:
    port = start(enable_healthz=True, healthz_address="localhost:0", tls=write(pair, tmp_path)).ports["healthz"]
    assert shake_hands(port, trusting(pair))[0] == b"ok"
    rotated = create_pair(("localhost",), utc_now())
    write(rotated, tmp_path)
    for _ in range(500):
        try:
            assert shake_hands(port, trusting(rotated))[0] == b"ok"
        except ssl.SSLError:
            continue
        return
    pytest.fail("the old certificate is still served")


def test_a_pair_that_does_not_fit_leaves_the_old_one_in_place(
    start: Start, pair: ServingPair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = write(pair, tmp_path)
    port = start(enable_healthz=True, healthz_address="localhost:0", tls=files).ports["healthz"]
    Path(files.key).write_bytes(create_pair(("localhost",), utc_now()).key)
    while "keeping the old certificate" not in caplog.text:
        assert shake_hands(port, trusting(pair))[0] == b"ok"
    assert shake_hands(port, trusting(pair))[0] == b"ok"


@pytest.mark.parametrize(
    ("field", "message"),
    [("ca", "Failed to parse CA file: open /none"), ("certificate", "cert file"), ("key", "key file")],
)
def test_an_unreadable_file_is_fatal(start: Start, pair: ServingPair, tmp_path: Path, field: str, message: str) -> None:
    files = write(pair, tmp_path)
    broken = TlsFiles(
        **{name: "/none" if name == field else getattr(files, name) for name in ("ca", "certificate", "key")}
    )
    endpoints = start(enable_healthz=True, tls=broken, is_started=False)
    with pytest.raises(ConfigError, match=message):
        endpoints.start()


def test_a_key_of_another_certificate_is_fatal(start: Start, pair: ServingPair, tmp_path: Path) -> None:
    files = write(pair, tmp_path)
    Path(files.key).write_bytes(create_pair(("localhost",), utc_now()).key)
    endpoints = start(enable_healthz=True, tls=files, is_started=False)
    with pytest.raises(ConfigError, match="TLS"):
        endpoints.start()
