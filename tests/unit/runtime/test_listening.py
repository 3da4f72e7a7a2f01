from __future__ import annotations

import socket
from pathlib import Path

import pytest

from runtime.listening import open_socket, remove_stale, split_address


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        (":11251", "", 11251),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("[::1]:80", "::1", 80),
        ("localhost:8080", "localhost", 8080),
    ],
)
def test_addresses_are_split(address: str, host: str, port: int) -> None:
    assert split_address(address) == (host, port)


@pytest.mark.parametrize("address", ["", "8080", "host:", "host:x", ":70000", "::1:80", ":-1"])
def test_unusable_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        open_socket(address)


def test_an_empty_host_is_reached_over_ipv4() -> None:
    sock = open_socket(":0")
    try:
        socket.create_connection(("127.0.0.1", sock.getsockname()[1]), timeout=5).close()
    finally:
        sock.close()


def test_the_port_of_a_dead_predecessor_is_free_again() -> None:
    first = open_socket("127.0.0.1:0")
    port = first.getsockname()[1]
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    server, _ = first.accept()
    server.close()  # leaves the connection in TIME_WAIT
    first.close()
    client.close()
    open_socket(f"127.0.0.1:{port}").close()


def test_a_name_is_resolved() -> None:
    sock = open_socket("localhost:0")
    assert sock.getsockname()[0] in {"127.0.0.1", "::1"}
    sock.close()


def test_a_machine_without_ipv6_is_listened_on_over_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    sock = open_socket(":0")
    assert sock.family == socket.AF_INET
    sock.close()


def test_only_sockets_are_removed(tmp_path: Path) -> None:
    kept, stale = tmp_path / "file", tmp_path / "x.sock"
    kept.write_text("precious")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(stale))
    for path in (kept, stale, tmp_path / "missing"):
        remove_stale(path)
    assert kept.exists()
    assert not stale.exists()
