"""Socket options that let a connection notice a peer that is gone without a word."""

from __future__ import annotations

import socket
from typing import Any

_IDLE, _INTERVAL, _COUNT = 30, 10, 3
_UNACKNOWLEDGED_MS = 60_000


def watch_peer(sock: socket.socket) -> None:
    """
    Ask the kernel to probe an idle peer after 30 s and give it up after 30 s more.

    Sent data that nobody acknowledges for 60 s ends the connection too (Linux).
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _IDLE),
        ("TCP_KEEPALIVE", _IDLE),  # macOS
        ("TCP_KEEPINTVL", _INTERVAL),
        ("TCP_KEEPCNT", _COUNT),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_MS),
    ):
        if (option := getattr(socket, name, None)) is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def new_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket that watches its peer, for an address as `getaddrinfo` gives it; aiohttp's `socket_factory`."""
    family, kind, protocol = address[:3]
    sock = socket.socket(family, kind, protocol)
    watch_peer(sock)
    return sock
