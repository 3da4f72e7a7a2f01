"""What pods of jobs that sleep wait for, what they were told, and what they would be told now."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from scheduler.placing.fiterrors import FitErrors

if TYPE_CHECKING:
    from scheduler.placing.template import Template
    from scheduler.session import Session
    from scheduler.state.task import Task

Errors = dict[str, FitErrors]
"""Why pods of a job found no node, by uid."""


class Cause(Enum):
    """What pods of one template wait for."""

    QUEUE = "the queue"
    """What nodes say doesn't matter then."""
    NODE = "a node"
    ROOM = "room for more of them"
    """Some of them would find a node."""


class Wait(msgspec.Struct):
    """What the tasks of one template wait for."""

    template: Template
    task: Task
    """One that waits for it: what the queue says of it, it says of all."""
    cause: Cause
    count: int = 0
    """How many tasks of the job wait for this."""
    told: FitErrors | None = None
    """None when no pod of this template was tried in vain."""
    placed: int = 0
    """How many of them the discarded plan had a node for,"""
    placed_now: int = 0
    """without waiting for pods that are leaving."""
    then: End | None = None
    """Where a plan ended when the job was told; None where others got something after that."""

    @property
    def key(self) -> Hashable:
        """What jobs of one group have in common here."""
        return self.template, self.cause, self.count, str(self.told), self.placed > 0, self.placed_now > 0


class Group(msgspec.Struct):
    """Jobs of one queue that wait for the same templates and were told the same."""

    queue: str
    waits: tuple[Wait, ...]
    needed: int
    """Placements that each of them needs at least."""
    since: float
    """When they were told so, in unix seconds."""
    jobs: dict[str, Errors] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """What jobs of one group have in common."""
        return self.queue, self.needed, tuple(wait.key for wait in self.waits)


class End(msgspec.Struct, frozen=True):
    """Where a plan for the pods of one template ends."""

    errors: FitErrors
    """What the first one without a place is told."""
    room: float = 0.0
    """How many have a place at most,"""
    room_now: float = 0.0
    """and how many like these nodes take without waiting for pods that are leaving."""
    scene: Hashable = None
    """How nodes and queue stand, as far as more depends on it than all this."""

    def is_kin(self, wait: Wait) -> bool:
        """Whether pods would be told the same as they were, but for numbers."""
        if wait.told is not None and not wait.told.is_kin(self.errors):
            return False
        if wait.cause is not Cause.ROOM or (wait.told is None and not wait.placed):
            return True  # there are no places, or the plan didn't come to them
        is_short, is_now = self.room < wait.count, self.room_now > 0
        return self.room > 0 and is_short is (wait.told is not None) and is_now is (wait.placed_now > 0)

    def is_same(self, wait: Wait) -> bool:
        """Whether they would be told just the same."""
        if wait.then is not None or wait.cause is Cause.ROOM:
            return self == wait.then
        return wait.told is None or wait.told == self.errors


def is_said_of(wait: Wait, error: FitErrors) -> bool:
    """Whether an error is about what a pod waits for: of one that its queue let pass, what has a base is not what nodes said."""
    return wait.cause is not Cause.NODE or not error.base


def example(session: Session, group: Group, wait: Wait) -> Task | None:
    """A task of the group that waits for a template now."""
    if wait.task.job not in group.jobs or session.cluster.tasks.get(wait.task.uid) is not wait.task:
        job = session.job(next(iter(group.jobs)))
        waiting = job.pending.values() if job is not None else ()
        found = next((task for task in waiting if session.template(task) is wait.template), None)
        if found is None:
            return None
        wait.task = found
    return wait.task
