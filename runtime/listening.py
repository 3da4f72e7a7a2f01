"""Addresses as Go programs spell them (`:8080`), and the sockets behind them."""

from __future__ import annotations

import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

BACKLOG = 128


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`, `[v6]:port` or `:port`. Raises ValueError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ValueError(f"address {address!r} is not of the form host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def open_socket(address: str) -> socket.socket:
    """A listening socket. An empty host takes IPv4 and IPv6 where the machine has both. Raises OSError, ValueError."""
    host, port = split_address(address)
    if not host and socket.has_dualstack_ipv6():
        with suppress(OSError):
            return _listening(("", port), socket.AF_INET6, is_dual=True)
    family, *_, target = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0]  # noqa: S104  # asked for
    return _listening(target[:2], family, is_dual=False)


def _listening(target: tuple[Any, ...], family: int, *, is_dual: bool) -> socket.socket:
    return socket.create_server(
        target,
        family=family,
        backlog=BACKLOG,
        dualstack_ipv6=is_dual,  # the port of a dead predecessor is reused
    )


def remove_stale(path: Path) -> None:
    """Remove a socket file that an earlier process left; anything else in its place is not ours to remove."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
