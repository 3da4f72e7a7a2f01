"""What all explanations of one session have in common, worked out once: figures of queues, and who comes first."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from scheduler.fairness.shares import real_capabilities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scheduler.fairness.shares import QueueFigures
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.queue import Queue


class Shared:
    """Belongs to a session in which nothing is placed but in trials, which are taken back."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._ranked: dict[str, list[Job]] = {}
        self._places: dict[str, dict[str, int]] = {}

    @cached_property
    def _told(self) -> tuple[str, Mapping[str, QueueFigures]]:
        for plugin in self.session.plugins:
            tell = getattr(plugin, "queue_figures", None)
            if tell is not None:
                return plugin.name, tell()
        return "", {}

    @property
    def divider(self) -> str:
        """The plugin that divides the cluster among queues, empty where none does."""
        return self._told[0]

    @property
    def figures(self) -> Mapping[str, QueueFigures]:
        """Its figures by queue."""
        return self._told[1]

    @cached_property
    def has_tree(self) -> bool:
        """Whether the plugin that divides the cluster holds queues to the limits of those above them."""
        if all(figures.real_capacity is None for figures in self.figures.values()):
            return False
        options = [option for option in self.session.configuration.plugins if option.name == self.divider]
        return any(option.is_on("enableHierarchy") for option in options[:1])

    @cached_property
    def flat_ceilings(self) -> dict[str, Floats]:
        """What each existing queue may hold at most by a plugin that knows no tree: `(dims,)` by name."""
        cluster = self.session.cluster
        queues = [queue for queue in cluster.queues.values() if queue.object is not None]
        limits, _ = real_capabilities(cluster.columns.allocatable.sum(axis=1), queues, cluster.dimensions)
        return {queue.name: limit for queue, limit in zip(queues, limits, strict=True)}

    @cached_property
    def _waiting(self) -> dict[str, list[Job]]:
        found: dict[str, list[Job]] = {}
        for job in self.session.open_jobs():
            if job.pending:
                found.setdefault(job.queue, []).append(job)
        return found

    @cached_property
    def queues(self) -> list[Queue]:
        """The queues in which jobs wait, first one first."""
        return self.session.queue_ranking().sorted(self.session.cluster.queues[name] for name in self._waiting)

    def ranked(self, queue: str) -> list[Job]:
        """The waiting jobs of a queue, first one first."""
        known = self._ranked.get(queue)
        if known is None:
            known = self._ranked[queue] = self.session.job_ranking().sorted(self._waiting.get(queue, ()))
            self._places[queue] = {job.id: place for place, job in enumerate(known)}
        return known

    def place(self, job: Job) -> int | None:
        """How many waiting jobs of its queue come before a job; None where it doesn't wait."""
        self.ranked(job.queue)
        return self._places[job.queue].get(job.id)
