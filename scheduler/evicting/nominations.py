"""
Room that evictions made, kept for whom it was made until its pod is bound there or can't be.

Outlives sessions: victims take a while to die. Each session counts the pod as if it stood there already, so that nobody
else takes its room, its host port or a place that it keeps others away from, and hands that to its owner's job when it
is in turn. A nomination that comes to nothing is reported with the reason.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from generated.scheduling.v1beta1 import PodGroup
from scheduler.state.cluster import coefficients
from scheduler.state.dimensions import MIN_RESOURCE
from scheduler.state.status import ALLOCATED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

_PROMISED = coefficients(Status.PIPELINED, in_kube=True)
_WITHDRAWN = (0, 0, -1, -1)


PATIENCE = 60.0
"""Seconds for which room that is free is kept for a job that is never in turn."""


class Nomination(msgspec.Struct, frozen=True):
    """
    A place on `node` for a task. `victims` are the pods evicted for its job, key by uid, by action `reason`.

    `since` is when the victims were gone, in unix seconds; None while one is still there.
    """

    uid: str
    task: str
    job: str
    node: str
    reason: str
    victims: Mapping[str, str]
    pod_group: PodGroup | None = None
    since: float | None = None


class Lapse(msgspec.Struct, frozen=True):
    """Evictions whose beneficiary got nothing of them: which pods of a job, and why."""

    job: str
    tasks: tuple[str, ...]
    reason: str
    victims: tuple[str, ...]
    why: str
    pod_group: PodGroup | None = None

    def __str__(self) -> str:
        return (
            f"Evicted {', '.join(self.victims)} ({self.reason}) for {', '.join(self.tasks)}, "
            f"which did not get the room: {self.why}"
        )


class Nominations:
    """The nominations of one cluster, by uid of their task, and the room that they hold in the running session."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.by_task: dict[str, Nomination] = {}
        self._held: dict[str, dict[str, Nomination]] = {}
        self._stand_ins: dict[str, Task] = {}
        """What other pods' terms see of the pods that are held places, by uid of the pod."""
        self._lapsed: list[tuple[Nomination, str]] = []

    def __len__(self) -> int:
        return len(self.by_task)

    def grant(self, tasks: Iterable[Task], reason: str, victims: Iterable[Task]) -> None:
        """
        Keep the places on which tasks stand now, Pipelined, beyond this session.

        A task that was granted a place before, and lost it, still answers for the victims of then.
        """
        fresh = {victim.uid: victim.key for victim in victims}
        for task in tasks:
            if task.node is not None:
                job, former = self.cluster.jobs.get(task.job), self.by_task.get(task.uid)
                evicted = fresh if former is None else {**former.victims, **fresh}
                self.by_task[task.uid] = Nomination(
                    task.uid, task.key, task.job, task.node.name, reason, evicted, job.pod_group if job else None
                )

    def node_of(self, task: Task) -> str:
        """The node that is kept for a task, empty where none is."""
        nomination = self.by_task.get(task.uid)
        return nomination.node if nomination is not None else ""

    def is_being_cleared(self, task: Task) -> bool:
        """Whether pods that were evicted for a task's job are still leaving: what speaks against its node may be they."""
        nomination = self.by_task.get(task.uid)
        return nomination is not None and self._has_leaving(nomination)

    def _has_leaving(self, nomination: Nomination) -> bool:
        victims = map(self.cluster.tasks.get, nomination.victims)
        return any(victim is not None and victim.status is Status.RELEASING for victim in victims)

    # In a session.

    def hold(self, now: float) -> None:
        """Begin a session: count the room of every nomination that still holds as promised. `now` in unix seconds."""
        self.release()
        for known in list(self.by_task.values()):
            nomination = self._timed(known, now)
            task = self.cluster.tasks.get(nomination.uid)
            if task is None:
                self._drop(nomination, "the pod is gone")
            elif task.status is not Status.PENDING:
                # Bound, there or elsewhere; or over.
                self.by_task.pop(nomination.uid)
            elif (why := self._obstacle(nomination, task) or _overdue(nomination, now)) is not None:
                self._drop(nomination, why)
            else:
                self._held.setdefault(task.job, {})[task.uid] = nomination
                self._count(nomination, task, promised=True)

    def _timed(self, nomination: Nomination, now: float) -> Nomination:
        """Note when the last victim is gone."""
        if nomination.since is None and not any(uid in self.cluster.tasks for uid in nomination.victims):
            nomination = self.by_task[nomination.uid] = replace(nomination, since=now)
        return nomination

    def _obstacle(self, nomination: Nomination, task: Task) -> str | None:
        node = self.cluster.node_by_name.get(nomination.node)
        if node is None or node.row < 0:
            return f"node {nomination.node} is gone"
        columns, row = self.cluster.columns, node.row
        for column, amount in task.request.needed(self.cluster.dimensions):
            free = (
                columns.allocatable[column, row]
                - columns.used[column, row]
                + columns.releasing[column, row]
                - columns.pipelined[column, row]
            )
            if amount - free >= MIN_RESOURCE:
                return f"node {node.name} no longer has enough {self.cluster.dimensions.names[column]}"
        return None

    def _count(self, nomination: Nomination, task: Task, *, promised: bool) -> None:
        node = self.cluster.node_by_name.get(nomination.node)
        if node is None or node.row < 0:
            return
        if promised:
            stand_in = self._stand_ins[nomination.uid] = copy.copy(task)
            stand_in.uid, stand_in.node = f"{task.uid} (nominated)", node
        else:
            stand_in = self._stand_ins.pop(nomination.uid)
        self.cluster.sight.shift((stand_in,), (node,), 1 if promised else -1, live=True)
        effect = task.request.effect(self.cluster.dimensions, _PROMISED if promised else _WITHDRAWN)
        self.cluster.columns.dynamic[:, node.row] += effect
        self.cluster.touched.moved.extend((node.row,))

    @contextmanager
    def lifted(self, job_id: str) -> Iterator[None]:
        """
        While a job is in turn, the room kept for it is free.

        No statement may be open across either end. Afterwards the room of those of its tasks that still wait is kept
        again, as far as it is still there.
        """
        held = self._held.pop(job_id, None)
        if held is None:
            yield
            return
        tasks = self.cluster.tasks
        for uid, nomination in held.items():
            self._count(nomination, tasks[uid], promised=False)
        try:
            yield
        finally:
            kept = {}
            for uid, nomination in held.items():
                task = tasks[uid]
                if task.status is Status.PENDING and self._obstacle(nomination, task) is None:
                    self._count(nomination, task, promised=True)
                    kept[uid] = nomination
            if kept:
                self._held[job_id] = kept

    def keep_again(self, job_id: str) -> None:
        """Count the room kept for a job as promised once more: its tasks were placed in this session, and wait again."""
        for nomination in self.by_task.values():
            task = self.cluster.tasks.get(nomination.uid)
            if nomination.job != job_id or task is None or task.status is not Status.PENDING:
                continue
            held = self._held.setdefault(job_id, {})
            if nomination.uid not in held and self._obstacle(nomination, task) is None:
                self._count(nomination, task, promised=True)
                held[nomination.uid] = nomination

    def release(self) -> None:
        """End a session: nothing is promised by phantom any more."""
        for held in self._held.values():
            for uid, nomination in held.items():
                task = self.cluster.tasks.get(uid)
                if task is not None:
                    self._count(nomination, task, promised=False)
        self._held.clear()

    # How they end.

    def judge(self, why_not: Callable[[Task], str | None]) -> None:
        """
        After the actions: give up the nominations of jobs one of whose tasks was tried and got no place.

        `why_not(task)` says why it found none, None where it wasn't tried. The places of a job were found together, so
        they are given up together. As long as victims are leaving nothing is given up: what spoke against the place
        may be a port, a pod count or a term of theirs, and who gave up would evict others in their stead.
        """
        reasons: dict[str, str] = {}
        leaving = {nomination.job for nomination in self.by_task.values() if self._has_leaving(nomination)}
        for nomination in list(self.by_task.values()):
            task = self.cluster.tasks.get(nomination.uid)
            if task is not None and task.status in ALLOCATED:
                del self.by_task[nomination.uid]
            elif task is not None and task.status is Status.PENDING and not self._has_leaving(nomination):
                why = why_not(task)
                if why is None and nomination.job not in leaving:
                    why = self._why_not_whole(nomination.job, why_not)
                if why is not None:
                    reasons.setdefault(task.job, why)
        for nomination in list(self.by_task.values()):
            if nomination.job in reasons:
                self._drop(nomination, reasons[nomination.job])

    def _why_not_whole(self, job_id: str, why_not: Callable[[Task], str | None]) -> str | None:
        """Why a gang that isn't whole has no use for its room: one of its other tasks found no place."""
        job = self.cluster.jobs.get(job_id)
        if job is None or job.is_ready():
            return None
        return next((why for task in job.pending.values() if (why := why_not(task)) is not None), None)

    def _drop(self, nomination: Nomination, why: str) -> None:
        del self.by_task[nomination.uid]
        task = self.cluster.tasks.get(nomination.uid)
        if task is not None and task.nominated == nomination.node:
            task.nominated = ""
        log.warning(
            "nomination lapsed pod=%s node=%s action=%s why=%s",
            nomination.task,
            nomination.node,
            nomination.reason,
            why,
        )
        self._lapsed.append((nomination, why))

    def lapses(self) -> tuple[Lapse, ...]:
        """What came to nothing since this was asked last, a job and action at a time."""
        joined: dict[tuple[str, str], Lapse] = {}
        for nomination, why in self._lapsed:
            key = nomination.job, nomination.reason
            known = joined.get(key)
            if known is None:
                victims = tuple(nomination.victims.values())
                joined[key] = Lapse(
                    nomination.job, (nomination.task,), nomination.reason, victims, why, nomination.pod_group
                )
            else:
                victims = tuple(dict.fromkeys((*known.victims, *nomination.victims.values())))
                joined[key] = replace(known, tasks=(*known.tasks, nomination.task), victims=victims)
        self._lapsed.clear()
        return tuple(joined.values())


def _overdue(nomination: Nomination, now: float) -> str | None:
    if nomination.since is None or now - nomination.since < PATIENCE:
        return None
    return f"its job was not in turn for {PATIENCE:.0f} s after node {nomination.node} had room"
