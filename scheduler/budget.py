"""
The time that a cycle may take, as the one question that actions ask: is it over? And who has his turn when it was.

A cycle is a function of what it is given, and so of where the time was over. That place is remembered as the number of
the question that was first answered with yes; a replay answers the same question with yes.

Each cycle begins with the job that comes first. So that jobs for which there is no time are not put off for ever, a
cycle that is cut short begins a **round** (`Round`), which lasts until all that it cut off had their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.placing.fiterrors import FitErrors
    from scheduler.state.job import Job


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


Jobs = Mapping[str, AbstractSet[str]]
"""Ids of jobs by the stage of a cycle: an action, or a part of one."""
_ITSELF = ""
"""Stands for an action that doesn't say which jobs it deals with."""


class Turns:
    """Which jobs wait for their turn in one stage of a cycle, and which had it."""

    def __init__(self, owed: AbstractSet[str], vain: AbstractSet[str], *, owed_only: bool) -> None:
        self.owed = owed
        self.waiting: set[str] = set()
        self.had: set[str] = set()
        self._vain = vain
        self._owed_only = owed_only

    def may(self, job: Job) -> bool:
        """Whether a job takes part in this cycle; all do unless a round is under way."""
        return job.id in self.owed if self._owed_only else job.id not in self._vain

    def wait(self, jobs: Iterable[Job]) -> None:
        """Say which jobs are to have their turns; those that then have none are owed it."""
        self.waiting.update(job.id for job in jobs)

    def among(self, jobs: Mapping[str, list[Job]]) -> dict[str, list[Job]]:
        """Those of the jobs of each queue that take part, which wait from now on; queues without any are left out."""
        found = {queue: [job for job in members if self.may(job)] for queue, members in jobs.items()}
        for members in found.values():
            self.wait(members)
        return {queue: members for queue, members in found.items() if members}

    def take(self, *jobs: str) -> None:
        """Say that jobs had their turn, those too that make the action fail."""
        self.had.update(jobs)

    @property
    def left(self) -> set[str]:
        """Those that had no turn."""
        return self.waiting - self.had


class Round:
    """
    What is left of a cycle whose time was over, until it is made good; belongs to one memory.

    The jobs that were cut off, in whatever stage, are **owed** a turn: no others join them as long as the round lasts.
    Every other cycle of a round serves them only, and one of them even when the time is over before: so a round ends
    after twice as many cycles as turns are owed, at the latest, and each job that waits is reached at last, whatever
    others cost or come anew. The cycles in between serve all but those who had their turn in **vain** in this round and
    didn't change: who comes anew and ranks higher waits for one cycle. As long as no time is over nothing of this
    plays a part.
    """

    def __init__(self, owed: Jobs | None = None, vain: Jobs | None = None, *, owed_only: bool = False) -> None:
        self.owed: dict[str, set[str]] = {stage: set(jobs) for stage, jobs in (owed or {}).items()}
        self.vain: dict[str, set[str]] = {stage: set(jobs) for stage, jobs in (vain or {}).items()}
        self.owed_only = owed_only
        """Whether the next cycle serves none but those."""
        self.lacks_time = False
        """Whether the time of the cycle that ended last didn't suffice for all, or it served only some."""
        self.told: dict[str, tuple[Mapping[str, FitErrors], str]] = {}
        """
        By job what its pods and it were told last, for those that change while they have no turn; until a cycle that
        serves all has time enough. It changes no decision.
        """
        self._turns: dict[str, Turns] = {}
        self._action = ""
        self._stages: list[Turns] = []
        """Those of the action that runs."""
        self._is_asked = self._was_late = self._was_over = self._is_served = False
        self._is_fruitful = self._is_unfinished = False

    @property
    def is_on(self) -> bool:
        """Whether somebody is owed a turn."""
        return bool(self.owed)

    @property
    def goes_on(self) -> bool:
        """Whether a cycle is to follow though nothing changed; not after a round that went through all in vain."""
        return self.is_on or self._is_unfinished

    def forgive(self, jobs: Iterable[str]) -> None:
        """Something changed for these jobs: a turn that they had in this round counts no more."""
        if self.vain:
            changed = set(jobs)
            for had in self.vain.values():
                had.difference_update(changed)

    # In a cycle.

    def begin(self) -> None:
        """A cycle begins."""
        self._turns = {}
        self._was_over = self._is_served = self._is_unfinished = False
        self._is_fruitful &= self.is_on

    def enter(self, action: str) -> None:
        """An action begins."""
        self._action, self._stages = action, []
        self._is_asked = self._was_late = False

    def leave(self) -> None:
        """It is done. Of one without stages it counts whether it began in time."""
        if not self._stages:
            turns = self.turns(self._action)
            turns.waiting.add(_ITSELF)
            if not self._was_late:
                turns.take(_ITSELF)

    def turns(self, stage: str) -> Turns:
        """The turns of a stage of the action that runs."""
        if stage not in self._turns:
            owed, vain = self.owed.get(stage, set()), self.vain.get(stage, set())
            self._turns[stage] = Turns(owed, vain, owed_only=self.owed_only)
        self._stages.append(self._turns[stage])
        return self._turns[stage]

    def is_over(self, expired: Callable[[], bool]) -> bool:
        """The answer to an action that asks whether the time is over."""
        is_first, self._is_asked = not self._is_asked, True
        if self._has_grace(is_first=is_first):
            return False
        over = expired()
        self._was_over |= over
        self._was_late |= over and is_first
        return over

    def _has_grace(self, *, is_first: bool) -> bool:
        """Whether an action goes on in any case, to serve the first of those who are owed a turn in this cycle."""
        if not self.owed_only or self._is_served:
            return False
        if any(not turns.had.isdisjoint(turns.owed) for turns in self._turns.values()):
            self._is_served = True
            return False
        if self._stages:
            return any(turns.left & turns.owed for turns in self._stages)
        self._is_served = is_first and _ITSELF in self.owed.get(self._action, ())
        return self._is_served

    def end(self, moved: Iterable[str], *, is_fruitful: bool) -> None:
        """
        The actions are through, with decisions or without.

        `moved` are the jobs that got something, or wait for what they were promised.
        """
        self._is_fruitful |= is_fruitful
        self.lacks_time = self.is_on or self._was_over
        if not self.lacks_time:
            self.told = {}
        if self.is_on:
            self._go_on()
        elif self._was_over:
            self.owed = self._left()
            self.vain = {stage: turns.had for stage, turns in self._turns.items()} if self.owed else {}
            self.owed_only = self.is_on
            self._is_unfinished = self._is_fruitful
        self.forgive(moved)

    def _go_on(self) -> None:
        before = sum(map(len, self.owed.values()))
        # Who waits no more is owed nothing.
        self.owed = {stage: found for stage, jobs in self._left().items() if (found := jobs & self._turns[stage].owed)}
        is_stuck = self.owed_only and sum(map(len, self.owed.values())) == before
        if is_stuck or not self.owed:
            # Stuck: an action fails before it serves anybody. Nobody is to wait for that.
            self.owed, self.vain, self.owed_only = {}, {}, False
            self._is_unfinished = self._is_fruitful or bool(self._left())
            return
        for stage, turns in self._turns.items():
            self.vain[stage] = self.vain.get(stage, set()) | turns.had
        self.owed_only = not self.owed_only

    def _left(self) -> dict[str, set[str]]:
        return {stage: left for stage, turns in self._turns.items() if (left := turns.left)}
