"""
The pods that wait: ready ones by priority, those that failed a moment ago, and those that nothing has changed for.

A pod that found no node rests until an event may help it, but never for more than five minutes, and after each failure
it isn't tried again before a pause that doubles. Times are in seconds, of any clock that only goes forward.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from enum import Enum
from itertools import count
from typing import NamedTuple

import msgspec

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
LONGEST_REST = 300.0
RAISED = 100
"""The scheduling priority of a pod whose placement came to nothing through no fault of its own."""
_Rank = tuple[int, int, float, int]
_MOVED = -1
"""Stands for any number of news since a pod was taken."""


class Place(Enum):
    """Where a pod stands."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    IN_FLIGHT = "in flight"
    """Taken; its outcome isn't known yet."""


class Standing(NamedTuple):
    """
    What a pod is ranked by, higher first: its annotation, then its priority.

    `watches_pods`: whether it may find a node because of a pod that comes to one.
    """

    scheduling_priority: int = 0
    priority: int = 0
    watches_pods: bool = False


class _Entry(msgspec.Struct, eq=False):
    uid: str
    standing: Standing
    since: float
    number: int
    """Decides between pods that came at the same time."""
    place: Place = Place.ACTIVE
    ticket: int = 0
    """Marks the one heap item that is valid for this entry."""
    attempts: int = 0
    ready_at: float = 0.0
    moves: int = 0
    is_raised: bool = False

    @property
    def rank(self) -> _Rank:
        raised = RAISED if self.is_raised else self.standing.scheduling_priority
        return -raised, -self.standing.priority, self.since, self.number


class PodQueue:
    """Pods by uid. Belongs to one thread."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._active: list[tuple[_Rank, int, _Entry]] = []
        self._timed: list[tuple[float, int, _Entry]] = []
        """Ends of pauses and rests."""
        self._resting: dict[str, _Entry] = {}
        self._watching: dict[str, None] = {}
        self._tickets = count(1)
        self._moves = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def place_of(self, uid: str) -> Place | None:
        """Where a pod stands, None for one that isn't here."""
        entry = self._entries.get(uid)
        return entry.place if entry is not None else None

    # What becomes of pods.

    def add(self, uid: str, standing: Standing, now: float, *, changed: bool = True) -> None:
        """A pod came, or was `changed` in something that may let it find a node now."""
        if standing.watches_pods:
            self._watching[uid] = None
        entry = self._entries.get(uid)
        if entry is None:
            entry = self._entries[uid] = _Entry(uid, standing, now, next(self._tickets))
            self._activate(entry)
            return
        ranks_anew = entry.standing != standing
        entry.standing = standing
        if entry.place is Place.UNSCHEDULABLE and changed:
            self._stir(entry, now)
        elif entry.place is Place.ACTIVE and ranks_anew:
            self._activate(entry)
        elif entry.place is Place.IN_FLIGHT and changed:
            entry.moves = _MOVED

    def remove(self, uid: str) -> None:
        """A pod is gone or has its node."""
        entry = self._entries.pop(uid, None)
        self._resting.pop(uid, None)
        self._watching.pop(uid, None)
        if entry is not None:
            entry.ticket = 0

    def take(self, most: int, now: float) -> list[str]:
        """The first `most` pods that are ready; each is in flight until something else is said of it."""
        self._tick(now)
        taken: list[str] = []
        while self._active and len(taken) < most:
            _, ticket, entry = heapq.heappop(self._active)
            if entry.ticket != ticket:
                continue
            entry.place, entry.ticket, entry.moves = Place.IN_FLIGHT, 0, self._moves
            entry.attempts += 1
            taken.append(entry.uid)
        return taken

    def give_back(self, uid: str) -> None:
        """A pod that was taken wasn't tried."""
        entry = self._flying(uid)
        if entry is not None:
            entry.attempts -= 1
            self._activate(entry)

    def fail(self, uid: str, now: float) -> None:
        """A pod found no node: it rests, or only pauses when something happened since it was taken."""
        entry = self._flying(uid)
        if entry is None:
            return
        self._rest(entry, now)
        if entry.moves == self._moves:
            entry.place = Place.UNSCHEDULABLE
            self._resting[uid] = entry
            self._time(entry, now + LONGEST_REST)
        else:
            self._stir(entry, now)

    def retry(self, uid: str, now: float) -> None:
        """A placement came to nothing through no fault of the pod: it goes to the front, at once the first time."""
        entry = self._flying(uid)
        if entry is None:
            return
        again = entry.is_raised
        self._rest(entry, now)
        entry.is_raised = True
        if again:
            self._stir(entry, now)
        else:
            self._activate(entry)

    def move(self, now: float) -> None:
        """Something happened that may let any pod find a node."""
        self._moves += 1
        for entry in list(self._resting.values()):
            self._stir(entry, now)

    def move_watching(self, now: float, wanted: Callable[[str], bool]) -> None:
        """A pod came to a node, which may help those that are `wanted` of the pods that watch others."""
        for entry in [self._entries[uid] for uid in self._watching if wanted(uid)]:
            if entry.place is Place.UNSCHEDULABLE:
                self._stir(entry, now)
            elif entry.place is Place.IN_FLIGHT:
                entry.moves = _MOVED

    def wait(self, now: float) -> float | None:
        """How long until a pod may be ready: 0 when one is, None when only news can make one so."""
        self._tick(now)
        self._drop_void()
        if self._active:
            return 0.0
        return max(0.0, self._timed[0][0] - now) if self._timed else None

    # Inside.

    def _flying(self, uid: str) -> _Entry | None:
        entry = self._entries.get(uid)
        return entry if entry is not None and entry.place is Place.IN_FLIGHT else None

    def _rest(self, entry: _Entry, now: float) -> None:
        entry.since, entry.number = now, next(self._tickets)
        entry.ready_at = now + min(FIRST_PAUSE * 2.0 ** min(entry.attempts - 1, 10), LONGEST_PAUSE)
        entry.is_raised = False

    def _stir(self, entry: _Entry, now: float) -> None:
        self._resting.pop(entry.uid, None)
        if entry.ready_at > now:
            entry.place = Place.BACKOFF
            self._time(entry, entry.ready_at)
        else:
            self._activate(entry)

    def _activate(self, entry: _Entry) -> None:
        entry.place, entry.ticket = Place.ACTIVE, next(self._tickets)
        heapq.heappush(self._active, (entry.rank, entry.ticket, entry))

    def _time(self, entry: _Entry, at: float) -> None:
        entry.ticket = next(self._tickets)
        heapq.heappush(self._timed, (at, entry.ticket, entry))

    def _tick(self, now: float) -> None:
        """Let go whose pause or rest is over."""
        while self._timed and self._timed[0][0] <= now:
            _, ticket, entry = heapq.heappop(self._timed)
            if entry.ticket == ticket:
                self._resting.pop(entry.uid, None)
                self._activate(entry)

    def _drop_void(self) -> None:
        while self._active and self._active[0][2].ticket != self._active[0][1]:
            heapq.heappop(self._active)
        while self._timed and self._timed[0][2].ticket != self._timed[0][1]:
            heapq.heappop(self._timed)
