"""
What is to be done after a while, once for each object: a status that the server refused, a text that must wait.

Timers belong to the event loop. A new one for the same object takes the place of the old one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_FIRST, _LONGEST = 0.5, 30.0


class Later:
    """Timers by uid, and how often each object's last tries failed."""

    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def again(self, uid: str, act: Callable[[str], None]) -> None:
        """Try again after a pause that doubles with each failure, half a minute at most."""
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        self.after(uid, min(_FIRST * 2.0 ** (failures - 1), _LONGEST), act)

    def after(self, uid: str, seconds: float, act: Callable[[str], None]) -> None:
        """Act after so many seconds."""
        self._drop(uid)
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, self._fire, uid, act)

    def succeeded(self, uid: str) -> None:
        """The next failure is a first one."""
        self._failures.pop(uid, None)

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._drop(uid)
        self._failures.pop(uid, None)

    def _drop(self, uid: str) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, uid: str, act: Callable[[str], None]) -> None:
        del self._timers[uid]
        act(uid)
