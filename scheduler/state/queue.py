"""One queue, with what its jobs hold at the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.state.dimensions import Floats

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import Queue as QueueObject
    from scheduler.state.job import Job

ROOT = "root"


class Queue:
    """
    A queue. `allocated` is a `(dims,) float64` row over the queue's own jobs, descendants left out.

    A queue that is only named by jobs, and doesn't exist, has no `object` and takes no part in a session.
    """

    __slots__ = ("allocated", "created", "jobs", "name", "object", "uid", "weight")

    def __init__(self, name: str) -> None:
        self.name = name
        self.object: QueueObject | None = None
        self.uid = ""
        self.created = 0.0
        self.weight = 1
        self.jobs: dict[str, Job] = {}
        self.allocated: Floats = np.zeros(3)

    def __repr__(self) -> str:
        return f"<Queue {self.name}, {len(self.jobs)} jobs>"

    @property
    def parent(self) -> str:
        """Name of the parent queue: `root` where none is set, nothing for `root` itself."""
        if self.name == ROOT:
            return ""
        return (self.object.spec.parent if self.object is not None else "") or ROOT

    @property
    def reclaimable(self) -> bool:
        """Whether others may take back what this queue borrowed; yes unless it says no."""
        return self.object is None or self.object.spec.reclaimable is not False
