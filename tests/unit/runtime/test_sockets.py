from __future__ import annotations

import socket

import pytest

from runtime.sockets import new_socket, watch_peer


def options(sock: socket.socket) -> dict[str, int]:
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
    return {name: sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names if hasattr(socket, name)}


EXPECTED = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}


def test_a_silent_peer_is_probed() -> None:
    with socket.socket() as sock:
        watch_peer(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert options(sock).items() <= EXPECTED.items()
        assert options(sock)


def test_options_that_the_system_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EXPECTED:
        monkeypatch.delattr(socket, name, raising=False)
    with socket.socket() as sock:
        watch_peer(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


def test_new_sockets_watch_their_peer_from_the_start() -> None:
    with new_socket((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))) as sock:
        assert sock.family == socket.AF_INET
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
