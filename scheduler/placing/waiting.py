"""Jobs that are passed over, in groups that get one answer; what differs in numbers alone is told half a minute later."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from scheduler.reporting.messages import PATIENCE


class Group(Protocol):
    """Jobs by id, and when they were told why they wait, in unix seconds."""

    jobs: dict[str, Any]
    since: float


G = TypeVar("G", bound=Group)


class Waiting(Generic[G]):
    """Who waits in which group, and when numbers are to be told anew."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, G] = {}
        self._group_of: dict[str, Hashable] = {}
        self._due: float | None = None

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._group_of

    def __iter__(self) -> Iterator[str]:
        """The ids of those that are passed over."""
        return iter(self._group_of)

    def is_due(self, now: float) -> bool:
        """Whether the numbers that some job was told are wrong and old (`now` in unix seconds): a cycle tells it anew."""
        return self._due is not None and now >= self._due

    def wake(self, jobs: Iterable[str]) -> None:
        """These have their turn again."""
        for job_id in jobs:
            key = self._group_of.pop(job_id, None)
            if key is not None:
                group = self._groups[key]
                del group.jobs[job_id]
                if not group.jobs:
                    del self._groups[key]

    def clear(self) -> None:
        """All have their turn again."""
        self._groups, self._group_of, self._due = {}, {}, None

    def _join(self, key: Hashable, job_id: str, told: Any) -> None:
        self._groups[key].jobs[job_id] = told
        self._group_of[job_id] = key

    def _may_wait(self, group: G, now: float) -> bool:
        """Whether other numbers need not be told yet; when they must be is noted."""
        if not 0.0 <= now - group.since < PATIENCE:
            return False
        due = group.since + PATIENCE
        self._due = due if self._due is None else min(self._due, due)
        return True
