"""drf: jobs that hold the smaller part of what they hold most of come first; queues likewise in a tree (plugins.md 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from api import names
from scheduler.contract.arguments import Declared
from scheduler.fairness.fairtree import TOLERANCE, FairTree
from scheduler.fairness.shares import dominant_share, dominant_shares
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.arguments import Arguments
    from scheduler.session import Session
    from scheduler.state.dimensions import Floats
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task


class Drf(Plugin):
    """Job order and preemption by dominant shares; with `enableHierarchy` also queue order and reclaim."""

    name = "drf"
    lets_jobs_sleep = True
    declares: ClassVar[Declared] = {}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._total: Floats
        self._session: Session

    def on_session_open(self, session: Session) -> None:
        """Register orders and choices of victims."""
        self._session = session
        self._total = session.cluster.columns.allocatable.sum(axis=1)
        session.add_job_order(self.name, key=self.share_of, ahead=self._shares_ahead)
        session.add_preemptable(self.name, self._victims)
        options = (option for option in session.configuration.plugins if option.name == self.name)
        if any(option.is_on("enableHierarchy") for option in list(options)[:1]):
            Hierarchy(session, self._total).register(self.name)

    def on_session_close(self, session: Session) -> None:
        """Tell the shares of the jobs that the session looked at: those of the others are as they were."""
        for job in session.looked_at():
            session.gauges.set("job_share", self.share_of(job), job.namespace, job.name)

    def share_of(self, job: Job) -> float:
        """The dominant share of a job."""
        return dominant_share(job.claimed, self._total)

    def _shares_ahead(self, job: Job, held: Floats) -> Sequence[float]:
        del job
        return dominant_shares(held, self._total)

    def _victims(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Tasks whose jobs would still hold no less than the preemptor's job would then."""
        session, dimensions = self._session, self._session.cluster.dimensions
        own = session.job(preemptor.job)
        if own is None:
            return []
        share = dominant_share(own.claimed + preemptor.request.row(dimensions), self._total)
        held: dict[str, Floats] = {}
        victims: list[Task] = []
        for task in candidates:
            job = session.job(task.job)
            if job is None:
                continue
            # What was weighed stays taken off, chosen or not: so a job isn't weighed twice with all that it had.
            rest = held[job.id] = held.get(job.id, job.claimed) - task.request.row(dimensions)
            left = dominant_share(rest, self._total)
            if share < left or abs(share - left) <= TOLERANCE:
                victims.append(task)
        return victims


class Hierarchy:
    """Dominant resource fairness between queues, by the paths and weights of their annotations."""

    def __init__(self, session: Session, total: Floats) -> None:
        self.session = session
        self.tree = FairTree(total)
        self._moved: set[str] = set()
        for job_id, job in sorted(session.cluster.jobs.items()):
            if session.takes_part(job):
                queue = session.queue_of(job)
                self.tree.add(job_id, path_of(queue), weights_of(queue), job.total, job.claimed)
        self.tree.settle()

    def register(self, plugin: str) -> None:
        """Take part in queue order and reclaim."""
        session = self.session
        session.add_queue_order(plugin, self.compare, is_entangled=True)
        session.add_reclaimable(plugin, self._victims)
        session.add_batch_event_handler(plugin, allocate=self._allocated, deallocate=self._deallocated)

    # What a job holds is read from its account, so that nothing must be taken back here: a change is only noted.

    def _allocated(self, tasks: Sequence[Task], _: Sequence[Node]) -> str | None:
        self._moved.add(tasks[0].job)
        return None

    def _deallocated(self, tasks: Sequence[Task]) -> None:
        self._moved.add(tasks[0].job)

    def _catch_up(self) -> None:
        jobs = self.session.cluster.jobs
        for job_id in sorted(self._moved):
            if job_id in self.tree:
                self.tree.set_allocated(job_id, jobs[job_id].claimed)
        self._moved.clear()

    def compare(self, left: Queue, right: Queue) -> int:
        """Negative when the left queue comes first."""
        self._catch_up()
        return self.tree.compare(path_of(left), path_of(right))

    def _victims(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """
        Tasks whose queues would come after the reclaimer's, had it the task's room; each weighed by itself.

        None of a queue that comes before the reclaimer's now: it would take the room back, and so on for ever (#1661).
        """
        session = self.session
        dimensions = session.cluster.dimensions
        own = session.job(reclaimer.job)
        if own is None or own.id not in self.tree:
            return []
        self._catch_up()
        path = path_of(session.queue_of(own))
        queues = {job.queue for task in candidates if (job := session.job(task.job)) is not None}
        ahead = {name for name in queues if self.tree.compare(path, path_of(session.cluster.queues[name])) > 0}
        before = self.tree.set_allocated(own.id, own.claimed + reclaimer.request.row(dimensions))
        victims: list[Task] = []
        for task in candidates:
            job = session.job(task.job)
            if job is None or job.id not in self.tree or job.queue in ahead:
                continue
            held = self.tree.set_allocated(job.id, job.claimed - task.request.row(dimensions))
            if self.tree.compare(path, path_of(session.queue_of(job))) < 0:
                victims.append(task)
            self.tree.set_allocated(job.id, held)
        self.tree.set_allocated(own.id, before)
        return victims


def path_of(queue: Queue) -> list[str]:
    """The queue's place in the tree: the first segment is the root, whatever it says."""
    return _annotation(queue, names.HIERARCHY_ANNOTATION).split("/")


def weights_of(queue: Queue) -> list[str]:
    """A weight for each segment of the path, as written."""
    return _annotation(queue, names.HIERARCHY_WEIGHTS_ANNOTATION).split("/")


def _annotation(queue: Queue, key: str) -> str:
    return queue.object.metadata.annotations.get(key, "") if queue.object is not None else ""
