"""
What PodGroups and pods were last told, and what is still to be told them.

A status is written only when it differs from the last one; what waits for the writers is replaced by what is newer,
but no phase is skipped: watchers see each in turn. Within a phase the last write must be a second old: while pods of
a gang are made and bound, its counts and reasons change with each of them. That a gang has got its nodes waits some
seconds: its next phase, once its pods are bound, says more; and so does that phase while other pods are bound in a rush.
A message that differs only in its numbers waits until the last one is half a minute old.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from api import names
from generated.scheduling.v1beta1 import PodGroupPhase
from scheduler.reporting.messages import PATIENCE, gist
from scheduler.reporting.outcome import GANG_READY, newest_condition

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroup
    from scheduler.reporting.outcome import JobOutcome, TaskOutcome

BREATH = 1.0
"""Seconds between two statuses of one phase."""
PLACED = 5.0
"""Seconds that a gang has its nodes before it is told so; where many pods are bound, each takes its turn for a while."""


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The status of a PodGroup as this scheduler sees it. `transition_id` and time are not part of the comparison."""

    phase: str
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    condition: str = ""
    """Type of the newest condition, empty where there is none."""
    reason: str = ""
    message: str = ""
    transition_id: str = field(default="", compare=False)

    @classmethod
    def of(cls, found: JobOutcome) -> GroupStatus:
        """The status that a session's outcome asks for."""
        condition = found.condition
        return cls(
            found.phase,
            found.running,
            found.succeeded,
            found.failed,
            condition.type if condition else "",
            condition.reason if condition else "",
            condition.message if condition else "",
            condition.transition_id if condition else "",
        )

    @classmethod
    def stored(cls, group: PodGroup) -> GroupStatus:
        """The status that the server has, its newest condition included."""
        status = group.status
        newest = newest_condition([condition for condition in status.conditions if condition.status == "True"])
        told = (newest.type, newest.reason, newest.message) if newest is not None else ("", "", "")
        return cls(status.phase, status.running, status.succeeded, status.failed, *told)

    @property
    def gist(self) -> tuple[object, ...]:
        """What counts at once."""
        return self.phase, self.running, self.succeeded, self.failed, self.condition, self.reason, gist(self.message)


_LONG_AGO = float("-inf")


class _Told(msgspec.Struct):
    status: GroupStatus
    at: float


class Offer(msgspec.Struct, frozen=True):
    """What becomes of a status that was offered."""

    is_news: bool = False
    """It says something that was not said yet."""
    is_first: bool = False
    """Somebody must begin to write: nobody is at it."""
    after: str = ""
    """A phase that waited and is written before it."""
    wait: float = 0.0
    """Seconds after which it is to be offered again, since it differs too little from one that was told so lately."""


def _rest(patience: float, told_at: float, now: float) -> float:
    """What is left of a patience; nothing when the clock was set back."""
    return max(0.0, patience - (now - told_at)) if now >= told_at else 0.0


class GroupStatuses:
    """Per PodGroup (by uid): what was told, and a queue of what is to be told."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        self._waiting: dict[str, deque[GroupStatus]] = {}
        self._placed: dict[str, float] = {}
        """Since when gangs have their nodes and have not been told."""
        self._held: dict[str, GroupStatus] = {}
        """Statuses of a new phase that wait for the end of a rush."""

    def learn(self, group: PodGroup) -> None:
        """Of a group of which nothing was told yet: what the server has is told, by the scheduler before."""
        uid = group.metadata.uid
        if uid not in self._told and uid not in self._waiting:
            self._told[uid] = _Told(GroupStatus.stored(group), _LONG_AGO)

    def offer(
        self, uid: str, status: GroupStatus, now: float, *, at_once: bool = False, in_rush: bool = False
    ) -> Offer:
        """Take in a status. `now` in seconds; `at_once` when there will be no other time; `in_rush` of pods being bound."""
        waiting = self._waiting.get(uid)
        if waiting:
            is_news = waiting[-1] != status
            if waiting[-1].phase == status.phase:
                waiting.pop()
            waiting.append(status)
            return Offer(is_news=is_news)
        told = self._told.get(uid)
        held = self._held.get(uid, status)
        if told is not None and held.phase == status.phase:
            if told.status == status:
                return Offer()
            pause = self._pause(uid, told, status, now, in_rush=in_rush)
            if pause and not at_once:
                if told.status.phase != status.phase:
                    self._held[uid] = status
                return Offer(wait=pause)
        self._placed.pop(uid, None)
        self._held.pop(uid, None)
        if held.phase == status.phase:
            self._waiting[uid] = deque((status,))
            return Offer(is_news=True, is_first=True)
        self._waiting[uid] = deque((held, status))
        return Offer(is_news=True, is_first=True, after=held.phase)

    def _pause(self, uid: str, told: _Told, status: GroupStatus, now: float, *, in_rush: bool) -> float:
        if told.status.gist == status.gist:
            return _rest(PATIENCE, told.at, now)
        if told.status.phase != status.phase:
            may_wait = in_rush and (told.status.phase, status.phase) == (PodGroupPhase.INQUEUE, PodGroupPhase.RUNNING)
            return _rest(PLACED, self._placed.setdefault(uid, now), now) if may_wait else 0.0
        if status.reason != GANG_READY or told.status.reason == GANG_READY:
            self._placed.pop(uid, None)
            return _rest(BREATH, told.at, now)
        return _rest(PLACED, self._placed.setdefault(uid, now), now)

    def next(self, uid: str) -> GroupStatus | None:
        """What to write next for a PodGroup; None when nothing waits."""
        waiting = self._waiting.get(uid)
        if not waiting:
            self._waiting.pop(uid, None)
            return None
        return waiting[0]

    def written(self, uid: str, status: GroupStatus, now: float) -> None:
        """The server has it."""
        self._told[uid] = _Told(status, now)
        waiting = self._waiting.get(uid)
        if waiting and waiting[0] is status:
            waiting.popleft()

    def forget(self, uid: str) -> None:
        """The PodGroup is gone, or what it was told is no longer known."""
        self._told.pop(uid, None)
        self._waiting.pop(uid, None)
        self._placed.pop(uid, None)
        self._held.pop(uid, None)

    @property
    def owed(self) -> int:
        """PodGroups with something to write."""
        return len(self._waiting)


def _stored(found: TaskOutcome) -> tuple[str, str, str | None, float] | None:
    """What the pod was told by the scheduler before, None for nothing."""
    pod = found.task.pod
    if pod is None:
        return None
    for condition in pod.status.conditions:
        if condition.type == names.PodConditionType.POD_SCHEDULED and condition.status == "False":
            node = pod.status.nominated_node_name
            # None and "" both leave the pod without a node: the former takes away one that it has.
            nominated = found.nominated if not node and not found.nominated else node
            return condition.reason, condition.message, nominated, _LONG_AGO
    return None


class TaskStatuses:
    """Per pod (by uid): the last word on why it waits."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str, str | None, float]] = {}

    def offer(self, found: TaskOutcome, now: float) -> Offer:
        """Whether a pod must hear this; remembers it as told."""
        uid = found.task.uid
        told = self._told.get(uid) or _stored(found)
        if told is not None:
            reason, message, nominated, at = told
            if (reason, nominated) == (found.reason, found.nominated):
                if message == found.message:
                    return Offer()
                if gist(message) == gist(found.message) and (pause := _rest(PATIENCE, at, now)):
                    return Offer(wait=pause)
        self._told[uid] = (found.reason, found.message, found.nominated, now)
        return Offer(is_news=True, is_first=True)

    def note(self, uid: str, reason: str, message: str, now: float) -> None:
        """The pod was told something that no session has found."""
        self._told[uid] = reason, message, "", now

    def holds(self, found: TaskOutcome) -> bool:
        """Whether this is still the last word."""
        told = self._told.get(found.task.uid)
        return told is not None and told[:3] == (found.reason, found.message, found.nominated)

    def forget(self, uid: str) -> None:
        """The pod found its place, is gone, or could not be told."""
        self._told.pop(uid, None)
