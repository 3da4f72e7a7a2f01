"""
allocate, for pods by themselves: each goes to the best node that has room now, in the order of the queue.

Equal pods that follow each other are placed as one run; the outcome is that of one after the other. As one thread
decides on one state, no two decisions of a cycle can be in each other's way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import numpy as np

from api import names
from scheduler.contract.arguments import Arguments, Declared, Type
from scheduler.placing.fiterrors import FitErrors, examine
from scheduler.placing.placement import NONE, Choice, choose
from scheduler.reporting.outcome import TaskOutcome
from scheduler.state.status import Status

if TYPE_CHECKING:
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask
    from scheduler.state.task import Task

ACTION = "allocate"
CANDIDATES = "candidateNodeCount"
DEFAULT_CANDIDATES = 3


class Allocation:
    """One turn over pods that were taken from the queue. Called with the session, as an action is."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.failures: list[TaskOutcome] = []
        """Pods that found no node, and why."""
        self.refused: list[Task] = []
        """Pods that plugins turned away on each of the nodes which were best for them."""
        self.done = 0
        """How many pods were decided on; the first ones."""
        self._alike = 0
        """Up to where the pods are equal to the next one, as far as that was looked at."""
        self._hopeless: dict[int, tuple[tuple[int, int], FitErrors]] = {}

    def __call__(self, session: Session) -> None:
        """Decide on pods until none is left or the time is over."""
        while self.done < len(self.tasks) and not session.expired():
            self.done += self._place(session, self._run(session))

    def _run(self, session: Session) -> Sequence[Task]:
        """The next pods, as far as they are equal and nothing has to be asked in between."""
        first = self.tasks[self.done]
        asks_each = session.asks_each_task or session.loose is not None or session.memory.sampling is not None
        if asks_each or first.nominated:
            return (first,)
        if self._alike <= self.done:
            template, role = session.template(first), first.role
            alike = takewhile(
                lambda task: task.role == role and not task.nominated and session.template(task) is template,
                islice(self.tasks, self.done, None),
            )
            self._alike = self.done + sum(1 for _ in alike)
        return self.tasks[self.done : self._alike]

    def _place(self, session: Session, run: Sequence[Task]) -> int:
        """Decide on the first pods of a run; on how many."""
        first = run[0]
        reason = session.pre_predicate(first)
        if reason is not None:
            self._fail(first, f"pre-predicate failed for task {first.key}: {reason}")
            return 1
        template = session.template(first)
        known = self._known(session, template)
        choice = _choose(session, template, run) if known is None else NONE
        if not choice.rows:
            message = str(known or self._examine(session, template, first))
            for task in run:
                self._fail(task, message)
            return len(run)
        if _take(session, run, choice):
            return len(choice.rows)
        if len(choice.rows) > 1:
            # A handler refused the batch: find out with the first pod alone which one it meant.
            return self._place(session, run[:1])
        if not self._take_another(session, template, first, choice.rows[0]):
            self.refused.append(first)
        return 1

    def _take_another(self, session: Session, template: Template, task: Task, refused: int) -> bool:
        """Put a pod on the next best of its candidates that no plugin refuses."""
        within = np.ones(len(session.nodes), dtype=np.bool_)
        for _ in range(1, candidates_of(session)):
            within[refused] = False
            choice = _now(choose(template, (task,), within, session.loose))
            if not choice.rows:
                return False
            if _take(session, (task,), choice):
                return True
            refused = choice.rows[0]
        return False

    # Failures.

    def _fail(self, task: Task, message: str) -> None:
        self.failures.append(TaskOutcome(task, names.PodReason.UNSCHEDULABLE, message, ""))

    def _known(self, session: Session, template: Template) -> FitErrors | None:
        """Why equal pods found no node a moment ago, when nothing happened since."""
        known = self._hopeless.get(id(template))
        return known[1] if known is not None and known[0] == _position(session) else None

    def _examine(self, session: Session, template: Template, task: Task) -> FitErrors:
        loose = tuple(session.loose.filters) if session.loose is not None else ()
        rows = np.arange(len(session.nodes), dtype=np.intp)
        errors = examine(template, task, rows, loose, is_now=True)
        if not task.nominated and session.loose is None:
            self._hopeless[id(template)] = _position(session), errors
        return errors


def _position(session: Session) -> tuple[int, int]:
    touched = session.cluster.touched
    return touched.moved.position, touched.changed.position


def _choose(session: Session, template: Template, run: Sequence[Task]) -> Choice:
    """Nodes with room now: the one that the pod's status names if it will do, else the best ones."""
    first = run[0]
    node = session.cluster.node_by_name.get(first.nominated) if first.nominated else None
    if node is not None and node.row >= 0:
        alone: Mask = np.zeros(len(session.nodes), dtype=np.bool_)
        alone[node.row] = True
        choice = _now(choose(template, (first,), alone, session.loose))
        if choice.rows:
            return choice
    sampling = session.memory.sampling
    within = sampling.limit(template, first, None, session.loose) if sampling is not None else None
    return _now(choose(template, run, within, session.loose))


def _now(choice: Choice) -> Choice:
    """A choice, but none where the room is still being released."""
    return choice if choice.status is Status.ALLOCATED else NONE


def _take(session: Session, run: Sequence[Task], choice: Choice) -> bool:
    """Bind the first pods of a run to the chosen nodes; False when a plugin refuses, and then nothing happened."""
    count = len(choice.rows)
    statement = session.statement()
    if statement.place(run[:count], [session.nodes[row] for row in choice.rows], choice.status) is not None:
        return False
    statement.commit()
    return True


def candidates_of(session: Session) -> int:
    """How many of the best nodes are tried for a pod, one at least."""
    arguments: Mapping[str, object] = session.configuration.action_arguments.get(ACTION, {})
    return max(1, Arguments(arguments).int(CANDIDATES, DEFAULT_CANDIDATES))


def allocate(session: Session) -> None:
    """The action as configurations name it. Without pods, which the loop brings along, there is nothing to do."""
    Allocation(())(session)


ARGUMENTS: Declared = {CANDIDATES: Type.INT}
allocate.arguments = ARGUMENTS  # type: ignore[attr-defined]  # how a function declares what it takes
