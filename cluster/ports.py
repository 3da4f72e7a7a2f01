"""
Free loopback ports.

Chosen below the kernel's range for outgoing connections, so that no client can take the port of an API server that is
being restarted. Between choosing and binding another process may still be faster: then the start is tried again.
"""

from __future__ import annotations

import random
import socket

from cluster.components import HOST
from cluster.errors import StartError

_RANGE = range(20_000, 32_000)
_TRIES = 200


def is_free(port: int) -> bool:
    """Whether this port can be bound on loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def choose(count: int, source: random.Random | None = None) -> list[int]:
    """`count` different free ports. StartError when hardly any is left."""
    numbers = source or random.SystemRandom()
    chosen: list[int] = []
    for _ in range(_TRIES):
        port = numbers.choice(_RANGE)
        if port not in chosen and is_free(port):
            chosen.append(port)
        if len(chosen) == count:
            return chosen
    raise StartError(f"found no {count} free ports of {_RANGE.start}-{_RANGE.stop - 1} on {HOST}")
