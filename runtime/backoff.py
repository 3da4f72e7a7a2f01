"""Pauses that grow with each failure, spread at random so that many clients don't return at the same moment."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

_MOST_DOUBLINGS = 64


class Backoff(msgspec.Struct, frozen=True):
    """`base` seconds after the first failure, `factor` times as much after each further one, at most `cap`."""

    base: float = 0.2
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.5
    """Share of the pause that is added at random, above `cap` too."""

    def pause(self, failures: int, rand: Callable[[], float] = random.random) -> float:
        """Seconds to wait after that many failures in a row (1 or more)."""
        grown = self.base * self.factor ** min(max(failures - 1, 0), _MOST_DOUBLINGS)
        return min(grown, self.cap) * (1.0 + self.jitter * rand())
