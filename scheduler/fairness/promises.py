"""
Room of queues that is promised to pods whose admission gate was opened, until they take it (plugins.md 7.6).

Without it the room would be given away between the removal of a gate and the placement of its pod.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.gates import asks_for_admission
from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from scheduler.contract.ledger import Ledger
    from scheduler.session import Session
    from scheduler.state.task import Task

Path = Callable[[str], Sequence[str]]


class Promises:
    """
    The promises of one session. `path_of(queue)` names a queue and those above it, which all keep the room.

    Made at the opening of a session: of pods that wait without a gate although they once asked for one, and of those
    whose gate is on its way out. Both follow from the state, so a restart loses nothing.
    """

    def __init__(self, session: Session, path_of: Path) -> None:
        self._session = session
        self._path_of = path_of
        self._standing: Ledger[str, bool] = session.ledger()
        """By uid: whether the promise stands; False once the pod took its room."""
        self._sums: Ledger[str, Floats] = session.ledger()
        self._nothing = np.zeros(len(session.cluster.dimensions))
        if session.gates.is_on:
            self._collect()

    def _collect(self) -> None:
        granted = self._session.gates.granted
        for job in self._session.open_jobs():
            for task in job.pending.values():
                if task.uid in granted or (not task.is_gated and asks_for_admission(task)):
                    self.make(task)

    def make(self, task: Task) -> None:
        """Keep the room of a pod from now on."""
        if not self._standing.get(task.uid, False):
            self._standing[task.uid] = True
            self._add(task, 1)

    def redeem(self, tasks: Sequence[Task]) -> None:
        """These take room: what was promised to them is theirs now."""
        for task in tasks:
            if self._standing.get(task.uid, False):
                self._standing[task.uid] = False
                self._add(task, -1)

    def renew(self, tasks: Sequence[Task]) -> None:
        """These gave up the room that they had been promised."""
        for task in tasks:
            if task.uid in self._standing:
                self.make(task)

    def beside(self, queue: str, task: Task) -> Floats:
        """`(dims,)`: what a queue keeps for others than a pod."""
        promised = self._sums.get(queue, self._nothing)
        if not self._standing.get(task.uid, False) or queue not in self._path(task):
            return promised
        return promised - self._row(task)

    def holds(self, task: Task) -> bool:
        """Whether room is kept for a pod."""
        return self._standing.get(task.uid, False)

    def _row(self, task: Task) -> Floats:
        return task.request.row(self._session.cluster.dimensions)

    def _path(self, task: Task) -> Sequence[str]:
        job = self._session.job(task.job)
        return self._path_of(job.queue) if job is not None else ()

    def _add(self, task: Task, sign: int) -> None:
        for queue in self._path(task):
            self._sums[queue] = self._sums.get(queue, self._nothing) + sign * self._row(task)
