"""How long a key that failed waits for its next try: longer with each failure, and never too many keys at once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)


class RetryLimits(msgspec.Struct, frozen=True):
    """
    The greater of two pauses: `base` * 2^failures seconds, at most `cap`; and the wait for a token.

    Tokens come at `qps` a second, `burst` are saved up, and all keys of a queue share them. `qps` 0: no tokens.
    """

    base: float = 0.005
    cap: float = 1000.0
    qps: float = 10.0
    burst: int = 100


DEFAULT_LIMITS = RetryLimits()
POD_RETRIES = RetryLimits(cap=180.0)
"""For queues whose keys should not wait a quarter of an hour: resyncs of pods, clean-ups of caches."""


class RetryLimiter(Generic[K]):
    """Counts the failures of each key. Time is handed in, in seconds, and never runs backwards."""

    def __init__(self, limits: RetryLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._failures: dict[K, int] = {}
        self._tokens = float(limits.burst)
        self._then: float | None = None

    def __len__(self) -> int:
        """The number of keys with failures."""
        return len(self._failures)

    def next_pause(self, key: K, now: float) -> float:
        """Count a failure of the key; seconds to wait."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return max(self._exponential(failures), self._reserve(now))

    def failures(self, key: K) -> int:
        """Failures since the key was forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure is its first."""
        self._failures.pop(key, None)

    def _exponential(self, failures: int) -> float:
        # beyond 2^64 the cap decides for any sensible base, and a float would overflow at 2^1024
        return min(self._limits.base * 2.0 ** min(failures, 64), self._limits.cap)

    def _reserve(self, now: float) -> float:
        """Take a token, of the future if need be; seconds until it is there."""
        limits = self._limits
        if limits.qps <= 0:
            return 0.0
        since = now - self._then if self._then is not None else 0.0
        self._then = now
        self._tokens = min(self._tokens + since * limits.qps, float(limits.burst)) - 1.0
        return max(0.0, -self._tokens / limits.qps)
