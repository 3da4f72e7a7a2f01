"""
The time that a cycle may take, as the one question that actions ask: is it over?

A cycle is a function of what it is given, and so of where the time was over. That place is remembered as the number of
the question that was first answered with yes; a replay answers the same question with yes.
"""

from __future__ import annotations

from collections.abc import Callable


class Budget:
    """Counts the questions. Once over, the time stays over."""

    def __init__(self, is_over: Callable[[int], bool]) -> None:
        """`is_over(n)` answers the n-th question, from 1."""
        self.asked = 0
        self.over_at: int | None = None
        """The question that was first answered with yes, None when none was."""
        self._is_over = is_over

    def __call__(self) -> bool:
        """Whether the time is over."""
        self.asked += 1
        if self.over_at is None and self._is_over(self.asked):
            self.over_at = self.asked
        return self.over_at is not None

    @classmethod
    def of_seconds(cls, seconds: float, stopwatch: Callable[[], float]) -> Budget:
        """So many seconds from now on."""
        begun = stopwatch()
        return cls(lambda _: stopwatch() - begun >= seconds)

    @classmethod
    def replayed(cls, over_at: int | None) -> Budget:
        """Over at the same question as in a recorded cycle."""
        return cls(lambda asked: over_at is not None and asked >= over_at)
