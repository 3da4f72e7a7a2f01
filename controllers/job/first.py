"""
First statuses that their jobs have here and not yet on the server.

While a thousand jobs begin at once, the word that each of them waits is the least of what the API server has to take in.
It waits as long as time and again writes for many jobs are on their way at once, which is so only where the server, or
the rate that this process is allowed, can't keep up; after ten seconds it takes its turn all the same. All that is
decided meanwhile takes the job as it has begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from generated.batch.v1alpha1 import Job, JobStatus
from runtime.objects import Key, key_of

MANY: Final = 8
"""For so many jobs at once something is on its way where there is much to do; where the server keeps up, for one or two."""
CALM: Final = 1.0
"""Seconds without so many after which the server counts as one that keeps up."""
LONGEST: Final = 10.0
"""Seconds that a first status waits; then it takes its turn among what is urgent, however much that is."""
LOOK: Final = 0.25
"""Seconds between two looks at whether those that wait may be written."""


class _First:
    __slots__ = ("is_due", "is_pressing", "is_refused", "status", "uid", "until")

    def __init__(self, uid: str, status: JobStatus, until: float) -> None:
        self.uid = uid
        self.status = status
        self.until = until
        self.is_due = False
        """Its job was woken to write it: it waits no more, though much may be on its way again by then."""
        self.is_refused = False
        self.is_pressing = False
        """Its time is over, and its job was woken before all that isn't urgent."""


class FirstStatuses:
    """Of jobs by key; of one event loop. `wake` is called for a job whose wait is over, and told whether that is urgent."""

    def __init__(self, wake: Callable[[Key, bool], None]) -> None:
        self._wake = wake
        self._entries: dict[Key, _First] = {}
        """In the order in which their times are over."""
        self._on_their_way = 0
        self._busy_until = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around what is written for one job and on its way."""
        loop = asyncio.get_running_loop()
        self._on_their_way += 1
        try:
            yield
        finally:
            if self._on_their_way >= MANY:
                self._busy_until = loop.time() + CALM
            self._on_their_way -= 1

    def note(self, job: Job) -> None:
        """The job as it has begun."""
        key, now = key_of(job), asyncio.get_running_loop().time()
        self._entries.pop(key, None)
        self._entries[key] = _First(job.metadata.uid, job.status, now + LONGEST)

    def holds(self, job: Job) -> bool:
        """Whether the job's first status is still to be written."""
        return self._entry(job) is not None

    def refuse(self, job: Job) -> None:
        """The server refused it: nothing else is done for the job until it is written."""
        if (found := self._entry(job)) is not None:
            found.is_refused = True

    def is_refused(self, job: Job) -> bool:
        """Whether the job's first status was refused when it was written last."""
        found = self._entry(job)
        return found is not None and found.is_refused

    def of(self, job: Job) -> Job:
        """A job that has no status on the server, with what it has begun with here."""
        found = self._entry(job)
        return replace(job, status=found.status) if found is not None else job

    def puts_off(self, job: Job) -> bool:
        """Whether the first status of a job that has begun waits; the job is woken when it may be written."""
        found = self._entries[key_of(job)]
        now = asyncio.get_running_loop().time()
        if found.is_due or now >= found.until or not self._is_busy(now):
            return False
        self._arm()
        return True

    def forget(self, key: Key) -> None:
        """The server has a status of the job, or the job is gone."""
        self._entries.pop(key, None)

    def _entry(self, job: Job) -> _First | None:
        """What is kept of this very job; one of its name before it has nothing to do with it."""
        found = self._entries.get(key_of(job))
        return found if found is not None and found.uid == job.metadata.uid else None

    def _is_busy(self, now: float) -> bool:
        return self._on_their_way >= MANY or now < self._busy_until

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for key, entry in list(self._entries.items()):
            if now >= entry.until:
                if not entry.is_pressing:
                    entry.is_pressing = entry.is_due = True
                    self._wake(key, True)
            elif self._is_busy(now):
                break
            elif not entry.is_due:
                entry.is_due = True
                self._wake(key, False)
        if not all(entry.is_pressing for entry in self._entries.values()):
            self._arm()
