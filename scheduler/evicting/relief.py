"""
Finds a place for one starving task: where there is room without evicting anybody, else where evictions make it.

Nothing is evicted before the placement is proved: with the victims out and everything else as it is, the queue, the
resources and every filter take the task, and without any one of the victims they don't. What preempt and reclaim share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from api import names
from scheduler.contract.contexts import Kind
from scheduler.evicting.prospects import Need, Prospects
from scheduler.evicting.settling import needed_first, settle, waiting_tasks
from scheduler.evicting.victims import Clearing, Pool, Victims
from scheduler.placing.placement import choose
from scheduler.state.status import Status
from scheduler.state.task import pod_priority

if TYPE_CHECKING:
    from scheduler.evicting.rehearsal import Rehearsal
    from scheduler.session import Session
    from scheduler.state.dimensions import Mask, Rows
    from scheduler.state.job import Job
    from scheduler.state.node import Node
    from scheduler.state.queue import Queue
    from scheduler.state.task import Task
    from scheduler.statement import Statement

log = logging.getLogger(__name__)

Ask = Callable[["Task", Sequence["Task"]], list["Task"]]
Possible = Callable[["Task", Iterable["Job"]], set[str]]
_PATIENCE = 16
"""So many nodes are tried before the search asks which jobs it is in vain for."""


class Relief:
    """
    Serves the tasks of one run of an action.

    preempt tries nodes by score, reclaim by rank. With a `rehearsal` several nodes are cleared on trial and the least
    harmful is taken.
    """

    def __init__(self, session: Session, kind: Kind, rehearsal: Rehearsal | None = None) -> None:
        self.session = session
        self.kind = kind
        self.prospects = Prospects(session)
        self.victims = Victims(session)
        reclaims = kind is Kind.RECLAIM
        self._ask: Ask = session.reclaimable if reclaims else session.preemptable
        self._possible: Possible = session.reclaimable_jobs if reclaims else session.preemptable_jobs
        self._ranked = not reclaims
        self._rehearsal = rehearsal
        self._hopeless: set[tuple[int, int, str]] = set()

    def serve(self, job: Job, queue: Queue, pool: Pool, may: Callable[[Task], bool] = lambda _: True) -> None:
        """Place those tasks of a job that may, at the cost of jobs of the pool, if that makes the job whole."""
        session = self.session
        self.begin()
        statement = session.statement()
        for task in needed_first(job, waiting_tasks(session, job)):
            if not session.job_starving(job):
                break
            givers = self._givers(task, statement, pool, may)
            if (
                givers is not None
                and not self.place(task, queue, statement, givers)
                and session.nominations.is_being_cleared(task)
            ):
                # Its victims are still leaving: nobody else goes before it is known what that is good for.
                break
        settle(session, job, statement, self.kind)

    def _givers(self, task: Task, statement: Statement, pool: Pool, may: Callable[[Task], bool]) -> Pool | None:
        """
        Who may lose pods for a task; None where it gets nothing.

        A task that may not take more, now that others of its gang have taken, still gets what they leave over.
        """
        if may(task):
            return pool
        with self.session.trying(statement.victims):
            shares = bool(self.session.on_trial) and may(task)
        return Pool({}) if shares else None

    def begin(self) -> None:
        """Another job is served, or the state changed: what was hopeless may no longer be."""
        self._hopeless.clear()

    def place(self, task: Task, queue: Queue, statement: Statement, pool: Pool) -> bool:
        """Put a task on a node, Pipelined, at the cost of jobs of the pool; whether that was possible."""
        need = Need(self.session, task, queue)
        alike = (id(need.template), task.priority, task.role)
        if alike in self._hopeless:
            # Nothing has changed since an identical task found no place.
            return False
        if self._place(need, statement, pool):
            self._hopeless.clear()
            return True
        self._hopeless.add(alike)
        return False

    def _place(self, need: Need, statement: Statement, pool: Pool) -> bool:
        task = need.task
        if task.shape.spec.preemption_policy == "Never" or self.session.pre_predicate(task) is not None:
            return False
        within = self.session.topology.allowed(task)
        promised = self._promised(need, within)
        if promised is not None and self.prospects.fits(need, promised):
            return self._pipeline(need, promised, statement, eviction=True)
        if promised is not None and self._is_being_cleared(need, promised):
            log.info(
                "task waits for earlier victims action=%s pod=%s node=%s", self.kind.value, task.key, promised.name
            )
            return False
        return self._without_evictions(need, within, statement) or self._with_evictions(need, within, statement, pool)

    def _pipeline(self, need: Need, node: Node, statement: Statement, *, eviction: bool) -> bool:
        return statement.place((need.task,), (node,), Status.PIPELINED, eviction=eviction) is None

    # Earlier evictions.

    def _promised(self, need: Need, within: Mask | None) -> Node | None:
        """The node that earlier evictions made room on, if there is one, it still exists, and is no step too far."""
        name = self.session.nominations.node_of(need.task) or need.task.nominated
        node = self.session.cluster.node_by_name.get(name) if name else None
        if node is None or node.row < 0 or (within is not None and not within[node.row]):
            return None
        return node

    def _is_being_cleared(self, need: Need, node: Node) -> bool:
        """Whether pods are about to leave the node for this one, or by a preemption for its like, so that more needn't."""
        if self.prospects.is_ruled_out(need, node):
            return False
        if self.session.nominations.is_being_cleared(need.task):
            return True
        mine = pod_priority(need.task)
        return any(
            other.status is Status.RELEASING and pod_priority(other) < mine and was_preempted(other)
            for other in node.tasks.values()
        )

    # Now.

    def _without_evictions(self, need: Need, within: Mask | None, statement: Statement) -> bool:
        """Take a node with room, if there is one: nobody leaves who needn't."""
        session = self.session
        if not session.allocatable(need.queue, need.task):
            return False
        choice = choose(need.template, (need.task,), within, session.loose)
        if not choice.rows:
            return False
        return self._pipeline(need, session.nodes[choice.rows[0]], statement, eviction=False)

    def _with_evictions(self, need: Need, within: Mask | None, statement: Statement, pool: Pool) -> bool:
        if not pool.jobs:
            return False
        groups = [rows for rows in self.prospects.groups(self.prospects.rows(need, within)) if len(rows)]
        if self._rehearsal is not None:
            nodes = self.session.nodes
            return any(self._rehearse(need, [nodes[row] for row in rows.tolist()], statement, pool) for rows in groups)
        for tried, node in enumerate(node for rows in groups for node in self._in_order(need, rows)):
            if tried == _PATIENCE:
                # The best nodes didn't do: find out which jobs could give anything at all.
                pool = pool.only(self._possible(need.task, pool))
                if not pool.jobs:
                    return False
            victims = self.victims_on(need, node, pool)
            if victims and self._clear(need, node, victims, statement):
                return True
        return False

    def _in_order(self, need: Need, rows: Rows) -> Iterable[Node]:
        """The nodes of a group as they are tried."""
        if self._ranked:
            return self.prospects.ranked(need, rows)
        return map(self.session.nodes.__getitem__, rows.tolist())

    def victims_on(self, need: Need, node: Node, pool: Pool) -> list[Task]:
        """Who may be made to leave a node for the task, first to go first."""
        candidates = self.victims.candidates(need, node.tasks.values(), pool)
        if not candidates:
            return []
        named = self._ask(need.task, candidates)
        self.session.gauges.set("pod_preemption_victims", len(named))
        return named

    def _clear(self, need: Need, node: Node, victims: Sequence[Task], statement: Statement) -> bool:
        """Evict what has to go and put the task there, in one plan; whether that was possible."""
        trial = self.session.statement()
        gone = Clearing(self.prospects, need, node, trial, self.kind.value).make_room(victims)
        self.session.gauges.count("total_preemption_attempts")
        return gone is not None and self._take(need, node, gone, trial, statement)

    def _take(self, need: Need, node: Node, gone: Sequence[Task], trial: Statement, statement: Statement) -> bool:
        """Put the task where `trial` has made room, and add both to the plan; whether that was possible."""
        eviction = any(not victim.is_best_effort for victim in gone)
        if not self._pipeline(need, node, trial, eviction=eviction):
            trial.discard()
            return False
        log.info(
            "room made action=%s pod=%s node=%s victims=%s",
            self.kind.value, need.task.key, node.name, ",".join(victim.key for victim in gone),
        )  # fmt: skip
        statement.merge(trial)
        return True

    def _rehearse(self, need: Need, nodes: Sequence[Node], statement: Statement, pool: Pool) -> bool:
        assert self._rehearsal is not None
        found = self._rehearsal.best(self, need, nodes, pool)
        if found is None:
            return False
        self.session.gauges.count("total_preemption_attempts")
        trial = self.session.statement()
        for victim in found.victims:
            trial.evict(victim, self.kind.value, need.task.job)
        return self._take(need, found.node, found.victims, trial, statement)


def was_preempted(task: Task) -> bool:
    """Whether a pod that is leaving does so because a scheduler preempted it."""
    if task.pod is None:
        return False
    return any(
        condition.type == names.PodConditionType.DISRUPTION_TARGET
        and condition.status == "True"
        and condition.reason == names.PodReason.PREEMPTION_BY_SCHEDULER
        for condition in task.pod.status.conditions
    )
