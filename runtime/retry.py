"""
When a request is sent again, and after how long: decisions without I/O, shared by both shells.

| outcome                              | sent again                                            |
|--------------------------------------|-------------------------------------------------------|
| 401                                  | once, if fresh credentials could be had               |
| 429                                  | always: the server did not process it; but a          |
|                                      | disruption budget's 429 is an answer                  |
| 500, 502, 503, 504                   | reads; repeatable writes, 500 only with Retry-After   |
| nothing was sent (refused, no route) | always, where the policy waits for a server at all    |
| broken off, timed out                | repeatable requests only                              |
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from runtime.backoff import Backoff
from runtime.errors import ConnectionFailed
from runtime.requests import Request
from runtime.responses import Response

Outcome: TypeAlias = Response | ConnectionFailed

_PASSING = frozenset({502, 503, 504})
_PAUSES = Backoff(base=0.1, cap=5.0)


class RetryPolicy(msgspec.Struct, frozen=True):
    """Bounds of the repeats of one request."""

    attempts: int = 8
    """Tries in all."""
    deadline: float = 60.0
    """Seconds from the first try on within which the last one begins."""
    wait_for_server: bool = True
    """Whether a refused connection is tried again: components outlast a restart, a person wants to know at once."""
    backoff: Backoff = _PAUSES

    def pause(
        self, request: Request, outcome: Outcome, *, attempt: int, elapsed: float, rand: Callable[[], float]
    ) -> float | None:
        """Seconds until the next try after `attempt` tries and `elapsed` seconds; None when this outcome stands."""
        if attempt >= self.attempts or not self._may_repeat(request, outcome):
            return None
        pause = self.backoff.pause(attempt, rand)
        asked = outcome.retry_after if isinstance(outcome, Response) else None
        if asked is not None:
            pause += asked
        return pause if elapsed + pause <= self.deadline else None

    def _may_repeat(self, request: Request, outcome: Outcome) -> bool:
        if isinstance(outcome, ConnectionFailed):
            if outcome.permanent:
                return False
            return request.repeatable if outcome.sent else self.wait_for_server
        if outcome.status == 429:
            return not outcome.refuses_disruption
        if outcome.status == 500:
            return request.repeatable and (not request.is_write or outcome.retry_after is not None)
        return outcome.status in _PASSING and request.repeatable


PATIENT = RetryPolicy()
"""Components: a restart of the server costs time, nothing else."""
IMPATIENT = RetryPolicy(attempts=4, deadline=20.0, wait_for_server=False)
"""A person waits: a refused connection is told at once, an overloaded server is asked a few times more."""
ONCE = RetryPolicy(attempts=1)
"""Never send again, for callers with a rhythm of their own (the lease)."""


class Attempts:
    """The tries of one request."""

    def __init__(
        self, policy: RetryPolicy, request: Request, now: float, rand: Callable[[], float] = random.random
    ) -> None:
        self._policy = policy
        self._request = request
        self._begin = now
        self._rand = rand
        self._count = 0
        self._unsure = False
        self._renewed = False

    def wants_credentials(self, outcome: Outcome) -> bool:
        """Whether to fetch fresh credentials now: at the first 401."""
        if self._renewed or isinstance(outcome, ConnectionFailed) or outcome.status != 401:
            return False
        self._renewed = True
        return True

    def pause(self, outcome: Outcome, now: float) -> float | None:
        """Seconds until the next try, None when `outcome` stands."""
        self._count += 1
        pause = self._policy.pause(
            self._request, outcome, attempt=self._count, elapsed=now - self._begin, rand=self._rand
        )
        if pause is not None:
            self._unsure |= outcome.sent if isinstance(outcome, ConnectionFailed) else outcome.status >= 500
        return pause

    def conclude(self, outcome: Outcome) -> Response:
        """The final answer, marked when an earlier try may have taken effect. Raises ConnectionFailed."""
        if isinstance(outcome, ConnectionFailed):
            raise outcome
        return msgspec.structs.replace(outcome, repeated=True) if self._unsure else outcome
