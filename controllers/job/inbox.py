"""
What has happened to jobs and waits to be looked at.

A burst of events of one job becomes one reconciliation: equal ones are one, and those that ask for nothing but a look
are one, too. What policies may react to comes first, so that a job isn't closed before its policy had its say.
"""

from __future__ import annotations

from collections.abc import Iterable

from controllers.job.requests import Request
from runtime.objects import Key


class Inbox:
    """Requests by job, each once."""

    def __init__(self) -> None:
        self._waiting: dict[Key, dict[Request, None]] = {}
        self._failures: dict[tuple[Key, Request], int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, key: Key, request: Request) -> None:
        self._waiting.setdefault(key, {})[request] = None

    def take(self, key: Key) -> list[Request]:
        """Everything that waits for a job: commands, then what policies look at, then plain looks, each as they came."""
        waiting = self._waiting.pop(key, {})
        return sorted(waiting, key=_rank)

    def put_back(self, key: Key, requests: Iterable[Request]) -> None:
        """These were not handled yet."""
        for request in requests:
            self.add(key, request)

    def failed(self, key: Key, request: Request) -> int:
        """Count a failure of a request; how many there are."""
        count = self._failures[key, request] = self._failures.get((key, request), 0) + 1
        return count

    def succeeded(self, key: Key, request: Request) -> None:
        """The next failure of such a request is its first."""
        self._failures.pop((key, request), None)

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._waiting.pop(key, None)
        for entry in [entry for entry in self._failures if entry[0] == key]:
            del self._failures[entry]


def _rank(request: Request) -> int:
    if request.action:
        return 0
    return 2 if request.is_plain else 1
