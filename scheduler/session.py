"""
One scheduling session: the cluster as it is, the plugins' answers joined, and what was decided.

Actions and plugins see nothing else. A session reads no clock and does no I/O: its time is handed in, and what it
decides is data. How the answers of several plugins combine stands in scheduler.md 7.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scheduler.contract.decisions import Decision, OpenGate
from scheduler.contract.handlers import Handlers
from scheduler.contract.journal import Journal
from scheduler.contract.ledger import Ledger
from scheduler.contract.points import Guarded, Point, Points
from scheduler.contract.questions import Questions
from scheduler.contract.registration import Registration
from scheduler.memory import PENDING_PHASES, Memory
from scheduler.placing.fiterrors import FitErrors, examine
from scheduler.reporting.gauges import Gauges
from scheduler.reporting.timings import ON_CLOSE, ON_OPEN, Timings
from scheduler.state import moves
from scheduler.statement import Operation, Placement, Statement, nodes_of, operation_job
from scheduler.topology.context import Topology

if TYPE_CHECKING:
    from scheduler.budget import Turns
    from scheduler.contract.loose import Loose
    from scheduler.placing.signature import Signatures
    from scheduler.placing.template import Template
    from scheduler.plugin import Plugin
    from scheduler.settings.conf import Configuration
    from scheduler.state.cluster import Cluster
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task


class Refusal(msgspec.Struct, frozen=True):
    """Why a job is not let into its queue: the text of an event, and the cause as its condition has it."""

    event: str
    message: str


class _Sleepers(msgspec.Struct):
    """Jobs that the session passes over, and what it has to do with them nevertheless."""

    asleep: frozenset[str] = frozenset()
    """Those that sleep, those too that fell asleep after a visit in this session."""
    visited: set[str] = msgspec.field(default_factory=set)
    stirred: set[str] = msgspec.field(default_factory=set)
    """Of whose pods another action found out something."""
    tried: set[str] = msgspec.field(default_factory=set)
    """Those for whose pods another action discarded a plan."""
    looked_through: int = 0
    """Of how many discarded tasks, the first ones, it is known whose plan it was."""


class Session(Registration, Questions):
    """
    The contract with plugins is in `Registration` (what they may register), `Questions` (how their answers are joined)
    and here (what they and actions may see and change).

    `now` is in unix seconds, `uid` marks the conditions that this session writes. `expired()` says that the time
    for this cycle is up.
    """

    def __init__(
        self,
        cluster: Cluster,
        configuration: Configuration,
        memory: Memory,
        *,
        uid: str,
        now: float,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        self.cluster = cluster
        self.configuration = configuration
        self.memory = memory
        self.uid = uid
        self.now = now
        self.expired = expired
        self.journal = Journal()
        self.decisions: list[Decision] = []
        self.kept: list[Operation] = []
        """Operations that hold their room until the session closes, without a decision."""
        self.open_statements: set[Statement] = set()
        self.on_trial: Sequence[Task] = ()
        """Whom the plan for a gang that is being tried has made leave."""
        self.handlers = Handlers(memory.on_failure)
        self.fit_errors: dict[str, dict[str, FitErrors]] = {}
        """By job and task uid: why the task found no node in this session."""
        self.job_messages: dict[str, str] = {}
        """By job: why it could not start, where no task says it."""
        self.refusals: dict[str, str] = {}
        """By job: the event that tells why it was not let into its queue."""
        self.phases: dict[str, str] = {}
        """By job: the phase that this session gave it."""
        self.told: dict[str, str] = {}
        """By job: the phase that its PodGroup is told at the end, from which the next session goes on."""
        self.timings = Timings()
        """How long plugins took, for whoever runs the cycle."""
        self.gauges = Gauges()
        """Numbers that plugins and actions have to tell."""
        self.points = Points(configuration.tiers)
        self.discarded: list[Task] = []
        """Tasks that remember where a discarded plan would have put them."""
        self.nominations = memory.nominations
        """Room that evictions of earlier sessions made, kept for whom it was made."""
        self.gates = memory.gates
        """Scheduling gates on their way out."""
        self.plugins: list[Plugin] = []
        self.topology = Topology(self)
        """The hypernodes, and what jobs ask of them."""
        self.signatures: Signatures
        self.loose: Loose | None = None
        self._sleepers = _Sleepers()
        self.asks_each_task = False
        """Whether some function must be asked before each single task."""
        self._groups = 0
        self._examined: dict[Template, tuple[tuple[int, int], FitErrors]] = {}
        self._changed: frozenset[str] = frozenset()
        self._open_jobs: list[Job] | None = None
        self._decided: tuple[int, set[str]] = 0, set()
        """Of how many decisions, the first ones, it is known which jobs they are about."""
        Registration.__init__(self)

    # What there is.

    @property
    def nodes(self) -> list[Node]:
        """Real nodes by rank of name."""
        return self.cluster.nodes

    def job(self, job_id: str) -> Job | None:
        """A job that takes part: it has a PodGroup and its queue exists."""
        job = self.cluster.jobs.get(job_id)
        return job if job is not None and self.takes_part(job) else None

    def open_jobs(self) -> list[Job]:
        """The jobs that take part and wait for something: their phase, or a place for a task. In order of id."""
        if self._open_jobs is None:
            jobs = self.cluster.jobs
            self._open_jobs = [job for job_id in sorted(self.memory.open_jobs) if self.takes_part(job := jobs[job_id])]
        return list(self._open_jobs)

    def looked_at(self) -> list[Job]:
        """
        The jobs with a PodGroup that changed since the last session or that this one dealt with, in order of id.

        Those whose queue doesn't exist are among them: they take no part, but are to hear why.
        """
        jobs = self.cluster.jobs
        return [
            jobs[job_id]
            for job_id in sorted(self._changed | self._dealt_with())
            if job_id in jobs and jobs[job_id].pod_group is not None
        ]

    def _dealt_with(self) -> set[str]:
        return {*self.phases, *(self.fit_errors.keys() - self.passed_over), *self._acted_on()}

    def _acted_on(self) -> set[str]:
        """The jobs that have places or messages; and those that sleep, if another action had to do with them."""
        return {*self.job_messages, *self._moved()}

    def _moved(self) -> set[str]:
        """The jobs that have places; and those that sleep, if another action had to do with them."""
        known, decided = self._decided
        decided.update(decision.task.job for decision in self.decisions[known:])
        self._decided = len(self.decisions), decided
        held = {operation_job(operation) for operation in self.kept}
        sleepers = self._sleepers
        tried = sleepers.tried | self.newly_tried()
        return {*decided, *held, *(tried & sleepers.asleep), *sleepers.stirred}

    def newly_tried(self) -> set[str]:
        """The jobs for whose pods an action discarded a plan since the last visits of waiting jobs."""
        return {task.job for task in self.discarded[self._sleepers.looked_through :]}

    def turns(self, stage: str) -> Turns:
        """Whose turn it is in a stage of this cycle. An action that deals with jobs one by one says so to it."""
        return self.memory.round.turns(stage)

    def served(self) -> set[str]:
        """The jobs that this session gave something, or keeps something for."""
        return self._moved() | {nomination.job for nomination in self.nominations.by_task.values()}

    def recall(self, served: Container[str]) -> None:
        """
        While the time doesn't suffice for all: what changed jobs that had no turn were told last still holds.

        Else each cycle that doesn't visit them would tell them that nothing is known, and the next one the same again.
        """
        round_ = self.memory.round
        fresh = (self.fit_errors.keys() | self.job_messages) - self.passed_over
        for job_id in self._changed.intersection(round_.told) - fresh:
            job = self.cluster.jobs.get(job_id)
            if job is not None and job_id not in served:
                errors, message = round_.told[job_id]
                self.fit_errors[job_id] = {uid: error for uid, error in errors.items() if uid in job.pending}
                if message:
                    self.job_messages[job_id] = message
        for job_id in fresh if round_.lacks_time else ():
            round_.told[job_id] = self.fit_errors.get(job_id, {}), self.job_messages.get(job_id, "")

    def pass_over(self, visited: Iterable[str], began: int) -> None:
        """
        Take note of which jobs were visited and which sleep, and of what these were told.

        `began`: how many tasks plans had discarded before the visits.
        """
        sleepers = self._sleepers
        sleepers.visited.update(visited)
        sleepers.tried.update(task.job for task in self.discarded[sleepers.looked_through : began])
        sleepers.looked_through = len(self.discarded)
        sleepers.asleep = frozenset(self.memory.dormancy)
        for job_id, errors in self.memory.dormancy.errors():
            self.fit_errors.setdefault(job_id, errors)

    @property
    def passed_over(self) -> frozenset[str]:
        """Jobs that sleep and were not visited in this session: what they were told is among the fit errors."""
        return self._sleepers.asleep - self._sleepers.visited

    def takes_part(self, job: Job) -> bool:
        """Whether a job has a PodGroup and an existing queue."""
        queue = self.cluster.queues.get(job.queue)
        return job.pod_group is not None and queue is not None and queue.object is not None

    def queue_of(self, job: Job) -> Queue:
        """The queue of a job that takes part."""
        return self.cluster.queues[job.queue]

    def phase(self, job: Job) -> str:
        """The phase of a job's PodGroup, as this session sees it."""
        return self.phases.get(job.id, job.phase)

    def is_pending(self, job: Job) -> bool:
        """Whether a job still waits to be let into its queue."""
        return self.phase(job) in PENDING_PHASES

    # Nodes.

    def open(self) -> None:
        """Let the plugins register, and join what they registered."""
        self.cluster.settle()
        self._changed = frozenset(self.cluster.changed_jobs)
        self.cluster.changed_jobs.clear()
        self.memory.begin()
        self.memory.dormancy.wake(self._changed)
        self.memory.refused.wake(self._changed)
        self.memory.round.forgive(self._changed)
        self.memory.reconsider(self._changed)
        self.memory.settle()
        self.nominations.hold(self.now)
        self.plugins = self.memory.plugins()
        for plugin in self.plugins:
            with self.timings.measure("plugin", plugin.name, ON_OPEN):
                Guarded(plugin.on_session_open, None, plugin.name, "on_session_open", self.memory.on_failure)(self)
        self.signatures, self.loose = self.memory.signatures(self)
        self.asks_each_task = bool(self.points.all(Point.PRE_PREDICATE))

    def template(self, task: Task) -> Template:
        """What is known of the nodes for tasks like this one."""
        return self.signatures.template(task)

    def examine(self, template: Template, task: Task) -> FitErrors:
        """Why no node takes a task."""
        rows = np.arange(len(self.nodes), dtype=np.intp)
        if self.loose is not None and self.loose.filters:
            return examine(template, task, rows, tuple(self.loose.filters))
        # Many jobs wait for the same thing: as long as no node changed, the answer is the same.
        touched = self.cluster.touched
        position = touched.moved.position, touched.changed.position
        known = self._examined.get(template)
        if known is None or known[0] != position:
            known = self._examined[template] = position, examine(template, task, rows)
        return known[1]

    def set_fit_error(self, task: Task, errors: FitErrors) -> None:
        """Note why a task found no node."""
        if task.job in self._sleepers.asleep and task.job not in self._sleepers.stirred:
            self._sleepers.stirred.add(task.job)
            self.fit_errors[task.job] = dict(self.fit_errors[task.job])
        self.fit_errors.setdefault(task.job, {})[task.uid] = errors

    def refuse(self, job: Job, event: str, plugin: str, cause: str = "") -> None:
        """Note why a plugin doesn't let a job into its queue: the event's text, and the cause where it says more."""
        if job.id not in self.refusals:
            self.repeat(job, Refusal(event, f"{plugin}: {cause or event}"))

    def repeat(self, job: Job, refusal: Refusal) -> None:
        """Note that a job gets this answer."""
        self.refusals[job.id], self.job_messages[job.id] = refusal.event, refusal.message

    def refusal_of(self, job: Job) -> Refusal | None:
        """Why a job was not let into its queue in this session; None when no plugin said."""
        event, message = self.refusals.get(job.id), self.job_messages.get(job.id)
        return None if event is None or message is None else Refusal(event, message)

    def unsay(self, job: Job) -> Refusal | None:
        """The same, for one who only wanted to know: the job isn't told."""
        said = self.refusal_of(job)
        if said is not None:
            del self.refusals[job.id], self.job_messages[job.id]
        return said

    # Changes.

    @contextmanager
    def trying(self, victims: Sequence[Task]) -> Iterator[None]:
        """Say to whoever is asked meanwhile that these leave only on trial."""
        self.on_trial = victims
        try:
            yield
        finally:
            self.on_trial = ()

    def statement(self) -> Statement:
        """A new, empty statement."""
        return Statement(self)

    def ledger(self) -> Ledger[Any, Any]:
        """A mapping for a plugin's accounts, taken back together with statements."""
        return Ledger(self.journal)

    def on_allocate(self, tasks: Sequence[Task], nodes: Sequence[Node]) -> str | None:
        """Tell handlers that tasks took room; why one refuses, or None."""
        return self.handlers.allocate(tasks, nodes)

    def on_deallocate(self, tasks: Sequence[Task]) -> None:
        """Tell handlers that tasks give up room."""
        self.handlers.deallocate(tasks)

    def decide(self, decision: Decision) -> None:
        """Add to what the writers will carry out."""
        self.decisions.append(decision)

    def open_gate(self, task: Task) -> None:
        """Let a pod in that waits behind its queue's gate, if it may be and isn't already."""
        if task.uid not in self.gates.granted and self.gates.may_open(task):
            self.gates.granted.add(task.uid)
            self.decide(OpenGate(task))
            self.gate_opened(task)

    def next_group(self) -> int:
        """A number for the decisions of one commit."""
        self._groups += 1
        return self._groups

    def finished(self, statement: Statement) -> None:
        """A statement has no operations left; without any open one nothing needs to be taken back any more."""
        self.open_statements.discard(statement)
        self.settle_journal()

    def settle_journal(self) -> None:
        """Forget how to take back what is final, which is all when no statement is open."""
        if not self.open_statements:
            self.journal.clear()

    def take_back(self, operation: Operation) -> None:
        """Undo one operation by itself, whatever came after it."""
        if isinstance(operation, Placement):
            self.on_deallocate(operation.tasks)
            moves.unplace(self.cluster, operation.tasks)
        else:
            task = operation.task
            moves.restatus(self.cluster, (task,), operation.before, self.journal)
            self.on_allocate((task,), nodes_of((task,)))
        # Older statements must not restore columns over this change.
        self.journal.push(_barrier)

    def notify_close(self) -> None:
        """Let the plugins look at the outcome."""
        for plugin in self.plugins:
            with self.timings.measure("plugin", plugin.name, ON_CLOSE):
                Guarded(plugin.on_session_close, None, plugin.name, "on_session_close", self.memory.on_failure)(self)

    def close(self) -> None:
        """Give back the room of everything that was neither committed nor discarded, and keep the phases given."""
        dealt_with = self._dealt_with()
        self.memory.dormancy.wake(self._acted_on())
        self.memory.refused.wake((*self.phases, *self._moved()))
        for statement in sorted(self.open_statements, key=lambda statement: statement.start):
            statement.keep()
        self.nominations.release()
        for operation in reversed(self.kept):
            self.take_back(operation)
        self.kept.clear()
        self.journal.clear()
        for task in self.discarded:
            task.transaction = None
        self._keep_phases()
        self.memory.reconsider(dealt_with | self.told.keys())

    def _keep_phases(self) -> None:
        """The next session goes on from the phases given and told; who is to be let in again is visited in it."""
        phases = self.phases | self.told
        self.memory.dormancy.wake([job_id for job_id, phase in phases.items() if phase in PENDING_PHASES])
        for job_id, phase in phases.items():
            self.cluster.jobs[job_id].phase = phase


def _barrier() -> None:
    """Nothing to take back."""
