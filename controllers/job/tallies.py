"""
Counts of pods that wait for the end of a rush.

A thousand jobs that begin at once bring as many statuses that tell nothing but how many pods wait or run. The API
server has pods to create and to bind then, so such a status waits until the rush is over, half a minute at most; what
changes a phase, a reason, or what has ended never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from api import names
from controllers.job.counts import FAILED, SUCCEEDED
from generated.batch.v1alpha1 import JobState, JobStatus
from runtime.objects import Key
from runtime.ratelimit import Rush

LONGEST: Final = 30.0
"""Seconds that counts wait, whatever else there is to do."""


class Tallies:
    """Which jobs' counts wait, and since when; of one event loop. `wake` is called for a job whose wait is over."""

    def __init__(self, wake: Callable[[Key, bool], None]) -> None:
        """`wake` is told whether it is urgent: so it is when half a minute is over."""
        self._wake = wake
        self._rush = Rush()
        self._since: dict[Key, float] = {}
        self._waiting: dict[Key, None] = {}
        """Those that were not woken yet."""
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def note_write(self) -> None:
        """Something is written that counts had better wait for."""
        self._rush.note(asyncio.get_running_loop().time())

    def puts_off(self, key: Key, old: JobStatus, new: JobStatus) -> bool:
        """Whether a new status waits; its job is woken when it may be written."""
        now = asyncio.get_running_loop().time()
        if old != new and tells_only_counts(old, new):
            self._since.setdefault(key, now)
            if not self._is_due(key, now):
                self._waiting[key] = None
                self._arm()
                return True
        self.forget(key)
        return False

    def forget(self, key: Key) -> None:
        """The job is gone, or its status was written."""
        self._since.pop(key, None)
        self._waiting.pop(key, None)

    def _is_due(self, key: Key, now: float) -> bool:
        return now >= min(self._rush.end, self._since[key] + LONGEST)

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._rush.end, self._look, self._rush.end)

    def _look(self, due: float) -> None:
        """Wake those that may be written; `due` has come, though the loop may call a little early."""
        self._timer = None
        now = max(due, asyncio.get_running_loop().time())
        for key in [key for key in self._waiting if self._is_due(key, now)]:
            del self._waiting[key]
            self._wake(key, now >= self._since[key] + LONGEST)
        if self._waiting:
            self._arm()


def tells_only_counts(old: JobStatus, new: JobStatus) -> bool:
    """
    Whether a status differs from the one before in nothing but where pods are that have not ended.

    Of pods that have ended the stored counts may be all that is left. That a group was let in is no news beside its pods.
    """
    if _ended(old) != _ended(new):
        return False
    state = old.state
    if (state.message, new.state.message) == (
        names.JobStateMessage.WAITS_FOR_ADMISSION,
        names.JobStateMessage.ADMITTED,
    ):
        state = replace(state, message=new.state.message)
    return _without_counts(old, state) == _without_counts(new, new.state)


def _without_counts(status: JobStatus, state: JobState) -> JobStatus:
    return replace(
        status,
        state=replace(state, last_transition_time=None),
        pending=0,
        running=0,
        unknown=0,
        terminating=0,
        task_status_count={},
    )


def _ended(status: JobStatus) -> dict[str, tuple[int, int]]:
    """Pods of each task that succeeded and that failed."""
    ended = {
        task: (state.phase.get(SUCCEEDED, 0), state.phase.get(FAILED, 0))
        for task, state in status.task_status_count.items()
    }
    return {task: counts for task, counts in ended.items() if any(counts)}
