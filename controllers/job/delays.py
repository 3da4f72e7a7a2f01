"""
Actions that policies ask for after a while (controllers.md 3.5), in memory.

At most one a pod, or one for the job itself. What happens meanwhile may cancel it. A deadline follows from the pod's
own times where it can, so that a restart of the controller neither loses nor extends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from controllers.job.requests import Request
from generated.bus.v1alpha1 import Action, Event
from runtime.objects import Key

TARGETED: Final = frozenset((Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION))
"""Actions that restart a part of a job."""
_SILENT: Final = frozenset(
    (Action.SYNC_JOB, Action.ENQUEUE_JOB, Action.SYNC_QUEUE, Action.OPEN_QUEUE, Action.CLOSE_QUEUE)
)
"""Actions that cancel nothing."""
_ENDINGS: Final = frozenset((Event.POD_FAILED, Event.POD_EVICTED))


class Delayed(NamedTuple):
    """An action that waits. `due` is in seconds of a clock that nobody sets."""

    action: str
    request: Request
    due: float
    job_uid: str


class Delays:
    """Delayed actions by job and pod."""

    def __init__(self) -> None:
        self._waiting: dict[Key, dict[str, Delayed]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def arm(self, key: Key, delayed: Delayed) -> None:
        """The same action for the same pod keeps its deadline; another action, or another pod of its name, takes its place."""
        entries = self._waiting.setdefault(key, {})
        found = entries.get(delayed.request.target.pod)
        if found is None or _subject(found) != _subject(delayed):
            entries[delayed.request.target.pod] = delayed

    def holds(self, key: Key, delayed: Delayed) -> bool:
        """Whether it still waits."""
        return self._waiting.get(key, {}).get(delayed.request.target.pod) is delayed

    def cancel_by_event(self, key: Key, request: Request) -> None:
        """Something happened to a pod: what waits because of its former state may be void."""
        entry = self._waiting.get(key, {}).get(request.target.pod)
        if entry is None:
            return
        armed, is_same = entry.request.event, entry.request.pod_uid == request.pod_uid
        if request.event == Event.POD_RUNNING:
            is_void = armed in _ENDINGS or (armed == Event.POD_PENDING and is_same)
        else:
            is_void = request.event in _ENDINGS and armed == Event.POD_PENDING and is_same
        if is_void:
            self._remove(key, lambda found: found is entry)

    def cancel_by_action(self, key: Key, action: str, request: Request) -> None:
        """An action was carried out: those of its scope that wait need not be."""
        if action in _SILENT:
            return

        def is_covered(entry: Delayed) -> bool:
            if action not in TARGETED:
                return entry.action not in TARGETED
            return entry.action == action and scope(action, entry.request) == scope(action, request)

        self._remove(key, is_covered)

    def expired(self, key: Key, now: float) -> list[Delayed]:
        """Those whose time has come, earliest first. They stay until they are cancelled or dropped."""
        entries = self._waiting.get(key, {}).values()
        return sorted((entry for entry in entries if entry.due <= now), key=lambda entry: entry.due)

    def next_due(self, key: Key) -> float | None:
        """When the next one of a job is due."""
        return min((entry.due for entry in self._waiting.get(key, {}).values()), default=None)

    def drop(self, key: Key, entry: Delayed) -> None:
        """This one is over."""
        self._remove(key, lambda found: found is entry)

    def forget(self, key: Key) -> None:
        """The job is gone."""
        self._waiting.pop(key, None)

    def _remove(self, key: Key, is_void: Callable[[Delayed], bool]) -> None:
        entries = self._waiting.get(key, {})
        for pod in [pod for pod, entry in entries.items() if is_void(entry)]:
            del entries[pod]
        if not entries:
            self._waiting.pop(key, None)


def scope(action: str, request: Request) -> tuple[str, ...]:
    """What a targeted action restarts: one of the same scope does the same."""
    target = request.target
    if action == Action.RESTART_TASK:
        return (target.task,)
    return (target.pod,) if action == Action.RESTART_POD else (target.task, target.partition)


def _subject(delayed: Delayed) -> tuple[str, str]:
    return delayed.action, delayed.request.pod_uid
