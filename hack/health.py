"""Whether a process of ours that runs on this machine is up."""

from __future__ import annotations

import http.client
import ssl


def is_ready(port: int, tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1") -> bool:
    """Whether a process says on its health port that it is ready; `tls` where that port speaks HTTPS."""
    if tls is None:
        connection = http.client.HTTPConnection(host, port, timeout=5)
    else:
        connection = http.client.HTTPSConnection(host, port, timeout=5, context=tls)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
