"""Whether a process of ours that runs on this machine is up."""

from __future__ import annotations

import http.client


def is_ready(port: int) -> bool:
    """Whether a process says on its health port that it is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
