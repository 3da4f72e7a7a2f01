"""What the log says of requests that are sent again: in an outage there are thousands, and one line a second tells as much."""

from __future__ import annotations

import logging

from runtime.requests import Request

logger = logging.getLogger(__name__)

_SECONDS = 1.0
"""Between two lines."""


class RetryLog:
    """Of one client. `now` is in seconds of any clock."""

    def __init__(self) -> None:
        self._next = float("-inf")
        self._untold = 0

    def tell(self, request: Request, pause: float, reason: object, now: float) -> None:
        """A request is sent again after so many seconds. What gets no line of its own is counted by the next one."""
        if now < self._next:
            self._untold += 1
            return
        others = f" others={self._untold}" if self._untold else ""
        logger.info(
            'msg="trying again" request="%s %s" after=%.2fs because="%s"%s',
            request.method, request.path, pause, reason, others,
        )  # fmt: skip
        self._untold = 0
        self._next = now + _SECONDS
