"""One queue, with what its jobs hold at the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.state.account import Accounted
from scheduler.state.limits import Limits, limits_of

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import Queue as QueueObject
    from scheduler.state.job import Job

ROOT = "root"


class Queue(Accounted):
    """
    A queue. Its account (`Accounted`) is the sum over its own jobs, descendants left out.

    A queue that is only named by jobs, and doesn't exist, has no `object` and takes no part in a session.
    """

    __slots__ = ("_limits", "created", "jobs", "name", "object", "uid", "weight")

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.object: QueueObject | None = None
        self.uid = ""
        self.created = 0.0
        self.weight = 1
        self.jobs: dict[str, Job] = {}
        self._limits: tuple[object, Limits] = None, Limits()

    def __repr__(self) -> str:
        return f"<Queue {self.name}, {len(self.jobs)} jobs>"

    @property
    def parent(self) -> str:
        """Name of the parent queue: `root` where none is set, nothing for `root` itself."""
        if self.name == ROOT:
            return ""
        return (self.object.spec.parent if self.object is not None else "") or ROOT

    @property
    def limits(self) -> Limits:
        """Weight, priority and amounts of the spec; the defaults where the queue doesn't exist."""
        if self._limits[0] is not self.object:
            self._limits = self.object, limits_of(self.object) if self.object is not None else Limits()
        return self._limits[1]

    @property
    def reclaimable(self) -> bool:
        """Whether others may take back what this queue borrowed; yes unless it says no."""
        return self.object is None or self.object.spec.reclaimable is not False
