"""
How long the parts of a cycle took, as data.

A cycle reads no clock: whoever runs it hands in a stopwatch, or none, and then everything took no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

ON_OPEN, ON_CLOSE = "OnSessionOpen", "OnSessionClose"


def _no_time() -> float:
    return 0.0


class Span(msgspec.Struct, frozen=True):
    """One part: its kind (`action`, `plugin`, `session`), name, and what of it; in seconds."""

    kind: str
    name: str
    part: str
    seconds: float


class Timings:
    """Collects the spans of one cycle. `stopwatch` gives seconds."""

    def __init__(self, stopwatch: Callable[[], float] = _no_time) -> None:
        self.spans: list[Span] = []
        self._stopwatch = stopwatch

    @contextmanager
    def measure(self, kind: str, name: str, part: str = "") -> Iterator[None]:
        """Add a span for what happens inside."""
        begun = self._stopwatch()
        try:
            yield
        finally:
            self.spans.append(Span(kind, name, part, self._stopwatch() - begun))
